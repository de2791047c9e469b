'use strict'

// A log's records as Node.js streams in object mode: a Readable over a pull-stream source,
// a Writable over a sink, with back-pressure in both.

const { Readable, Writable, addAbortSignal } = require('stream')
const errors = require('../errors')
const { callAll } = require('../callbacks')
const { optionNames } = require('../option-names')
const { mustBeSignal } = require('../signal')

/** Records that a ReadStream buffers. */
const READ_HIGH_WATER_MARK = 64

const checkWriteNames = optionNames('createWriteStream', ['sync', 'signal', 'highWaterMark'])

/**
 * @typedef {import('../read/source').End} End
 * @typedef {import('../read/source').Source<any>} Source
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ value: any, accepted: Done }} HeldRecord
 *
 * @typedef {object} NodeStreamOptions
 * @property {AbortSignal} [signal] destroys the stream
 * @property {number} [highWaterMark] records that the stream itself buffers; default 64 to read, 16 to write
 */

class ReadStream extends Readable {
  /**
   * @param {Source} source
   * @param {NodeStreamOptions} options
   * @throws flumelog:invalid if `signal` is not an AbortSignal; a TypeError of Node.js for a wrong highWaterMark
   */
  constructor (source, { signal, highWaterMark = READ_HIGH_WATER_MARK }) {
    mustBeSignal(signal)
    super({ objectMode: true, highWaterMark })
    this.source = source
    this.answered = this.answered.bind(this)
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  _read () {
    this.source(null, this.answered)
  }

  /**
   * @param {End} end
   * @param {any} record
   */
  answered (end, record) {
    if (this.destroyed) return
    if (end === true) this.push(null)
    else if (end) this.destroy(end)
    else if (record === null) this.destroy(errors.invalid('a Node.js stream cannot contain null; read it with seqs'))
    else this.push(record)
  }

  /**
   * @param {Error | null} err
   * @param {(err?: Error | null) => void} cb
   */
  _destroy (err, cb) {
    this.source(err ?? true, () => {})
    cb(err)
  }
}

class WriteStream extends Writable {
  /**
   * @param {import('../types').FlumeLog<any>} log
   * @param {NodeStreamOptions & import('../types').SinkOptions} options
   * @throws flumelog:invalid if `signal` is not an AbortSignal; a TypeError of Node.js for a wrong highWaterMark
   */
  constructor (log, options) {
    const { signal, highWaterMark, sync } = options
    mustBeSignal(signal)
    super({ objectMode: true, highWaterMark })
    this.options = options
    /** What the sink has stored, when it is done. @type {import('../types').Stored | null} */
    this.stored = null
    /** The sink's request for the next record. @type {import('../read/source').Answer | null} */
    this.asked = null
    /** A record for which the sink has no room yet. @type {HeldRecord | null} */
    this.held = null
    /** The callback of the last record that the sink accepted; called when there is room again. @type {Done | null} */
    this.onroom = null
    this.hasEnded = false
    /** @type {Error | null} */
    this.failure = null
    /** Called when all accepted records are stored, or have failed. @type {Done[]} */
    this.waiting = []
    this.start = () => log.sink({ sync }, (err, stored) => this.onstored(err, stored))((abort, cb) => this.answer(abort, cb))
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  /**
   * Not in the constructor: a log that is closed would destroy the stream before it has
   * a listener.
   * @param {Done} done
   */
  _construct (done) {
    try {
      checkWriteNames(this.options)
    } catch (err) {
      this.stored = { records: 0, bytes: 0, seq: -1 }
      return done(/** @type {Error} */ (err))
    }
    this.start()
    done(null)
  }

  /**
   * The source that the sink reads.
   * @param {End} abort
   * @param {import('../read/source').Answer} reply
   * @returns {void}
   */
  answer (abort, reply) {
    if (abort) {
      this.fail(/** @type {Error} */ (abort))
      return reply(abort)
    }
    if (this.hasEnded) return reply(true)
    if (this.held !== null) {
      const { value, accepted } = this.held
      this.held = null
      this.onroom = accepted
      return reply(null, value)
    }
    this.asked = reply
    this.callOnRoom(null)
  }

  /**
   * @param {any} value
   * @param {BufferEncoding} _
   * @param {Done} accepted
   */
  _write (value, _, accepted) {
    if (this.asked === null) {
      this.held = { value, accepted }
      return
    }
    const { asked } = this
    this.asked = null
    this.onroom = accepted
    // while there is room, the sink asks again at once
    asked(null, value)
  }

  /** @param {Error | null} err */
  callOnRoom (err) {
    const { onroom } = this
    this.onroom = null
    if (onroom !== null) onroom(err)
  }

  /** @param {Error} err */
  fail (err) {
    this.failure = err
    this.destroy(err)
  }

  /**
   * Drops a record that was not accepted. One that was accepted is stored anyway, unless
   * it is the one that failed.
   * @param {Error} err
   */
  drop (err) {
    this.callOnRoom(this.failure)
    const { held } = this
    this.held = null
    if (held !== null) held.accepted(err)
  }

  /**
   * Ends what the sink reads.
   * @param {Done} done called when all accepted records are stored, or have failed
   */
  finish (done) {
    if (this.stored !== null) return done(this.failure)
    this.hasEnded = true
    this.waiting.push(done)
    const { asked } = this
    this.asked = null
    if (asked !== null) asked(true)
  }

  /**
   * @param {Error | null} err
   * @param {import('../types').Stored} stored
   */
  onstored (err, stored) {
    this.failure ??= err
    this.stored = stored
    callAll(this.waiting.splice(0), this.failure)
  }

  /** @param {Done} cb */
  _final (cb) {
    this.finish(cb)
  }

  /**
   * Accepted records are stored anyway; the stream closes after that.
   * @param {Error | null} err
   * @param {Done} cb
   */
  _destroy (err, cb) {
    this.drop(err ?? new Error('the stream was destroyed before the record was appended'))
    this.finish(() => cb(err))
  }
}

module.exports = { ReadStream, WriteStream }
