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
 * @property {PendingNext<I> | null} next the call after it
 */

/**
 * @template I
 * @implements {AsyncIterableIterator<I>}
 */
class RecordIterator {
  /**
   * @param {() => Source<I>} open called when the first record is asked for
   * @param {AbortSignal} [signal] ends the stream with its reason
   * @throws flumelog:invalid
   */
  constructor (open, signal) {
    mustBeSignal(signal)
    this.open = open
    this.signal = signal
    /** @type {Source<I> | null} */
    this.source = null
    /** The answer, until it is given to the caller. @type {I | undefined} */
    this.item = undefined
    this.hasAnswer = false
    this.isAsking = false
    /** The calls of `next` to be answered, in order, each linked to the one after it. @type {PendingNext<I> | null} */
    this.firstPending = null
    /** @type {PendingNext<I> | null} */
    this.lastPending = null
    this.ended = false
    /** Why it ended, until that was passed to a caller. @type {{ reason: unknown } | null} */
    this.failure = null
    /** Not made by `bind`: see `source` in stream.js. @type {import('../read/source').Answer} */
    this.onanswer = (end, item) => this.answered(end, item)
    this.stopListening = () => {}
  }

  /** @returns {Promise<IteratorResult<I, undefined>>} */
  next () {
    if (this.firstPending !== null || !this.ask()) {
      return new Promise((resolve, reject) => this.wait({ resolve, reject, next: null }))
    }
    if (this.ended) {
      const failure = this.takeFailure()
      return failure === null ? Promise.resolve(this.result()) : Promise.reject(failure.reason)
    }
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
    if (this.source === null && !this.ended) this.start()
    if (this.ended) return true
    const source = /** @type {Source<I>} */ (this.source)
    this.hasAnswer = false
    this.isAsking = true
    try {
      source(null, this.onanswer)
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
    if (signal?.aborted) return this.finish({ reason: signal.reason })
    this.source = this.open()
    this.stopListening = onAbort(signal, () => this.stop({ reason: /** @type {AbortSignal} */ (signal).reason }))
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

  /** @param {PendingNext<I>} pending */
  wait (pending) {
    if (this.lastPending === null) this.firstPending = pending
    else this.lastPending.next = pending
    this.lastPending = pending
  }

  /** Answers the first pending call, and asks the source for the others. */
  answerPending () {
    do {
      const { resolve, reject, next } = /** @type {PendingNext<I>} */ (this.firstPending)
      this.firstPending = next
      if (next === null) this.lastPending = null
      const failure = this.takeFailure()
      if (failure === null) resolve(this.result())
      else reject(failure.reason)
    } while (this.firstPending !== null && this.ask())
  }

  /** @returns {IteratorResult<I, undefined>} */
  result () {
    if (this.ended) return { value: undefined, done: true }
    const value = /** @type {I} */ (this.item)
    this.item = undefined
    return { value, done: false }
  }

  takeFailure () {
    const { failure } = this
    this.failure = null
    return failure
  }

  /**
   * Ends the stream before its end.
   * @param {{ reason: unknown } | null} failure
   */
  stop (failure) {
    if (this.ended) return
    this.finish(failure)
    if (this.source !== null) this.source(true, () => {})
    // while the source is being asked, `next` or `answerPending` sees that it has ended
    if (this.firstPending !== null && !this.isAsking) this.answerPending()
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
