'use strict'

// `append`: encodes what a caller gives, and hands it to the appender.

const errors = require('./errors')
const { optional } = require('./callbacks')
const { format } = require('./format-value')
const { Opening } = require('./log-states')
const { optionNames } = require('./option-names')
const { mustBeBoolean } = require('./options')

const checkNames = optionNames('append', ['sync', 'atomic', 'after'])

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
    const { sync = false, atomic = false, after } = typeof options === 'object' && options !== null ? options : NO_OPTIONS
    const { state, closing, codec } = this.log
    const { appender } = state
    if (appender === null || closing !== null) return this.refuse(cb)
    const problem = problemOf(value, options)
    if (problem !== null) return appender.reject(problem, cb)
    let data
    try {
      data = Array.isArray(value) || atomic || after !== undefined ? codec.encodeBatch(Array.isArray(value) ? value : [value]) : codec.encodeText(value)
      if (atomic) codec.fittingTogether(/** @type {Uint8Array[]} */ (data))
    } catch (err) {
      return appender.reject(/** @type {Error} */ (err), cb)
    }
    if (typeof data === 'string') appender.appendText(data, sync, cb)
    else if (!Array.isArray(data)) appender.append(data, sync, cb)
    else if (after !== undefined) appender.appendAfter(after, data, sync, atomic, cb)
    else if (atomic) appender.appendAtomic(data, sync, cb)
    else appender.appendBatch(data, sync, cb)
  }

  /**
   * Appends records as they are stored, which the codec has been passed by.
   * @param {Uint8Array[]} batch
   * @param {(err: Error | null, seq?: any) => void} cb
   */
  appendEncoded (batch, cb) {
    const { state: { appender }, closing, codec } = this.log
    if (appender === null || closing !== null) return this.refuse(cb)
    try {
      if (!Array.isArray(batch)) throw errors.refusedRecord(this.log.filename, `records must be an array; it is ${format(batch)}`)
      codec.encodeBatch(batch, true)
    } catch (err) {
      return appender.reject(/** @type {Error} */ (err), cb)
    }
    appender.appendBatch(batch, false, cb)
  }

  /**
   * The log is read-only, takes no calls, or will not when those before this one are made.
   * @param {((err: Error) => void) | undefined} cb
   */
  refuse (cb) {
    const { log } = this
    const error = log.closing === null ? errors.readOnly(log.filename, 'append') : errors.closed(log.filename)
    const answer = (/** @type {Error | null} */ refusal) => cb?.(refusal ?? error)
    if (log.state instanceof Opening) log.whenOpen(answer)
    else process.nextTick(answer, log.refusal)
  }
}

/**
 * @param {any} value
 * @param {any} options a boolean, as flumelog-aligned-offset takes it, says whether to wait for the write; this log always does
 * @returns {Error | null}
 */
function problemOf (value, options) {
  if (options === undefined || options === null || typeof options === 'boolean') return null
  try {
    checkNames(options)
    mustBeBoolean('sync', options.sync ?? false)
    mustBeBoolean('atomic', options.atomic ?? false)
    checkAfter(value, options.after)
    return null
  } catch (err) {
    return /** @type {Error} */ (err)
  }
}

/**
 * @param {any} value to be appended
 * @param {unknown} after the option; undefined: it is not given
 * @throws flumelog:invalid
 */
function checkAfter (value, after) {
  if (after === undefined) return
  // a record after it has a seq, too
  if (!Number.isSafeInteger(after) || Number(after) < -1 || after === Number.MAX_SAFE_INTEGER) {
    throw errors.invalid(`after must be the seq of a record, or -1 for an empty log; it is ${format(after)}`)
  }
  if (Array.isArray(value) && value.length === 0) throw errors.invalid('after requires a record to append; the array is empty')
}

const NO_OPTIONS = { sync: false, atomic: false, after: undefined }

module.exports = { Appending, checkAfter }
