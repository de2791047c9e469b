'use strict'

// A log in a JetStream stream: checks arguments, waits until it is open, delegates. A record's seq is its sequence in the stream.

const fs = require('fs')
const path = require('path')
const { callbackify } = require('util')
const { callbacks: { callAll, mustBeFunction, optional, rethrowLater } } = require('flumelog-random-access-file/blocks')
const { createSince, NextChange, OpenStreams, replaceable, scanRangeOf, sink, TurnBudget } = require('flumelog-random-access-file/parts')
const errors = require('./errors')
const { appendOptionsOf } = require('./write/append-options')
const { Connection } = require('./connection/connection')
const { checkCursor, listCursors } = require('./cursors/cursor-consumer')
const { deleteRecords } = require('./write/deletion')
const { DurableCursor } = require('./cursors/durable-cursor')
const { Follower } = require('./read/follower')
const { missingMembers } = require('./missing-members')
const { commonSettingsOf } = require('./options')
const { Publisher } = require('./write/publisher')
const { Reader, problemOf } = require('./read/reader')
const { StreamRecordCodec } = require('./record-codec')
const { scan } = require('./read/scan')
const { search } = require('./read/search')
const { openStream, maxRecordSize, serverOf } = require('./connection/stream-config')
const { statsOf } = require('./stats')
const { ServerStream, ServerBatchStream } = require('./read/streams')
const { Tails } = require('./read/tails')

/** How often a log that is closing looks, within `timeout`, whether appends are still acknowledged. */
const LOOKS = 10

/**
 * @typedef {import('flumelog-random-access-file/parts').Done} Done
 * @typedef {import('./read/direct-get').Message} Message
 *
 * @typedef {object} Opened
 * @property {Reader} reader
 * @property {Follower} follower
 * @property {Publisher | null} writer null: the log is read-only
 */

class StreamLog {
  /** @param {import('./options').Settings} settings */
  constructor (settings) {
    this.settings = settings
    // where flumedb's views put their files
    if (settings.filename !== null) fs.mkdirSync(path.dirname(settings.filename), { recursive: true })
    /** What a sink, streams and `since` name in their errors. */
    this.filename = `stream ${settings.stream}`
    this.highWaterMark = settings.highWaterMark
    this.since = createSince((cb) => this.nextChange(cb))
    this.codec = new StreamRecordCodec(settings.codec, this.filename)
    this.turn = new TurnBudget()
    this.streams = new OpenStreams((isWaiting) => { if (isWaiting) this.state.opened?.follower.start() })
    this.connection = new Connection(settings, this.filename)
    this.publisher = new Publisher(this.filename, this)
    /** @type {{ opened: Opened | null }} */
    this.state = { opened: null }
    /** When the stream was created; null until the log is open. @type {string | null} */
    this.id = null
    /** Calls that wait until it is open; null: it is, or cannot be. @type {Array<(err: Error | null) => void> | null} */
    this.calls = []
    this.tails = new Tails(this.turn)
    /** By name. @type {Map<string, DurableCursor>} */
    this.cursors = new Map()
    /** Why no call is made any more. @type {Error | null} */
    this.refusal = null
    /** Callbacks of `close`; null: it was not called. @type {Done[] | null} */
    this.closing = null
    this.isClosed = false
    this.whenOpen = this.whenOpen.bind(this)
    const log = this
    /** What streams need of the log. */
    this.reading = /** @type {any} */ ({
      get reader () { return log.reader },
      lastSeq: () => this.lastSeq,
      delivered: async (/** @type {number} */ first, /** @type {number} */ last) => this.state.opened?.follower.range(first, last) ?? null,
      whenLogOpen: this.whenOpen,
      tails: this.tails,
      filename: this.filename,
      decode: this.codec.isIdentity ? null : this.codec.decode.bind(this.codec),
      takesText: this.codec.takesText,
      keepsNoText: true,
      end: () => this.state.opened === null ? null : this.lastSeq + 1,
      whenOpen: (/** @type {(err: Error | null) => void} */ cb) => this.whenStarted(cb),
      streams: this.streams,
      turn: this.turn
    })
    this.connection.onfailure = (err) => this.fail(err)
    this.connection.onverified = (last) => this.setBack(last)
    this.open().catch((err) => this.fail(err)).then(() => this.releaseCalls())
  }

  /** The last seq that is known; -1: there is none. */
  get lastSeq () {
    return this.since.value ?? -1
  }

  /** Of a log that is open. @returns {Reader} */
  get reader () {
    return /** @type {Opened} */ (this.state.opened).reader
  }

  // Opening

  async open () {
    const { connection, settings, publisher } = this
    await settings.waitFor
    await connection.open()
    const info = await openStream(connection)
    const { created, state: { last_seq: last } } = info
    connection.identity.open(info)
    await connection.watchStream()
    const reader = new Reader(connection)
    reader.state = info.state
    this.state.opened = { reader, follower: new Follower(connection, reader, this), writer: settings.readOnly ? null : publisher }
    this.id = created
    this.since.set(last === 0 ? -1 : last)
    publisher.takesKeys = info.config.duplicate_window > 0
    publisher.start(connection, settings.subject, maxRecordSize(info, connection.nats.info?.max_payload ?? Infinity), serverOf(info, connection))
  }

  releaseCalls () {
    /** @type {Array<(err: Error | null) => void>} */
    const calls = this.calls ?? []
    this.calls = null
    callAll(calls.map(call => () => call(this.refusal)), undefined)
  }

  /**
   * @param {Error} err for which it cannot be used any more
   */
  fail (err) {
    // as a log in a file does
    if (this.refusal === null && this.state.opened === null && this.calls?.length === 0) this.since.refuse(err)
    this.refusal ??= err
    this.publisher.stop(this.refusal)
    this.streams.fail(this.refusal)
    this.connection.close().catch(() => {})
  }

  /**
   * Calls back when the log is open; at once, if it is.
   * @param {(err: Error | null) => void} cb
   */
  whenOpen (cb) {
    if (this.calls !== null) this.calls.push(cb)
    else cb(this.refusal)
  }

  /**
   * Calls back when readers see what others have appended, too.
   * @param {(err: Error | null) => void} cb
   */
  whenFresh (cb) {
    this.whenOpen((err) => {
      if (err) return cb(err)
      this.reader.refresh().then(({ last_seq: last }) => {
        this.advance(last)
        cb(null)
      }, (err) => cb(this.refusal ?? err)).catch(rethrowLater)
    })
  }

  /**
   * Calls back when a stream may start; a log that is closed waits for that.
   * @param {(err: Error | null) => void} cb
   */
  whenStarted (cb) {
    this.tails.add(cb)
    this.whenFresh((err) => {
      // what it reads is added in the same turn
      this.tails.delete(cb)
      cb(err)
    })
  }

  /**
   * @param {number} seq of the last record
   * @param {number} [bytes] that were stored here
   */
  advance (seq, bytes = 0) {
    const state = this.state.opened?.reader.state
    if (state != null) state.bytes += bytes
    if (seq > this.lastSeq && seq > 0) {
      this.since.set(seq)
      this.streams.resumeWaiting()
    }
  }

  /**
   * A server that was killed may have lost messages that nobody has read, and for which it gave no acknowledgement.
   * @param {number} last sequence of the stream
   */
  setBack (last) {
    const known = Math.max(last, this.connection.identity.last)
    if (known < this.lastSeq) this.since.set(known === 0 ? -1 : known)
  }

  /** @type {import('flumelog-random-access-file/parts').Since['next']} */
  nextChange (cb) {
    mustBeFunction('the callback', cb)
    const change = new NextChange(this, cb)
    this.whenOpen((err) => err ? change.finish(err) : change.start())
    return () => change.cancel()
  }

  // Appending

  /**
   * @param {any} value
   * @param {any} options
   * @param {any} [callback]
   */
  append (value, options, callback) {
    const isCallback = typeof options === 'function'
    const cb = optional(isCallback ? options : callback)
    const values = Array.isArray(value) ? value : [value]
    let given, records
    try {
      if (this.closing !== null) throw errors.closed(this.filename)
      if (this.settings.readOnly) throw errors.readOnly(this.filename, 'append')
      given = appendOptionsOf(value, isCallback ? undefined : options)
      records = this.codec.encodeBatch(values)
    } catch (err) {
      return this.publisher.reject(/** @type {Error} */ (err), cb)
    }
    this.publisher.publish(records, given.atomic, given.terms, cb)
  }

  /**
   * @param {any} options
   * @param {any} [cb]
   */
  sink (options, cb) {
    const log = /** @type {any} */ (this)
    return typeof options === 'function' ? sink(log, {}, options) : sink(log, options ?? {}, cb)
  }

  /** @param {any} what @param {Done} [callback] */
  del (what, callback) {
    const cb = optional(callback) ?? noop
    if (this.closing !== null) return process.nextTick(cb, this.refusal ?? errors.closed(this.filename))
    const end = (/** @type {Error | null} */ err) => {
      this.tails.delete(end)
      cb(err)
    }
    // a log that is closed waits for it
    this.tails.add(end)
    this.whenOpen((err) => {
      if (err) end(err)
      else if (this.settings.readOnly) process.nextTick(end, errors.readOnly(this.filename, 'delete'))
      else callbackify(() => deleteRecords(this.reader, what).then(() => null))(end)
    })
  }

  /** @param {Done} [callback] */
  drain (callback) {
    const cb = optional(callback)
    // without one, the error of an append goes to the next call
    if (cb !== undefined) this.whenOpen((err) => err ? cb(err) : this.publisher.sync(cb))
  }

  // Reading

  /** @param {Message} message */
  foundOf ({ seq, data }) {
    return { seq, value: this.codec.valueOf(data, seq) }
  }

  /**
   * @param {number} seq
   * @param {(err: any, value?: any) => void} cb
   */
  get (seq, cb) {
    mustBeFunction('the callback', cb)
    this.answer(cb, ({ value }) => cb(null, value), async () => {
      const last = await this.lastFor(seq)
      const problem = problemOf(this.reader, seq, last)
      if (problem !== null) throw problem
      const message = await this.reader.get(seq, last)
      if (message === null) throw errors.deleted(this.filename, seq)
      return this.foundOf(message)
    })
  }

  /**
   * @param {number} seq
   * @param {(err: any, value?: any, seq?: any) => void} cb
   */
  getPrevious (seq, cb) {
    mustBeFunction('the callback', cb)
    this.answer(cb, ({ value, seq }) => cb(null, value, seq), async () => {
      const end = await this.lastFor(seq) + 1
      const problem = seq === end ? null : problemOf(this.reader, seq, end)
      if (problem !== null) throw problem
      const message = await this.reader.previous(seq)
      if (message === null) throw errors.notFound(this.filename, seq, `there is no record before ${seq}`)
      return this.foundOf(message)
    })
  }

  /**
   * @param {any} what
   * @param {(err: any, seq?: any, value?: any) => void} cb
   */
  search (what, cb) {
    mustBeFunction('the callback', cb)
    this.answer(cb, ({ seq, value }) => cb(null, seq, value), () => search(this.reader, message => this.foundOf(message), what))
  }

  /**
   * @param {import('flumelog-random-access-file').ScanOptions} options
   * @param {import('flumelog-random-access-file/parts').OnRecord} onRecord
   * @param {(err: any) => void} cb
   */
  scan (options, onRecord, cb) {
    mustBeFunction('onRecord', onRecord)
    mustBeFunction('the callback', cb)
    this.answer(cb, () => cb(null), async () => {
      const range = scanRangeOf(options)
      if (options.deleted) throw errors.notOfStream(this.filename, 'the option deleted')
      await scan(this.reader, range, onRecord)
    })
  }

  /**
   * @param {number} seq that a caller gave
   * @returns {Promise<number>} the last sequence: asked for if this may not be known here
   */
  async lastFor (seq) {
    if (Number.isInteger(seq) && seq > this.lastSeq) this.advance((await this.reader.refresh()).last_seq)
    return Math.max(this.lastSeq, 0)
  }

  /**
   * @template T
   * @param {(err: any) => void} onerror
   * @param {(result: T) => void} onresult
   * @param {() => Promise<T>} read
   */
  answer (onerror, onresult, read) {
    this.whenOpen((err) => {
      if (err) return onerror(err)
      read().then((result) => process.nextTick(onresult, result), (err) => process.nextTick(onerror, this.refusal ?? err))
    })
  }

  // Cursors

  /**
   * @param {string} name
   * @param {any} [options]
   * @returns {any} the same one for as long as it is not closed
   * @throws flumelog:invalid
   */
  cursor (name, options = {}) {
    checkCursor(name, options)
    const held = this.cursors.get(name)
    if (held !== undefined && held.closing === null) return held.members
    const cursor = new DurableCursor(this, name, options)
    this.cursors.set(name, cursor)
    return cursor.members
  }

  /** @param {DurableCursor} cursor that is closed */
  forgetCursor (cursor) {
    if (this.cursors.get(cursor.name) === cursor) this.cursors.delete(cursor.name)
  }

  /** @param {(err: any, cursors?: any) => void} cb */
  listCursors (cb) {
    mustBeFunction('the callback', cb)
    this.answer(cb, (cursors) => cb(null, cursors), () => listCursors(this.connection))
  }

  // Ends

  /** @param {Done} [callback] */
  close (callback) {
    const cb = optional(callback) ?? noop
    if (this.isClosed) return process.nextTick(cb, null)
    if (this.closing !== null) {
      this.closing.push(cb)
      return
    }
    this.closing = [cb]
    this.whenOpen((err) => {
      if (err) return this.finishClosing(null)
      // sinks would go on
      this.publisher.refusal ??= errors.closed(this.filename)
      this.closeCursors().then(() => this.closeWhenDrained())
    })
  }

  async closeCursors () {
    await Promise.all([...this.cursors.values()].map(cursor => cursor.close()))
  }

  /** Appends get their time, for as long as some are acknowledged, and so do readers that follow the end. */
  closeWhenDrained () {
    const { publisher, publisher: { counts: { written } }, tails, settings: { timeout } } = this
    let acknowledged = written.records
    let looks = 0
    const timer = setInterval(() => {
      looks = written.records === acknowledged ? looks + 1 : 0
      acknowledged = written.records
      if (looks === LOOKS) finish(publisher.counts.inFlight.bytes > 0 ? errors.appendsUnknown(this.filename) : null)
    }, timeout / LOOKS)
    let isFinished = false
    const finish = (/** @type {Error | null} */ failure) => {
      if (isFinished) return
      isFinished = true
      clearInterval(timer)
      this.finishClosing(failure)
    }
    publisher.wait(() => tails.whenRead(() => finish(null)))
  }

  /** @param {Error | null} failure */
  finishClosing (failure) {
    this.refusal ??= errors.closed(this.filename)
    this.turn.flush()
    // what they have given is not all that may be stored
    if (failure !== null) this.streams.fail(failure)
    else this.streams.close()
    this.state.opened?.follower.stop()
    this.connection.close().catch(noop).then(() => {
      // what was being sent has its error first
      this.publisher.wait(() => {
        this.isClosed = true
        callAll(this.closing ?? [], failure ?? this.publisher.unreported.take())
      })
      this.publisher.stop(this.refusal ?? errors.closed(this.filename))
    })
  }
}

function noop () {}

/**
 * @param {import('./options').Settings} settings
 * @returns {any} the members that callers have: ordinary properties, which may be called by themselves
 */
function createStreamLog (settings) {
  const log = new StreamLog(settings)
  const members = {
    filename: settings.filename,
    codec: settings.codec,
    since: log.since,
    append: (/** @type {any} */ value, /** @type {any} */ options, /** @type {any} */ cb = undefined) => log.append(value, options, cb),
    get: (/** @type {any} */ seq, /** @type {any} */ cb) => log.get(seq, cb),
    getPrevious: (/** @type {any} */ seq, /** @type {any} */ cb) => log.getPrevious(seq, cb),
    stream: (/** @type {any} */ options) => new ServerStream(log.reading, options ?? {}).source,
    batches: (/** @type {any} */ options) => new ServerBatchStream(log.reading, options ?? {}).source,
    scan: (/** @type {any} */ options, /** @type {any} */ onRecord, /** @type {any} */ cb) => log.scan(options, onRecord, cb),
    search: (/** @type {any} */ what, /** @type {any} */ cb) => log.search(what, cb),
    sink: (/** @type {any} */ options, /** @type {any} */ cb) => log.sink(options, cb),
    del: (/** @type {any} */ what, /** @type {any} */ cb) => log.del(what, cb),
    cursor: (/** @type {any} */ name, /** @type {any} */ options) => log.cursor(name, options),
    cursors: (/** @type {any} */ cb) => log.listCursors(cb),
    onReady: (/** @type {any} */ cb) => {
      mustBeFunction('the callback', cb)
      log.whenOpen((err) => cb(err, null))
    },
    onDrain: (/** @type {any} */ cb) => {
      mustBeFunction('the callback', cb)
      log.drain(cb)
    },
    sync: (/** @type {any} */ cb) => log.drain(cb),
    close: (/** @type {any} */ cb) => log.close(cb),
    stats: () => statsOf(log),
    blockSize: 0,
    role: null,
    start: 0,
    methods: { del: 'async' },
    // the stream is never compacted
    onCompact: (/** @type {any} */ listener) => {
      mustBeFunction('the listener', listener)
      return noop
    },
    ...missingMembers(['trim', 'compact', 'backup'], name => errors.notOfStream(log.filename, name))
  }
  return Object.defineProperties(members, {
    id: replaceable('id', () => log.id),
    highWaterMark: { enumerable: true, configurable: true, get: () => log.highWaterMark, set: (bytes) => { log.highWaterMark = commonSettingsOf({ highWaterMark: bytes }).highWaterMark } }
  })
}

module.exports = { createStreamLog, StreamLog }
