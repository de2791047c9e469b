'use strict'

// Appends what an iterable gives, with the backpressure of a sink.

const errors = require('../errors')
const { format } = require('../format-value')
const { optionNames } = require('../option-names')
const { mustBeSignal, onAbort } = require('../signal')

const checkNames = optionNames('appendFrom', ['sync', 'signal'])

/**
 * @typedef {import('../read/source').End} End
 * @typedef {import('../types').Stored} Stored
 *
 * @typedef {object} AppendFromOptions
 * @property {boolean} [sync] all records are fsynced before it resolves; default false
 * @property {AbortSignal} [signal] stops reading; what was read is stored, then it rejects with the signal's reason
 */

/** A pull-stream source of what an iterable gives. */
class IterableSource {
  /** @param {any} iterable */
  constructor (iterable) {
    this.iterable = iterable
    this.isAsync = typeof iterable[Symbol.asyncIterator] === 'function'
    this.iterator = this.isAsync ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()
    /** The read to be answered. @type {((end: End, item?: any) => void) | null} */
    this.asked = null
    /** Whether `next` of the iterator has been called, and has not returned yet. */
    this.isRunning = false
    this.mustClose = false
    /** Why nothing more is read. @type {End} */
    this.ended = null
    this.read = this.read.bind(this)
    this.give = this.give.bind(this)
    this.fail = this.fail.bind(this)
  }

  /** @type {import('../read/source').Source<any>} */
  read (abort, cb) {
    if (abort) this.stop(abort)
    if (this.ended) return cb(this.ended, undefined)
    this.asked = cb
    try {
      this.isRunning = true
      const next = this.iterator.next()
      this.isRunning = false
      if (this.mustClose) this.close()
      else if (this.isAsync) Promise.resolve(next).then(this.give, this.fail)
      else this.give(next)
    } catch (thrown) {
      this.isRunning = false
      this.fail(thrown)
    }
  }

  /** @param {any} result of `next` */
  give (result) {
    let value
    try {
      if (result === null || (typeof result !== 'object' && typeof result !== 'function')) {
        throw errors.invalid(`\`next\` of an iterable must give an object; it gave ${format(result)}`)
      }
      if (result.done) return this.end(true)
      value = result.value
    } catch (thrown) {
      return this.fail(thrown)
    }
    this.answer(null, value)
  }

  /** @param {unknown} thrown by the iterable */
  fail (thrown) {
    this.end(errors.thrown('the iterable', thrown))
  }

  /**
   * Ends it before its end, which closes the iterable.
   * @param {true | Error} reason
   */
  stop (reason) {
    if (this.ended) return
    this.end(reason)
    // a generator that has caused this by itself cannot return before it yields
    if (this.isRunning) this.mustClose = true
    else this.close()
  }

  close () {
    try {
      // a generator that waits for something cannot return; a stream can be destroyed at any time
      if (typeof this.iterable.destroy === 'function') this.iterable.destroy()
      Promise.resolve(this.iterator.return?.()).catch(() => {})
    } catch {}
  }

  /** @param {true | Error} end */
  end (end) {
    this.ended ??= end
    this.answer(this.ended)
  }

  /**
   * @param {End} end
   * @param {any} [value]
   */
  answer (end, value) {
    const { asked } = this
    this.asked = null
    if (asked !== null) asked(end, value)
  }
}

/**
 * @param {Pick<import('../types').FlumeLog<any>, 'sink' | 'since'>} flumelog
 * @param {any} iterable
 * @param {AppendFromOptions} [options]
 * @returns {Promise<Stored>}
 */
function appendFrom (flumelog, iterable, options) {
  return new Promise((resolve, reject) => {
    checkNames(options ?? {})
    const { signal, sync } = options ?? {}
    mustBeSignal(signal)
    mustBeIterable(iterable)
    if (signal?.aborted) return reject(signal.reason)
    const source = new IterableSource(iterable)
    // what ends a source has to be an error, and the reason may be anything
    const aborted = new Error('aborted')
    const stopListening = onAbort(signal, () => source.stop(aborted))
    const stopWatching = whenClosed(flumelog, (err) => source.stop(err))
    flumelog.sink({ sync }, (err, stored) => {
      stopListening()
      stopWatching()
      if (err) reject(err === aborted ? /** @type {AbortSignal} */ (signal).reason : err)
      else resolve(stored)
    })(source.read)
  })
}

/**
 * A sink learns that the log is closed from its next append, and an iterable may never give another record.
 * @param {{ since: import('../types').Since }} flumelog
 * @param {(err: Error) => void} cb
 * @returns {() => void} stops watching
 */
function whenClosed ({ since }, cb) {
  let cancel = watch()
  return () => cancel()

  function watch () {
    return since.next((err) => {
      if (err) cb(err)
      else cancel = watch()
    })
  }
}

/**
 * @param {any} value
 * @throws flumelog:invalid
 */
function mustBeIterable (value) {
  const isRecord = typeof value === 'string' || value instanceof Uint8Array
  const method = value?.[Symbol.asyncIterator] ?? value?.[Symbol.iterator]
  if (!isRecord && typeof method === 'function') return
  throw errors.invalid(`appendFrom takes an iterable or async iterable of records; it is ${format(value)}`)
}

module.exports = { appendFrom }
