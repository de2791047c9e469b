'use strict'

// Deletion: a record's data is zeroed in place. Whatever moment the machine stops
// at, the block is either as before or has the record zeroed. For that the new
// bytes first go, whole, into the recovery point beside the file; if a crash
// interrupts the rewriting, opening the log completes it.
//
// A deletion runs while nothing is being written, and after everything written has
// been fsynced. So the recovery point that holds it lies behind every record it zeroes,
// and recovery can take zeros behind a recovery point for a torn write.

const layout = require('../format/layout')
const { storedChecksum, writeChecksum } = require('../format/checksum')
const errors = require('../errors')
const { Block } = require('../format/block')
const { rewriteImage } = require('../recovery/rewrites')
const { promised } = require('../callbacks')

/** The most blocks rewritten at a time: all of them have to go into the recovery point. */
const MAX_BLOCKS = 16

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ seq: number, cb: Done }} Request
 *
 * @typedef {object} Change a block that is being rewritten
 * @property {Block} block as readers have it
 * @property {Buffer} before its bytes
 * @property {number[]} seqs of the records that are deleted by this
 * @property {Buffer} data what the file is to hold of it: all of it, or as much of the tail as is written
 * @property {Done[]} callbacks of the requests
 * @property {import('../storage/recovery-point').Rewrite} image its entry in the recovery point
 */

class Deleter {
  /** @param {import('./writer').Writer} writer */
  constructor (writer) {
    this.writer = writer
    this.file = writer.file
    this.blocks = writer.blocks
    /** Deletions that were asked for and not started, by block. @type {Map<number, Request[]>} */
    this.requests = new Map()
    /** Blocks that a failed deletion may have left half-written. @type {Change[]} */
    this.torn = []
  }

  get hasRequests () {
    return this.requests.size > 0
  }

  get hasTorn () {
    return this.torn.length > 0
  }

  /**
   * @param {number} seq
   * @param {Done} cb
   */
  request (seq, cb) {
    const number = Math.floor(seq / this.blocks.blockSize)
    const requests = this.requests.get(number)
    if (requests === undefined) this.requests.set(number, [{ seq, cb }])
    else requests.push({ seq, cb })
  }

  /**
   * None of the deletions that were asked for will be done.
   * @param {Error} err
   */
  fail (err) {
    for (const requests of this.requests.values()) answer(requests.map(({ cb }) => cb), err)
    this.requests.clear()
  }

  /**
   * Deletes what was asked for in the first blocks, while nothing else changes the file.
   * @param {() => void} done
   */
  run (done) {
    this.restore().then(() => process.nextTick(() => this.load(done)), (err) => process.nextTick(() => {
      this.fail(err)
      done()
    }))
  }

  /** @param {() => void} done */
  load (done) {
    const numbers = [...this.requests.keys()].slice(0, MAX_BLOCKS)
    /** @type {Change[]} */
    const changes = []
    let left = numbers.length
    for (const number of numbers) {
      const requests = /** @type {Request[]} */ (this.requests.get(number))
      this.requests.delete(number)
      this.blocks.get(number, true, (err, block) => {
        if (err) answer(requests.map(({ cb }) => cb), err)
        else {
          const change = this.prepare(/** @type {Block} */ (block), requests)
          if (change !== null) changes.push(change)
        }
        if (--left === 0) this.change(changes, done)
      })
    }
  }

  /**
   * @param {Change[]} changes
   * @param {() => void} done
   */
  change (changes, done) {
    if (changes.length === 0) return done()
    const finish = (/** @type {Error | null} */ err) => {
      for (const change of changes) {
        this.settleBlock(change)
        if (err === null) this.replace(change)
      }
      if (err === null) this.writer.onrewritten(changes.map(({ block }) => block.number))
      for (const { callbacks } of changes) answer(callbacks, err)
      done()
    }
    this.rewrite(changes).then(() => process.nextTick(finish, null), err => process.nextTick(finish, err))
  }

  /**
   * A block is not being rewritten any more. What was read of it meanwhile is read again.
   * @param {Change} change
   */
  settleBlock (change) {
    const { number } = change.block
    this.blocks.invalidate(number)
    if (!this.torn.includes(change)) this.blocks.overrides.delete(number)
  }

  /**
   * Makes a changed copy of a block: readers that hold records of the old one keep them.
   * @param {Block} block
   * @param {Request[]} requests
   * @returns {Change | null} null if there is nothing to change
   */
  prepare (block, requests) {
    const { blockSize } = this.blocks
    const start = block.number * blockSize
    const positions = []
    const callbacks = []
    for (const { seq, cb } of requests) {
      if (!block.startsAt(seq - start)) {
        answer([cb], errors.noRecordStarts(this.file.filename, seq))
        continue
      }
      if (!layout.isDeleted(block.buffer, seq - start)) positions.push(seq - start)
      callbacks.push(cb)
    }
    if (positions.length === 0) {
      answer(callbacks, null)
      return null
    }
    const before = block.buffer
    const after = Buffer.allocUnsafeSlow(blockSize)
    before.copy(after)
    for (const position of positions) layout.zeroRecord(after, position)
    const written = Math.min(blockSize, this.writer.written - start)
    if (written === blockSize && storedChecksum(before) !== 0) writeChecksum(after)
    const data = after.subarray(0, written)
    const seqs = [...new Set(positions)].map(position => start + position)
    return { block, before, seqs, data, callbacks, image: rewriteImage(start, before, data) }
  }

  /** @param {Change[]} changes */
  async rewrite (changes) {
    const { writer, blocks } = this
    const { durability, recoveryPoint } = writer
    // what the images hold must be durable before they are
    await promised(cb => durability.syncTo(writer.written, cb))
    recoveryPoint.rewrites = recoveryPoint.rewrites.concat(changes.map(({ image }) => image))
    try {
      await promised(cb => recoveryPoint.write(cb))
    } catch (err) {
      await this.forget(changes).catch(() => {})
      throw err
    }

    // a reader that meets a half-written block gets it as it was
    for (const { block, before } of changes) {
      if (block.sealed) blocks.overrides.set(block.number, before)
      blocks.invalidate(block.number)
    }
    try {
      await this.writeAll(changes, change => change.data)
    } catch (err) {
      this.torn = changes
      await this.restore().catch(() => {})
      throw err
    }
    await promised(cb => durability.syncAll(cb))
    for (const { seqs, block, data } of changes) writer.recordCount.remove(seqs, block.number * blocks.blockSize, data)
    await this.forget(changes).catch(() => {})
  }

  /**
   * Writes back the blocks of a deletion that failed, if there is one. While that fails, too, readers
   * get the blocks as they were, and the recovery point keeps the deletion, to be completed when the
   * log is opened.
   */
  async restore () {
    const { torn } = this
    if (!this.hasTorn) return
    await this.writeAll(torn, ({ before, data }) => before.subarray(0, data.length))
    await promised(cb => this.writer.durability.syncAll(cb))
    this.torn = []
    for (const change of torn) this.settleBlock(change)
    this.writer.recoveryPoint.isOutdated = true
    await this.forget(torn)
  }

  /**
   * The deletion is over: the recovery point need not hold it any longer.
   * @param {Change[]} changes
   */
  async forget (changes) {
    const { recoveryPoint } = this.writer
    const images = changes.map(({ image }) => image)
    recoveryPoint.rewrites = recoveryPoint.rewrites.filter(image => !images.includes(image))
    await promised(cb => recoveryPoint.write(cb))
  }

  /**
   * @param {Change[]} changes
   * @param {(change: Change) => Buffer} dataOf
   */
  async writeAll (changes, dataOf) {
    for (const change of changes) {
      await promised(cb => this.file.write(change.block.number * this.blocks.blockSize, dataOf(change), cb))
    }
  }

  /**
   * Lets readers see the block without the records.
   * @param {Change} change
   */
  replace ({ block, data }) {
    if (block !== this.blocks.tail) {
      this.blocks.add(new Block(block.number, data, block.end, true))
      return
    }
    // more may have been packed into the old bytes meanwhile, behind the change
    const whole = Buffer.allocUnsafeSlow(this.blocks.blockSize)
    block.buffer.copy(whole)
    data.copy(whole)
    const isFull = block !== this.writer.packer.filling
    if (isFull && this.blocks.checksum) writeChecksum(whole)
    block.setBuffer(whole)
  }
}

/**
 * @param {Done[]} callbacks
 * @param {Error | null} err
 */
function answer (callbacks, err) {
  for (const cb of callbacks) process.nextTick(cb, err)
}

module.exports = { Deleter }
