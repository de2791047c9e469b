'use strict'

// A deletion of all records in a range of the log: a request for each block that the range
// touches, made when the deleter gets to that block.

/**
 * @typedef {(err?: any) => void} Done
 * @typedef {{ min: number, max: number, cb: Done }} RangeRequest records of one block that start between these offsets
 */

class RangeDeletion {
  /**
   * @param {number} min the least seq
   * @param {number} max the greatest seq; in the log
   * @param {number} blockSize
   * @param {Done} cb
   */
  constructor (min, max, blockSize, cb) {
    this.min = min
    this.max = max
    this.cb = cb
    /** The next block to be looked at. */
    this.next = Math.floor(min / blockSize)
    this.last = Math.floor(max / blockSize)
    /** Requests that are not answered. */
    this.pending = 0
    /** @type {import('../errors').CallbackError | null} */
    this.failure = null
    /** Whether the recovery point was moved up for it. */
    this.isSettled = false
    this.isOver = false
    this.settle = this.settle.bind(this)
  }

  get hasNext () {
    return this.next <= this.last
  }

  /** @returns {[number, RangeRequest]} the next block, and what to do in it */
  take () {
    this.pending++
    return [this.next++, { min: this.min, max: this.max, cb: this.settle }]
  }

  /** @param {import('../errors').CallbackError | null} [err] */
  settle (err = null) {
    this.pending--
    // the block was trimmed meanwhile: it is gone
    const failure = err?.code === 'flumelog:trimmed' ? null : err
    this.failure ??= failure
    // behind a corrupt block the others can be deleted
    if (failure !== null && failure.code !== 'flumelog:corrupt') this.stop()
    this.finish()
  }

  /**
   * Blocks were trimmed.
   * @param {number} number of the first that was not
   */
  skipTo (number) {
    this.next = Math.max(this.next, number)
    this.finish()
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   * @param {number} blockSize
   */
  move (map, blockSize) {
    this.min = map.up(Math.max(this.min, this.next * blockSize))
    this.max = map.down(this.max)
    this.next = Math.floor(this.min / blockSize)
    this.last = Math.floor(this.max / blockSize)
    this.isSettled = false
    if (this.max < this.min) this.fail(null)
  }

  /** Nothing more is asked for. */
  stop () {
    this.next = Infinity
  }

  /** @param {Error | null} err it ends before its end */
  fail (err) {
    this.stop()
    this.failure ??= err
    this.finish()
  }

  /** Calls back, once, if nothing is left to be done. */
  finish () {
    if (this.isOver || this.hasNext || this.pending > 0) return
    this.isOver = true
    process.nextTick(this.cb, this.failure)
  }
}

module.exports = { RangeDeletion }
