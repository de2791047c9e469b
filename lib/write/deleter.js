'use strict'

// Deletion: a record's data is zeroed in place. Whatever moment the machine stops
// at, the block is either as before or has the record zeroed. For that the new
// bytes first go, whole, into the recovery point beside the file; if a crash
// interrupts the rewriting, opening the log completes it.

const layout = require('../format/layout')
const { storedChecksum, writeChecksum } = require('../format/checksum')
const errors = require('../errors')
const { Block } = require('../read/block')

/** The most blocks rewritten at a time: all of them have to go into the recovery point. */
const MAX_BLOCKS = 16

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ seq: number, cb: Done }} Request
 * @typedef {{ block: Block, before: Buffer, data: Buffer, done: Done[], isTorn: boolean }} Change a block that is being rewritten;
 *   torn: what the file holds of it may be neither the one nor the other
 */

class Deleter {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../read/block-cache').BlockCache} blocks
   * @param {import('./writer').Writer} writer
   */
  constructor (file, blocks, writer) {
    this.file = file
    this.blocks = blocks
    this.writer = writer
    /** Deletions that were asked for, by block. @type {Map<number, Request[]>} */
    this.requests = new Map()
    this.running = false
  }

  /**
   * @param {number} seq
   * @param {Done} cb
   */
  erase (seq, cb) {
    const number = Math.floor(seq / this.blocks.blockSize)
    const requests = this.requests.get(number)
    if (requests === undefined) this.requests.set(number, [{ seq, cb }])
    else requests.push({ seq, cb })
    this.start()
  }

  start () {
    if (this.running || this.requests.size === 0) return
    this.running = true
    this.writer.exclusively((done) => this.run(() => {
      this.running = false
      this.start()
      done()
    }))
  }

  /** @param {() => void} done */
  run (done) {
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
        this.blocks.invalidate(change.block.number)
        if (!change.isTorn) this.blocks.overrides.delete(change.block.number)
        if (err === null) this.show(change)
        answer(change.done, err)
      }
      done()
    }
    this.rewrite(changes).then(() => process.nextTick(finish, null), err => process.nextTick(finish, err))
  }

  /**
   * Makes a changed copy of a block: whoever got records out of the old one keeps them.
   * @param {Block} block
   * @param {Request[]} requests
   * @returns {Change | null} null if there is nothing to change
   */
  prepare (block, requests) {
    const { blockSize, file } = this.blocks
    const start = block.number * blockSize
    const wanted = []
    const done = []
    for (const { seq, cb } of requests) {
      if (!block.startsAt(seq - start)) answer([cb], errors.notFound(file.filename, seq, 'it is not where a record starts'))
      else {
        if (!layout.isDeleted(block.buffer, seq - start)) wanted.push(seq - start)
        done.push(cb)
      }
    }
    if (wanted.length === 0) {
      answer(done, null)
      return null
    }
    const before = block.buffer
    const after = Buffer.allocUnsafeSlow(blockSize)
    before.copy(after)
    for (const position of wanted) layout.zeroRecord(after, position)
    const written = Math.min(blockSize, this.writer.written - start)
    if (written === blockSize && storedChecksum(before) !== 0) writeChecksum(after)
    return { block, before, data: after.subarray(0, written), done, isTorn: false }
  }

  /** @param {Change[]} changes */
  async rewrite (changes) {
    const { writer, blocks } = this
    const images = changes.map(({ block, data }) => ({ offset: block.number * blocks.blockSize, data }))
    const forget = async () => {
      writer.rewrites = writer.rewrites.filter(image => !images.includes(image))
      await done(cb => writer.writePoint(cb))
    }

    // what the images hold must be on the disk before they are
    await done(cb => writer.syncTo(writer.written, cb))
    writer.rewrites = writer.rewrites.concat(images)
    try {
      await done(cb => writer.writePoint(cb))
    } catch (err) {
      await forget().catch(() => {})
      throw err
    }

    // who reads a block that is written by half gets it as it was
    for (const { block, before } of changes) {
      if (block.sealed) blocks.overrides.set(block.number, before)
      blocks.invalidate(block.number)
    }
    try {
      await this.writeAll(changes, change => change.data)
    } catch (err) {
      // back to what was; if that fails too, readers go on with what was, and the recovery
      // point stays as it is and completes the deletion when the log is opened
      await this.writeAll(changes, change => change.before.subarray(0, change.data.length)).then(forget).catch(() => {})
      throw err
    }
    await done(cb => writer.forceSync(cb))
    await forget().catch(() => {})
  }

  /**
   * @param {Change[]} changes
   * @param {(change: Change) => Buffer} dataOf
   */
  async writeAll (changes, dataOf) {
    for (const change of changes) {
      change.isTorn = true
      await done(cb => this.file.write(change.block.number * this.blocks.blockSize, dataOf(change), cb))
      change.isTorn = false
    }
  }

  /**
   * Lets readers see the block without the records.
   * @param {Change} change
   */
  show ({ block, data }) {
    if (block === this.blocks.tail) {
      // more may have been appended to the old bytes meanwhile; the change is in front of that
      const whole = Buffer.allocUnsafeSlow(this.blocks.blockSize)
      block.buffer.copy(whole)
      data.copy(whole)
      const isFull = block !== this.writer.filling
      if (isFull && this.blocks.checksum) writeChecksum(whole)
      block.setBuffer(whole)
    } else {
      this.blocks.add(new Block(block.number, data, block.end, true))
    }
  }
}

/**
 * @param {Done[]} callbacks
 * @param {Error | null} err
 */
function answer (callbacks, err) {
  for (const cb of callbacks) process.nextTick(cb, err)
}

/**
 * @param {(cb: (err?: Error | null) => void) => void} start
 * @returns {Promise<void>} what `start` calls back, as a promise
 */
function done (start) {
  return new Promise((resolve, reject) => start(err => err ? reject(err) : resolve()))
}

module.exports = { Deleter }
