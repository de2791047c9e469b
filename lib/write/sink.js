'use strict'

// A pull-stream sink that appends what it is given, and reads no faster than the
// file takes it.

const errors = require('../errors')

/**
 * @typedef {{ sync?: boolean }} SinkOptions sync: all is on the disk before the callback; default false
 * @typedef {{ records: number, bytes: number, seq: number }} Stored how much was stored, and the last record's
 *   seq, -1 if there is none
 * @typedef {(err: Error | null, stored: Stored) => void} Sunk
 */

/**
 * @template [A=any]
 * @typedef {(read: (abort: import('../read/stream').End, cb: (end: import('../read/stream').End, item?: A) => void) => void) => void} Sink
 */

/**
 * @typedef {object} Log what a sink needs of the log it appends to
 * @property {(cb: (err: Error | null) => void) => void} whenOpen
 * @property {(value: any) => Uint8Array} encode throws what append would give
 * @property {(value: any) => void} rejected counts a value that was not appended
 * @property {() => import('./writer').Writer | null} writer
 * @property {() => Error | null} refusal why no more is taken
 * @property {string | null} filename
 */

/**
 * @param {Log} log
 * @param {SinkOptions} options
 * @param {Sunk} [cb]
 * @returns {Sink}
 */
function sink (log, options, cb = () => {}) {
  const stored = { records: 0, bytes: 0, seq: -1 }
  /** @type {import('../read/stream').Source} */
  let read
  /** @type {import('./writer').Writer} */
  let writer
  /** Bytes of the records in flight, oldest first, from `oldest` on. @type {number[]} */
  let sizes = []
  let oldest = 0
  /** @type {Error | null} */
  let failure = null
  let hasEnded = false
  let isReading = false
  let isAsking = false
  let hasAnswered = false
  let isDone = false

  return (source) => {
    read = source
    log.whenOpen((err) => {
      const opened = log.writer()
      if (err || opened === null) return fail(err ?? errors.readOnly(log.filename, 'append'))
      writer = opened
      pump()
    })
  }

  /** Reads for as long as the source answers at once and there is room. */
  function pump () {
    if (isReading) return
    isReading = true
    for (;;) {
      if (hasEnded) break
      if (!step()) return
    }
    isReading = false
  }

  /**
   * Reads one record, if there is room for it.
   * @returns {boolean} false: it comes later, and then reading goes on by itself
   */
  function step () {
    const { counts, highWaterMark } = writer
    if (counts.inFlight.bytes >= highWaterMark) {
      isReading = false
      writer.whenRoom(highWaterMark / 2, pump)
      return false
    }
    hasAnswered = false
    isAsking = true
    read(null, onanswer)
    isAsking = false
    return hasAnswered
  }

  /** @type {import('../read/stream').Answer} */
  function onanswer (end, value) {
    hasAnswered = true
    if (end) onend(end)
    else if (!hasEnded) take(value)
    if (isAsking) return
    isReading = false
    pump()
  }

  /** @param {any} value */
  function take (value) {
    /** @type {Uint8Array} */
    let data
    try {
      const refusal = log.refusal()
      if (refusal !== null) throw refusal
      data = log.encode(value)
    } catch (err) {
      log.rejected(value)
      return fail(/** @type {Error} */ (err))
    }
    sizes.push(data.length)
    writer.appendUnlimited(data, onstored)
  }

  /** @type {import('./writer').Appended} */
  function onstored (err, seq) {
    const bytes = sizes[oldest++]
    if (oldest > 1024 && oldest * 2 > sizes.length) {
      sizes = sizes.slice(oldest)
      oldest = 0
    }
    if (err) return fail(err)
    stored.records++
    stored.bytes += bytes
    stored.seq = /** @type {number} */ (seq)
    finish()
  }

  /** @param {true | Error} end */
  function onend (end) {
    hasEnded = true
    if (end !== true) failure ??= end
    finish()
  }

  /** @param {Error} err */
  function fail (err) {
    if (failure === null) {
      failure = err
      if (!hasEnded) read(err, () => {})
      hasEnded = true
    }
    finish()
  }

  /** Calls back once, when all that was taken is stored, or has failed. */
  function finish () {
    if (isDone || !hasEnded || oldest < sizes.length) return
    isDone = true
    if (failure !== null || !options.sync) return cb(failure, stored)
    writer.sync((err) => cb(err ?? null, stored))
  }
}

module.exports = { sink }
