'use strict'

// Deletion: a record's data is zeroed in place. Whatever moment the machine stops
// at, the block is either as before or has the record zeroed. For that the new
// bytes first go, whole, into the recovery point beside the file; if a crash
// interrupts the rewriting, opening the log completes it.

const layout = require('./block')
const errors = require('./errors')
const { Block } = require('./blocks')

/** The most blocks rewritten at a time: all of them have to go into the recovery point. */
const MAX_BLOCKS = 16

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ seq: number, cb: Done }} Request
 * @typedef {{ block: Block, before: Buffer, data: Buffer, done: Done[] }} Change a block that is being rewritten
 */

class Eraser {
  /**
   * @param {import('./file').LogFile} file
   * @param {import('./blocks').Blocks} blocks
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
        if (err) for (const { cb } of requests) cb(err)
        else {
          const change = this.prepare(/** @type {Block} */ (block), requests)
          if (change !== null) changes.push(change)
        }
        if (--left === 0) this.rewrite(changes, done)
      })
    }
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
      if (!block.startsAt(seq - start)) cb(errors.notFound(file.filename, seq, 'it is not where a record starts'))
      else {
        if (!layout.isDeleted(block.buffer, seq - start)) wanted.push(seq - start)
        done.push(cb)
      }
    }
    if (wanted.length === 0) {
      for (const cb of done) cb(null)
      return null
    }
    const before = block.buffer
    const after = Buffer.allocUnsafeSlow(blockSize)
    before.copy(after)
    for (const position of wanted) layout.eraseRecord(after, position)
    const written = Math.min(blockSize, this.writer.written - start)
    if (written === blockSize && layout.storedChecksum(before) !== 0) layout.stamp(after)
    return { block, before, data: after.subarray(0, written), done }
  }

  /**
   * @param {Change[]} changes
   * @param {() => void} done
   */
  rewrite (changes, done) {
    if (changes.length === 0) return done()
    const { writer, blocks } = this
    const images = changes.map(({ block, data }) => ({ offset: block.number * blocks.blockSize, data }))
    const mustSync = writer.options.sync !== 'never'

    // what the images hold must be on the disk before they are
    if (mustSync) writer.syncTo(writer.written, announce)
    else announce(null)

    /** @param {Error | null | undefined} err */
    function announce (err) {
      if (err) return finish(err)
      writer.rewrites = writer.rewrites.concat(images)
      writer.writePoint(change)
    }

    const change = (/** @type {Error | null | undefined} */ err) => {
      if (err) return conclude(err)
      for (const { block } of changes) blocks.invalidate(block.number)
      this.writeAll(changes, change => change.data, (err) => {
        if (err) undo(err)
        else if (mustSync) writer.forceSync((err) => err ? finish(err) : conclude(null))
        else conclude(null)
      })
    }

    // back to what was; if that fails too, the recovery point stays, and completes
    // the deletion when the log is opened
    const undo = (/** @type {Error} */ err) => {
      this.writeAll(changes, change => change.before.subarray(0, change.data.length), (again) => {
        if (again) finish(err)
        else conclude(err)
      })
    }

    /** @param {Error | null} err */
    function conclude (err) {
      writer.rewrites = writer.rewrites.filter(image => !images.includes(image))
      writer.writePoint(() => finish(err))
    }

    const finish = (/** @type {Error | null | undefined} */ err) => {
      for (const change of changes) {
        blocks.invalidate(change.block.number)
        if (!err) this.show(change)
        for (const cb of change.done) process.nextTick(cb, err || null)
      }
      done()
    }
  }

  /**
   * @param {Change[]} changes
   * @param {(change: Change) => Buffer} dataOf
   * @param {Done} cb
   */
  writeAll (changes, dataOf, cb) {
    let index = 0
    const next = (/** @type {Error | null | undefined} */ err) => {
      if (err || index === changes.length) return cb(err)
      const change = changes[index++]
      this.file.write(change.block.number * this.blocks.blockSize, dataOf(change), next)
    }
    next(null)
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
      block.buffer = whole
    } else {
      this.blocks.add(new Block(block.number, data, block.end, true))
    }
  }
}

module.exports = { Eraser }
