'use strict'

// `since` of a log that another worker has open: the seq of the last record, and its changes.

const { failure } = require('./errors')

class RemoteSince {
  constructor () {
    /** The seq of the last record: -1 when the log is empty. @type {number | undefined} */
    this.value = undefined
    /** @type {{ reason: any } | null} */
    this.ended = null
    /** @type {Set<{ resolve: () => void, reject: (reason: any) => void }>} */
    this.waiting = new Set()
  }

  /** @param {number | undefined} seq */
  update (seq) {
    if (seq === undefined || seq === this.value) return
    this.value = seq
    this.settle(({ resolve }) => resolve())
  }

  /** @param {any} err null: the log is closed */
  end (err) {
    this.ended ??= { reason: err ?? failure('flumelog:closed', 'the log is closed') }
    const { reason } = this.ended
    this.settle(({ reject }) => reject(reason))
  }

  /** @param {(waiting: { resolve: () => void, reject: (reason: any) => void }) => void} answer */
  settle (answer) {
    const waiting = [...this.waiting]
    this.waiting.clear()
    waiting.forEach(answer)
  }

  /**
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<number>} the value after the next change. Rejects with `flumelog:closed` once the log is closed
   */
  async next ({ signal } = {}) {
    signal?.throwIfAborted()
    if (this.ended !== null) throw this.ended.reason
    const waiting = { resolve: () => {}, reject: (/** @type {any} */ _) => {} }
    const abort = () => {
      this.waiting.delete(waiting)
      waiting.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await /** @type {Promise<void>} */ (new Promise((resolve, reject) => this.waiting.add(Object.assign(waiting, { resolve, reject }))))
      return /** @type {number} */ (this.value)
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /**
   * The current value, then the latest one after each change, until the log is closed.
   * @param {{ signal?: AbortSignal }} [options]
   */
  async * changes (options) {
    let last
    for (;;) {
      if (this.value !== last) {
        last = this.value
        yield /** @type {number} */ (last)
        continue
      }
      try {
        await this.next(options)
      } catch (err) {
        if (/** @type {any} */ (err)?.code === 'flumelog:closed') return
        throw err
      }
    }
  }

  [Symbol.asyncIterator] () {
    return this.changes()
  }
}

module.exports = { RemoteSince }
