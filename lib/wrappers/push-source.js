'use strict'

// A pull-stream source as the source of a push-stream. It asks for a record only while
// the sink is not paused, and keeps a record that arrives while the sink is paused.

/** @typedef {import('../read/source').End} End */

/**
 * @template [I=any]
 * @typedef {object} PushSink the end of a push-stream
 * @property {boolean} [paused] true: nothing is written to it until it calls its source's `resume`
 * @property {boolean | Error | null} [ended] true: it wants no more, and its `end` is not called
 * @property {any} [source] set by `pipe`
 * @property {(item: I) => void} write takes a record
 * @property {(err?: import('../errors').CallbackError | null) => void} [end] called once, with null at the end of the log or the error that ended it
 */

/** @template I */
class PushSource {
  /** @param {import('../read/source').Source<I>} read */
  constructor (read) {
    this.read = read
    /** @type {PushSink<I> | null} */
    this.sink = null
    this.ended = false
    this.isRunning = false
    this.isAsking = false
    /** Whether there is an answer that the sink does not have yet. */
    this.hasAnswer = false
    /** @type {End} */
    this.answeredEnd = null
    /** @type {I | undefined} */
    this.item = undefined
    this.onanswer = this.onanswer.bind(this)
  }

  /**
   * @template {PushSink<I>} S
   * @param {S} sink or a through that has been piped into one
   * @returns {S}
   */
  pipe (sink) {
    return connect(this, sink)
  }

  /** Writes to the sink until it pauses. A sink calls this when it accepts records again. */
  resume () {
    // called from within `write`: the loop that called it continues by itself
    if (this.isRunning) return
    this.isRunning = true
    let hasThrown = true
    try {
      while (this.step());
      hasThrown = false
    } finally {
      this.isRunning = false
      // the sink threw; the next record comes when that has been handled
      if (hasThrown) process.nextTick(() => this.resume())
    }
  }

  /** @returns {boolean} whether to call it again */
  step () {
    const { sink } = this
    if (sink === null || this.ended) return false
    if (sink.ended) this.stop(true)
    else if (!sink.paused && this.ask()) this.deliver(sink)
    else return false
    return true
  }

  /** @returns {boolean} whether there is an answer */
  ask () {
    if (!this.hasAnswer && !this.isAsking) {
      this.isAsking = true
      this.read(null, this.onanswer)
    }
    return this.hasAnswer
  }

  /**
   * @param {End} end
   * @param {I} [item]
   */
  onanswer (end, item) {
    this.isAsking = false
    if (this.ended) return
    this.hasAnswer = true
    this.answeredEnd = end
    this.item = item
    // an error does not wait until the sink accepts more
    if (end && end !== true) this.finish(end)
    else this.resume()
  }

  /** @param {PushSink<I>} sink */
  deliver (sink) {
    if (this.ended) return
    if (this.answeredEnd) return this.finish(null)
    const item = /** @type {I} */ (this.item)
    this.hasAnswer = false
    this.item = undefined
    sink.write(item)
  }

  /**
   * Ends the stream before its end, and calls the sink's `end` at once.
   * @param {Error | true | null} [err]
   */
  abort (err) {
    if (this.ended) return
    this.stop(err || true)
    this.endSink(err === true ? null : err ?? null)
  }

  /** @param {Error | true} reason */
  stop (reason) {
    this.markEnded()
    this.read(reason, () => {})
  }

  /** @param {Error | null} err */
  finish (err) {
    this.markEnded()
    this.endSink(err)
  }

  markEnded () {
    this.ended = true
    this.item = undefined
  }

  /** @param {Error | null} err */
  endSink (err) {
    const { sink } = this
    if (sink !== null && !sink.ended && typeof sink.end === 'function') sink.end(err)
  }
}

/**
 * Makes a sink that of a source.
 * @template {PushSink<any>} S
 * @param {{ sink: any, resume: () => void }} source
 * @param {S} sink or a through that has been piped into one
 * @returns {S}
 */
function connect (source, sink) {
  /** @type {PushSink<any>} */
  let first = sink
  while (first.source) first = first.source
  source.sink = first
  first.source = source
  if (!first.paused) source.resume()
  return sink
}

module.exports = { PushSource, connect }
