'use strict'

// `append`: encodes what a caller gives and hands it to the appender, at once or as soon
// as the log is open.

const errors = require('./errors')
const { optional } = require('./callbacks')
const { Opening } = require('./log-states')

/** @typedef {import('./types').Count} Count */

class Appending {
  /** @param {import('./log').Log} log */
  constructor (log) {
    this.log = log
  }

  /**
   * @param {any} value
   * @param {any} options
   * @param {any} [cb]
   */
  append (value, options, cb) {
    if (typeof options === 'function') {
      cb = options
      options = undefined
    }
    cb = optional(cb)
    const { sync = false, atomic = false } = typeof options === 'object' && options !== null ? options : NO_OPTIONS
    const { appender } = this.log.state
    if (appender === null) return this.appendOtherwise(value, sync, atomic, cb)
    const { records } = this.log
    let data
    try {
      data = Array.isArray(value) ? records.encodeBatch(value) : records.encode(value)
      if (atomic) data = records.fittingTogether(Array.isArray(data) ? data : [data])
    } catch (err) {
      return appender.reject(/** @type {Error} */ (err), this.countOfLast(value), cb)
    }
    store(appender, data, sync, atomic, cb)
  }

  /**
   * The log is not open yet, read-only, or takes no calls.
   * @param {any} value
   * @param {boolean} isForced
   * @param {boolean} atomic
   * @param {((err: any, seq?: any) => void) | undefined} cb
   */
  appendOtherwise (value, isForced, atomic, cb) {
    const { refusal } = this.log
    const writer = this.log.state.opened?.writer ?? null
    if (refusal === null && (this.log.state instanceof Opening || writer !== null)) return this.appendWhenOpen(value, isForced, atomic, cb)
    const error = refusal ?? errors.readOnly(this.log.filename, 'append')
    if (writer !== null) return writer.appender.reject(error, this.countOf(value), cb)
    if (cb !== undefined) process.nextTick(cb, error)
  }

  /**
   * @param {any} value
   * @param {boolean} isForced
   * @param {boolean} atomic
   * @param {((err: any, seq?: any) => void) | undefined} cb
   */
  appendWhenOpen (value, isForced, atomic, cb) {
    const { records } = this.log
    /** @type {Uint8Array[]} */
    let batch = []
    /** @type {unknown} */
    let problem = null
    try {
      batch = records.encodeEarly(Array.isArray(value) ? value : [value])
    } catch (err) {
      problem = err
    }
    const count = this.countOfLast(value)
    this.log.whenOpen((err) => {
      const appender = this.log.state.opened?.writer?.appender
      if (err || appender === undefined) {
        // at once: `close` may be called back next
        if (appender !== undefined) appender.countRejected(count)
        return cb && cb(err ?? errors.readOnly(this.log.filename, 'append'))
      }
      try {
        if (problem !== null) throw problem
        for (const data of batch) records.fitting(data)
        if (atomic) records.fittingTogether(batch)
      } catch (err) {
        return appender.reject(/** @type {Error} */ (err), count, cb)
      }
      store(appender, Array.isArray(value) || atomic ? batch : batch[0], isForced, atomic, cb)
    })
  }

  /**
   * @param {any} value that was encoded last, successfully or not
   * @returns {Count}
   */
  countOfLast (value) {
    return { records: Array.isArray(value) ? value.length : 1, bytes: this.log.records.encodedBytes }
  }

  /**
   * @param {any} value that was not encoded
   * @returns {Count} what the codec cannot encode has no bytes
   */
  countOf (value) {
    try {
      this.log.records.encodeEarly(Array.isArray(value) ? value : [value])
    } catch {}
    return this.countOfLast(value)
  }
}

/**
 * @param {import('./write/appender').Appender} appender
 * @param {Uint8Array | Uint8Array[]} data
 * @param {boolean} isForced
 * @param {boolean} atomic
 * @param {((err: Error | null, seq?: any) => void) | undefined} cb
 */
function store (appender, data, isForced, atomic, cb) {
  if (!Array.isArray(data)) appender.append(data, isForced, cb)
  else if (atomic) appender.appendAtomic(data, isForced, cb)
  else appender.appendBatch(data, isForced, cb)
}

const NO_OPTIONS = { sync: false, atomic: false }

module.exports = { Appending }
