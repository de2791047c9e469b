'use strict'

// A pull-stream sink that appends what it is given, and reads no faster than the file
// accepts it.

const errors = require('../errors')
const { rethrowLater } = require('../callbacks')
const { copyOptions, optionNames } = require('../option-names')

/**
 * @typedef {import('../types').SinkOptions} SinkOptions
 * @typedef {import('../types').Stored} Stored
 * @typedef {import('../types').Sunk} Sunk
 * @typedef {import('../read/source').End} End
 *
 * @typedef {import('./writer').Writer | import('../sharing/remote-writer').RemoteWriter} AnyWriter
 *
 * @typedef {object} Log what a sink needs of the log it appends to
 * @property {string} filename
 * @property {(cb: (err: Error | null) => void) => void} whenOpen
 * @property {number} highWaterMark bytes in flight beyond which nothing more is read
 * @property {Error | null} refusal why nothing more is accepted
 * @property {import('../record-codec').RecordCodec} codec
 * @property {import('../read/turn-budget').TurnBudget} turn
 * @property {{ opened: { writer: AnyWriter | null, blocks: import('../read/block-cache').BlockCache } | null }} state
 */

const NAMES = ['sync']
const checkNames = optionNames('sink', NAMES)

class SinkReader {
  /**
   * @param {Log} log
   * @param {SinkOptions} options
   * @param {Sunk | undefined} cb
   * @param {import('../read/source').Source} source
   */
  constructor (log, options, cb, source) {
    this.log = log
    this.options = options
    this.isSync = false
    this.cb = cb
    this.source = source
    /** @type {Stored} */
    this.stored = { records: 0, bytes: 0, seq: -1 }
    /** Bytes of the records in flight, oldest first, from `oldest` on. @type {number[]} */
    this.sizes = []
    this.oldest = 0
    this.bytesInFlight = 0
    /** Whether it waits until half of the limit is stored. */
    this.isFull = false
    /** @type {Error | null} */
    this.failure = null
    this.hasEnded = false
    this.isReading = false
    this.isAsking = false
    this.hasAnswered = false
    this.isDone = false
    this.pump = this.pump.bind(this)
    this.onanswer = this.onanswer.bind(this)
    this.onstored = this.onstored.bind(this)
  }

  /** Another one from the moment on at which this process becomes the owner of a shared log. */
  get writer () {
    return this.log.state.opened?.writer ?? null
  }

  start () {
    this.log.whenOpen((err) => {
      if (err || this.writer === null) return this.fail(err ?? errors.readOnly(this.log.filename, 'append'))
      try {
        checkNames(this.options)
        this.isSync = !!this.options.sync
        // a log in a stream has no blocks, and is never compacted
        this.log.state.opened?.blocks?.cursors.add(this)
      } catch (thrown) {
        return this.fail(errors.thrown('an option', thrown))
      }
      this.pump()
    })
  }

  /** Reads for as long as the source answers at once and there is room. */
  pump () {
    if (this.isReading) return
    this.isReading = true
    while (!this.hasEnded) if (!this.readOne()) return
    this.isReading = false
  }

  /**
   * Reads one record, if there is room for it.
   * @returns {boolean} false: it comes later, and then reading goes on by itself
   */
  readOne () {
    this.isFull = this.bytesInFlight >= this.log.highWaterMark
    if (this.isFull) {
      this.isReading = false
      return false
    }
    // where the storage answers at once, nothing else would let timers and I/O run
    if (this.log.turn.isSpent()) {
      this.isReading = false
      this.log.turn.defer(this.pump)
      return false
    }
    this.hasAnswered = false
    this.isAsking = true
    try {
      this.source(null, this.onanswer)
    } catch (err) {
      this.hasAnswered = true
      this.fail(/** @type {Error} */ (err))
    }
    this.isAsking = false
    return this.hasAnswered
  }

  /**
   * @param {End} end
   * @param {any} [value]
   */
  onanswer (end, value) {
    this.hasAnswered = true
    if (end) this.onend(end)
    else if (!this.hasEnded) this.append(value)
    if (this.isAsking) return
    this.isReading = false
    this.pump()
  }

  /** @param {any} value */
  append (value) {
    const { codec, refusal } = this.log
    const { appender } = /** @type {AnyWriter} */ (this.writer)
    /** @type {Uint8Array} */
    let data
    try {
      data = codec.encode(value)
      if (refusal !== null) throw refusal
    } catch (err) {
      return this.fail(/** @type {Error} */ (err))
    }
    this.sizes.push(data.length)
    this.bytesInFlight += data.length
    appender.append(data, false, this.onstored)
  }

  /** @type {import('./commit-group').Appended} */
  onstored (err, seq) {
    const bytes = this.sizes[this.oldest++]
    this.bytesInFlight -= bytes
    if (this.oldest > 1024 && this.oldest * 2 > this.sizes.length) {
      this.sizes = this.sizes.slice(this.oldest)
      this.oldest = 0
    }
    if (err) return this.fail(err)
    this.stored.records++
    this.stored.bytes += bytes
    this.stored.seq = /** @type {number} */ (seq)
    if (this.isFull && this.bytesInFlight <= this.log.highWaterMark / 2) this.pump()
    this.finish()
  }

  /**
   * The log is another file now.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    const { stored } = this
    if (stored.seq < map.base) stored.seq = map.down(stored.seq)
  }

  /** @param {true | Error} end */
  onend (end) {
    this.hasEnded = true
    if (end !== true) this.failure ??= end
    this.finish()
  }

  /** @param {Error} err */
  fail (err) {
    if (this.failure === null) {
      this.failure = err
      if (!this.hasEnded) this.abort(err)
      this.hasEnded = true
    }
    this.finish()
  }

  /** @param {Error} err */
  abort (err) {
    try {
      this.source(err, noop)
    } catch (thrown) {
      // the sink has called back already
      rethrowLater(thrown)
    }
  }

  /** Calls back once, when everything that was appended is stored, or has failed. */
  finish () {
    if (this.isDone || !this.hasEnded || this.oldest < this.sizes.length) return
    this.isDone = true
    if (this.failure !== null || !this.isSync || this.writer === null) return this.callBack(this.failure)
    this.writer.sync((err) => this.callBack(err ?? null))
  }

  /** @param {Error | null} err */
  callBack (err) {
    this.log.state.opened?.blocks?.cursors.delete(this)
    if (this.cb === undefined) return
    try {
      this.cb(err, this.stored)
    } catch (thrown) {
      // not into the source, which called us
      rethrowLater(thrown)
    }
  }
}

/**
 * @param {Log} log
 * @param {SinkOptions} options
 * @param {Sunk} [cb]
 * @returns {import('../types').Sink}
 */
function sink (log, options, cb) {
  const copy = copyOptions(options, NAMES, checkNames)
  return (source) => new SinkReader(log, copy, cb, source).start()
}

function noop () {}

module.exports = { sink }
