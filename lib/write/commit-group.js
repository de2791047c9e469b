'use strict'

// Calls to append that were not yet called back, in groups: all calls of a group are
// stored by the same write. So what a write changes is counted a group at a time, and
// a queue of half a million calls is never copied as it grows and shrinks.

/** @typedef {(err: Error | null, seq?: number) => void} Appended */

class CommitGroup {
  /** @param {number} expected calls; a guess, which spares arrays that grow again and again */
  constructor (expected) {
    // a column each, not an object a call
    /** @type {Array<Appended | undefined>} */
    this.callbacks = new Array(expected)
    /** the seq of each call's last record @type {number[]} */
    this.seqs = new Array(expected)
    /** how many calls there are */
    this.count = 0
    /** how many were called back */
    this.told = 0
    this.records = 0
    /** of data */
    this.bytes = 0
    /** the offset after the last record */
    this.end = 0
  }

  /**
   * @param {Appended | undefined} cb
   * @param {number} seq of the call's last record
   * @param {number} end the offset after it
   * @param {number} records
   * @param {number} bytes
   */
  push (cb, seq, end, records, bytes) {
    this.callbacks[this.count] = cb
    this.seqs[this.count] = seq
    this.count++
    this.end = end
    this.records += records
    this.bytes += bytes
  }

  get isEmpty () {
    return this.count === 0
  }

  /** The last call's. */
  get lastSeq () {
    return this.seqs[this.count - 1]
  }

  /** Calls back those that were not. If one throws, the next call of this goes on behind it. */
  callBack () {
    const { callbacks, seqs } = this
    while (this.told < this.count) {
      const index = this.told++
      const cb = callbacks[index]
      if (cb !== undefined) cb(null, seqs[index])
    }
  }

  /**
   * Gives all of them an error, once the caller's own code has run.
   * @param {Error} err
   */
  fail (err) {
    for (let i = 0; i < this.count; i++) {
      const cb = this.callbacks[i]
      if (cb !== undefined) process.nextTick(cb, err)
    }
  }
}

module.exports = { CommitGroup }
