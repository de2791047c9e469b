'use strict'

// A deletion of all records in a range of the log: a request for each block that the range
// touches, made when the deleter gets to that block. Pure.

/**
 * @typedef {(err: Error | null) => void} Done
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
    this.blockSize = blockSize
    this.cb = cb
    /** The next block. */
    this.next = Math.floor(min / blockSize)
    /** @type {Error | null} */
    this.failure = null
    this.note = this.note.bind(this)
  }

  get last () {
    return Math.floor(this.max / this.blockSize)
  }

  get isOver () {
    return this.next > this.last
  }

  /** @returns {[number, RangeRequest]} the next block, and what to do in it */
  take () {
    return [this.next++, { min: this.min, max: this.max, cb: this.note }]
  }

  /** @param {import('../errors').CallbackError | null} err of a block */
  note (err) {
    // the block was trimmed meanwhile: it is gone
    if (err === null || err.code === 'flumelog:trimmed') return
    // behind a corrupt block the others can be deleted
    if (err.code === 'flumelog:corrupt') this.failure ??= err
    else this.fail(err)
  }

  /** @param {Error} err nothing more is deleted */
  fail (err) {
    this.failure ??= err
    this.next = Infinity
  }

  /**
   * Blocks were trimmed.
   * @param {number} number of the first that was not
   */
  skipTo (number) {
    this.next = Math.max(this.next, number)
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    if (this.isOver) return
    this.min = map.up(Math.max(this.min, this.next * this.blockSize))
    this.max = map.down(this.max)
    this.next = this.max < this.min ? Infinity : Math.floor(this.min / this.blockSize)
  }
}

module.exports = { RangeDeletion }
