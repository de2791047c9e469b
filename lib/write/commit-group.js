'use strict'

// A commit group: calls to append that become durable together, because the same write
// stores them. What a write changes is counted per group, so a queue of half a million
// calls is never copied while it grows and shrinks.

/** @typedef {(err: Error | null, seq?: number) => void} Appended */

class CommitGroup {
  /** @param {number} expected calls; a guess that spares the arrays from growing step by step */
  constructor (expected) {
    // a column each, not an object per call
    /** @type {Array<Appended | undefined>} */
    this.callbacks = new Array(expected)
    /** The seq of each call's last record. @type {number[]} */
    this.seqs = new Array(expected)
    /** calls in the group */
    this.count = 0
    /** calls that were answered */
    this.answered = 0
    this.records = 0
    /** bytes of data */
    this.bytes = 0
    /** the offset after the last record */
    this.end = 0
    /** Why its records are not stored; null: they are. @type {Error | null} */
    this.error = null
  }

  /**
   * @param {Appended | undefined} cb
   * @param {number} seq of the call's last record
   * @param {number} end the offset after it
   * @param {number} records
   * @param {number} bytes of data
   */
  push (cb, seq, end, records, bytes) {
    this.callbacks[this.count] = cb
    this.seqs[this.count] = seq
    this.count++
    this.end = end
    this.records += records
    this.bytes += bytes
  }

  /**
   * Its records have moved.
   * @param {(offset: number) => number} moveOffset
   * @param {(seq: number) => number} moveSeq
   */
  move (moveOffset, moveSeq) {
    const { seqs, count } = this
    for (let i = 0; i < count; i++) seqs[i] = moveSeq(seqs[i])
    if (count > 0) this.end = moveOffset(this.end)
  }

  get isEmpty () {
    return this.count === 0
  }

  /** The seq of the last record. */
  get lastSeq () {
    return this.seqs[this.count - 1]
  }

  /** Whether a call was made without a callback, so that its error has no recipient. */
  get hasCallWithoutCallback () {
    for (let i = 0; i < this.count; i++) if (this.callbacks[i] === undefined) return true
    return false
  }

  /** Answers the calls in order. If a callback throws, the next `answer` continues behind it. */
  answer () {
    const { callbacks, seqs, error } = this
    while (this.answered < this.count) {
      const index = this.answered++
      const cb = callbacks[index]
      if (cb === undefined) continue
      if (error === null) cb(null, seqs[index])
      else cb(error)
    }
  }
}

module.exports = { CommitGroup }
