'use strict'

// A pull-stream source as an async iterator. It asks the source for one record at a
// time: an answer from memory costs a call, and `for await` itself costs several times
// that per record. Asking for several at once was measured and is not faster, so nothing
// is read that the loop does not get to. Of a source of batches, it asks for one batch.

const { mustBeSignal, onAbort } = require('../signal')

/**
 * @template I
 * @typedef {import('../read/source').Source<I>} Source
 */

/**
 * @template I
 * @typedef {object} PendingNext a call of `next` that is not answered yet
 * @property {(result: IteratorResult<I, undefined>) => void} resolve
 * @property {(reason: unknown) => void} reject
 */

/**
 * @template I
 * @implements {AsyncIterableIterator<I>}
 */
class RecordIterator {
  /**
   * @param {Source<I>} source
   * @param {AbortSignal} [signal] ends the stream with its reason
   * @throws flumelog:invalid
   */
  constructor (source, signal) {
    mustBeSignal(signal)
    this.source = source
    this.signal = signal
    this.isStarted = false
    /** The answer, until it is given to the caller. @type {I | undefined} */
    this.item = undefined
    this.hasAnswer = false
    this.isAsking = false
    /** The calls of `next` to be answered, in order. @type {PendingNext<I>[]} */
    this.pending = []
    this.ended = false
    /** Why it ended, until that was passed to a caller. @type {{ reason: unknown } | null} */
    this.failure = null
    /** Not made by `bind`: see `source` in stream.js. @type {import('../read/source').Answer} */
    this.onanswer = (end, item) => this.answered(end, item)
    this.stopListening = () => {}
  }

  /** @returns {Promise<IteratorResult<I, undefined>>} */
  next () {
    if (this.pending.length > 0 || !this.ask()) return new Promise((resolve, reject) => this.pending.push({ resolve, reject }))
    if (this.ended) return new Promise((resolve, reject) => this.settle({ resolve, reject }))
    const value = /** @type {I} */ (this.item)
    this.item = undefined
    // a literal: V8 then knows that it has no `then` and skips the look-up
    return Promise.resolve({ value, done: false })
  }

  /**
   * Ends the stream, as `break` does.
   * @returns {Promise<IteratorResult<I, undefined>>}
   */
  return () {
    this.stop(null)
    return Promise.resolve({ value: undefined, done: true })
  }

  /**
   * @param {unknown} err
   * @returns {Promise<IteratorResult<I, undefined>>}
   */
  throw (err) {
    this.stop(null)
    return Promise.reject(err)
  }

  [Symbol.asyncIterator] () {
    return this
  }

  async [Symbol.asyncDispose] () {
    this.stop(null)
  }

  /**
   * Asks for the next record.
   * @returns {boolean} whether it was answered at once
   */
  ask () {
    if (!this.isStarted && !this.ended) this.start()
    if (this.ended) return true
    this.hasAnswer = false
    this.isAsking = true
    try {
      this.source(null, this.onanswer)
    } catch (reason) {
      // a source other than a log's own may throw
      this.hasAnswer = true
      this.stop({ reason })
    }
    this.isAsking = false
    return this.hasAnswer
  }

  start () {
    const { signal } = this
    this.isStarted = true
    if (signal?.aborted) this.stop({ reason: signal.reason })
    else this.stopListening = onAbort(signal, () => this.stop({ reason: /** @type {AbortSignal} */ (signal).reason }))
  }

  /**
   * @param {import('../read/source').End} end
   * @param {I} item
   */
  answered (end, item) {
    this.hasAnswer = true
    if (this.ended) return
    if (end) this.finish(end === true ? null : { reason: end })
    else this.item = item
    if (!this.isAsking) this.answerPending()
  }

  /** Answers the first pending call, and asks the source for the others. */
  answerPending () {
    do this.settle(/** @type {PendingNext<I>} */ (this.pending.shift()))
    while (this.pending.length > 0 && this.ask())
  }

  /** @param {PendingNext<I>} pending */
  settle ({ resolve, reject }) {
    const { failure, item, ended } = this
    this.failure = null
    this.item = undefined
    if (failure !== null) reject(failure.reason)
    else resolve(ended ? { value: undefined, done: true } : { value: /** @type {I} */ (item), done: false })
  }

  /**
   * Ends the stream before its end.
   * @param {{ reason: unknown } | null} failure
   */
  stop (failure) {
    if (this.ended) return
    this.finish(failure)
    this.source(true, () => {})
    // while the source is being asked, `next` or `answerPending` sees that it has ended
    if (this.pending.length > 0 && !this.isAsking) this.answerPending()
  }

  /** @param {{ reason: unknown } | null} failure */
  finish (failure) {
    this.ended = true
    this.failure = failure
    this.item = undefined
    this.stopListening()
  }
}

module.exports = { RecordIterator }
