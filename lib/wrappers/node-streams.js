'use strict'

// A log's records as streams of Node.js, in object mode, with back-pressure both
// ways: they pass on what a pull-stream source gives, and what a sink takes.

const { Readable, Writable, addAbortSignal } = require('stream')
const errors = require('../errors')
const { mustBeSignal } = require('./iterator')

/** Records that a ReadStream holds ready. */
const READ_HIGH_WATER_MARK = 64

/**
 * @typedef {import('../read/stream').End} End
 * @typedef {import('../read/stream').Source<any>} Source
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {{ value: any, taken: Done }} Held
 *
 * @typedef {object} NodeStreamOptions
 * @property {AbortSignal} [signal] destroys the stream
 * @property {number} [highWaterMark] records the stream itself holds; default 64 to read, 16 to write
 */

class ReadStream extends Readable {
  /**
   * @param {() => Source} open called when the first record is asked for
   * @param {NodeStreamOptions} options
   * @throws flumelog:invalid for what is no signal; a TypeError of Node.js for a wrong highWaterMark
   */
  constructor (open, { signal, highWaterMark = READ_HIGH_WATER_MARK }) {
    mustBeSignal(signal)
    super({ objectMode: true, highWaterMark })
    this.open = open
    /** @type {Source | null} */
    this.source = null
    this.isWanted = false
    this.isAsking = false
    this.isWaiting = false
    this.onanswer = this.onanswer.bind(this)
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  _read () {
    this.isWanted = true
    this.pump()
  }

  /** Passes records on for as long as they are wanted and come at once. */
  pump () {
    if (this.isAsking || this.isWaiting) return
    this.isAsking = true
    this.source ??= this.open()
    while (this.isWanted && !this.isWaiting && !this.destroyed) {
      this.isWaiting = true
      this.source(null, this.onanswer)
    }
    this.isAsking = false
  }

  /**
   * @param {End} end
   * @param {any} [item]
   */
  onanswer (end, item) {
    this.isWaiting = false
    this.isWanted = false
    if (this.destroyed) return
    if (end === true) this.push(null)
    else if (end) this.destroy(end)
    else if (item === null) this.destroy(errors.invalid('a stream of Node.js cannot give a record that is null; ask for seqs too'))
    else if (this.push(item)) this.isWanted = true
    this.pump()
  }

  /**
   * @param {Error | null} err
   * @param {(err?: Error | null) => void} cb
   */
  _destroy (err, cb) {
    if (this.source !== null) this.source(err ?? true, () => {})
    cb(err)
  }
}

class WriteStream extends Writable {
  /**
   * @param {import('../log').FlumeLog<any>} log
   * @param {NodeStreamOptions & import('../write/sink').SinkOptions} options
   */
  constructor (log, { signal, highWaterMark, sync }) {
    mustBeSignal(signal)
    super({ objectMode: true, highWaterMark })
    /** What was stored, once all of it is. @type {import('../write/sink').Stored | null} */
    this.stored = null
    /** The sink asks for the next record. @type {import('../read/stream').Answer | null} */
    this.asked = null
    /** A record for which the sink had no room, and who is told when it is taken. @type {Held | null} */
    this.held = null
    /** Told when there is room again, or why there is not. @type {Done | null} */
    this.onroom = null
    this.hasEnded = false
    /** @type {Error | null} */
    this.failure = null
    /** Told when all that was taken is stored, or has failed. @type {Done[]} */
    this.waiting = []
    this.start = () => log.sink({ sync }, (err, stored) => this.onstored(err, stored))((abort, cb) => this.answer(abort, cb))
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  /**
   * Not in the constructor: a log that takes nothing would destroy the stream before
   * anybody could listen to it.
   * @param {Done} done
   */
  _construct (done) {
    this.start()
    done(null)
  }

  /**
   * The source that the sink reads.
   * @param {End} abort
   * @param {import('../read/stream').Answer} reply
   * @returns {void}
   */
  answer (abort, reply) {
    if (abort) {
      this.fail(/** @type {Error} */ (abort))
      return reply(abort)
    }
    if (this.hasEnded) return reply(true)
    if (this.held !== null) {
      const { value, taken } = this.held
      this.held = null
      this.onroom = taken
      return reply(null, value)
    }
    this.asked = reply
    this.tellOfRoom(null)
  }

  /**
   * @param {any} value
   * @param {BufferEncoding} _
   * @param {Done} taken
   */
  _write (value, _, taken) {
    if (this.asked === null) {
      this.held = { value, taken }
      return
    }
    const { asked } = this
    this.asked = null
    this.onroom = taken
    // where there is room, it asks again at once
    asked(null, value)
  }

  /** @param {Error | null} err */
  tellOfRoom (err) {
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
   * Lets go of a record that was not taken. One that was, and waits for room behind it,
   * is stored all the same, unless it is what failed.
   * @param {Error} err
   */
  drop (err) {
    this.tellOfRoom(this.failure)
    const { held } = this
    this.held = null
    if (held !== null) held.taken(err)
  }

  /**
   * Ends what the sink reads.
   * @param {Done} done called when all that was taken is stored, or has failed
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
   * @param {import('../write/sink').Stored} stored
   */
  onstored (err, stored) {
    this.failure ??= err
    this.stored = stored
    for (const done of this.waiting.splice(0)) done(this.failure)
  }

  /** @param {Done} cb */
  _final (cb) {
    this.finish(cb)
  }

  /**
   * What was taken is stored all the same, and the stream closes after that.
   * @param {Error | null} err
   * @param {Done} cb
   */
  _destroy (err, cb) {
    this.drop(err ?? new Error('the stream was destroyed before the record was appended'))
    this.finish(() => cb(err))
  }
}

module.exports = { ReadStream, WriteStream }
