'use strict'

// The messages that this process has deleted last. A server with a replica that lags behind still returns them for a moment.

/** Sequences that are remembered: a replica lags by milliseconds, and deleting as many takes seconds. */
const MOST = 65536

class DeletedMessages {
  constructor () {
    /** Oldest first. @type {Set<number>} */
    this.seqs = new Set()
  }

  /** @param {number} seq */
  add (seq) {
    this.seqs.add(seq)
    if (this.seqs.size <= MOST) return
    const [oldest] = this.seqs
    this.seqs.delete(oldest)
  }

  /** @param {number} seq */
  has (seq) {
    return this.seqs.size > 0 && this.seqs.has(seq)
  }

  /**
   * @template {{ seq: number }} M
   * @param {M[]} messages
   * @returns {M[]} those that are not deleted
   */
  leaveOut (messages) {
    return this.seqs.size === 0 ? messages : messages.filter(({ seq }) => !this.has(seq))
  }
}

module.exports = { DeletedMessages }
