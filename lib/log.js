'use strict'

// A log: checks what it is given, waits until it is open, and delegates to the writer
// and the readers.
// Longer than the others, for one short method per member of a log.

const errors = require('./errors')
const { systemClock } = require('./clock')
const { startBackup } = require('./backup/backup')
const { callAll, callBack, mustBeFunction, optional, promised } = require('./callbacks')
const { format } = require('./format-value')
const { Appending } = require('./appending')
const { NamedCursors } = require('./cursors/named-cursors')
const { logBehind, logs } = require('./log-behind')
const { Opening, Open, Refusing } = require('./log-states')
const { openInMode } = require('./opening')
const { RecordCodec } = require('./record-codec')
const { replaceable } = require('./replaceable')
const { createSince } = require('./since')
const { NextChange } = require('./read/next-change')
const { OpenStreams } = require('./read/open-streams')
const { copyScanOptions, greatestBound } = require('./read/options')
const { BatchStream } = require('./read/batch-stream')
const { Stream } = require('./read/stream')
const { MAX_DEPTH, TurnBudget } = require('./read/turn-budget')
const { scan } = require('./read/scan')
const { Compacting, copyCompactOptions } = require('./space/compacting')
const { del } = require('./space/deletion')
const { search } = require('./read/search')
const { EarlyAppends } = require('./write/early-appends')
const { LargeDeletion } = require('./write/large-deletion')
const { sink } = require('./write/sink')
const { trim } = require('./space/trim')
const { statsOf } = require('./statistics')
const { checkHighWaterMark, DEFAULT_BLOCK_SIZE } = require('./options')

/**
 * @template [T=Buffer]
 * @template [A=T]
 * @typedef {import('./types').FlumeLog<T, A>} FlumeLog
 */

/**
 * @typedef {import('./types').Done} Done
 * @typedef {import('./types').Stats} Stats
 * @typedef {import('./types').Cut} Cut
 * @typedef {import('./types').Count} Count
 * @typedef {import('./types').AppendOptions} AppendOptions
 * @typedef {import('./read/options').StreamOptions} StreamOptions
 */

class Log {
  /**
   * @param {import('./storage/path-file').LogFile} file
   * @param {import('./options').Settings} settings
   * @param {import('./clock').Clock} clock
   */
  constructor (file, settings, clock) {
    this.file = file
    this.filename = file.filename
    this.settings = settings
    /** Bytes of its records in flight beyond which a sink waits; can be changed while the log is open. */
    this.highWaterMark = settings.highWaterMark
    this.since = createSince((cb) => this.nextChange(cb))
    this.codec = new RecordCodec(settings, file.filename, settings.blockSize ?? DEFAULT_BLOCK_SIZE)
    /** What is appended until the log is open; null: it is, or cannot be, or it is read-only. */
    this.early = settings.readOnly ? null : new EarlyAppends(settings, (error) => this.refusedEarly(error))
    /** @type {Opening | Open | Refusing} */
    this.state = new Opening(this.early?.appender ?? null)
    this.appending = new Appending(this)
    this.compacting = new Compacting(this)
    /** Callbacks of `close`; null: it was not called. @type {Done[] | null} */
    this.closing = null
    this.isClosed = false
    /** Null: there are none. @type {import('./cursors/named-cursors').NamedCursors | null} */
    this.namedCursors = null
    this.clock = clock
    /** Null: the log is opened without `large`. @type {import('./write/large-deletion').LargeDeletion | null} */
    this.largeDeletion = null
    /** Calls of `whenOpen` that are on the stack. */
    this.depth = 0
    this.turn = new TurnBudget(clock)
    // while a reader waits for what another process appends, this process is kept alive
    this.streams = new OpenStreams((isWaiting) => this.hold(isWaiting))
    this.whenOpen = this.whenOpen.bind(this)
    this.whenFresh = this.whenFresh.bind(this)
    const log = this
    /** What readers need of the log. */
    this.reading = {
      get blocks () { return /** @type {import('./opening').Opened} */ (log.state.opened).blocks },
      filename: file.filename,
      decode: this.codec.isIdentity ? null : this.codec.decode,
      takesText: this.codec.takesText,
      keepsNoText: this.codec.keepsNoText,
      end: () => this.state.end,
      whenOpen: this.whenFresh,
      streams: this.streams,
      turn: this.turn
    }

    const listeners = {
      onadvance: (/** @type {number} */ seq) => this.advance(seq),
      onblocksize: (/** @type {number} */ blockSize) => { this.codec.blockSize = blockSize },
      onfailure: (/** @type {Error} */ err) => this.fail(err),
      onmoved: (/** @type {import('./space/offset-map').OffsetMap} */ map, /** @type {number} */ lastSeq) => this.compacting.moved(map, lastSeq),
      oncompact: () => this.compacting.compactForOther(),
      onrole: () => this.state.update(),
      onfresh: () => this.state.update()
    }
    openInMode({ file, settings, codec: this.codec, listeners, turn: this.turn, clock })
      .then(({ opened, lastSeq }) => process.nextTick(() => this.open(opened, lastSeq)),
        (err) => process.nextTick(() => this.cannotOpen(err)))
  }

  // Opening

  /**
   * @param {import('./opening').Opened} opened
   * @param {number} lastSeq
   */
  open (opened, lastSeq) {
    const state = new Open(opened, /** @type {Opening} */ (this.state).calls)
    this.state = state
    if (this.settings.large) {
      this.largeDeletion = new LargeDeletion(opened)
    }
    if (opened.writer !== null) this.early?.moveTo(opened.writer, this.codec)
    this.early = null
    // the owner of a shared log may have told more since
    this.since.set(opened.sharing?.lastSeq ?? lastSeq)
    state.release(() => this.refusal)
  }

  /** @param {Error} err */
  cannotOpen (err) {
    const { calls } = /** @type {Opening} */ (this.state)
    this.state = new Refusing(err, null)
    const isReportedToAppend = this.early?.fail(err) ?? false
    this.early = null
    // under flumedb, an append may be given the error while views wait for `since`
    const isReported = calls.length > 0 || this.since.refuse(err) || isReportedToAppend
    // as for a promise that nobody handles
    if (!isReported) process.emitWarning(`a log was not opened: ${err.message}; no call waited for an answer`, { code: 'FLUMELOG_NOT_OPENED' })
    callAll(calls, err)
  }

  /** @param {Error} error of an append without a callback: later calls report it */
  refusedEarly (error) {
    this.state.whenOpen((err) => {
      if (err === null) this.state.opened?.writer?.appender.waiters.refusedSilently(error)
    })
  }

  /** Why no call is made any more. @returns {Error | null} */
  get refusal () {
    return this.state instanceof Refusing ? this.state.error : null
  }

  /**
   * Calls back when the log is open; at once, if it is. A log that cannot be opened,
   * or is closed, gives its error to every call.
   * @param {(err: Error | null) => void} cb
   */
  whenOpen (cb) {
    if (this.depth > MAX_DEPTH) return process.nextTick(this.whenOpen, cb)
    this.depth++
    try {
      this.state.whenOpen(cb)
    } finally {
      this.depth--
    }
  }

  /**
   * Calls back when readers can see all that is known to be in the log: the client of a shared log reads the
   * file only when a reader asks.
   * @param {(err: Error | null) => void} cb
   * @param {number} [seq] of a record that may have been acknowledged to another process
   */
  whenFresh (cb, seq) {
    this.whenOpen((err) => {
      const follower = this.state.opened?.follower ?? null
      if (err || follower === null) cb(err)
      else follower.whenFresh(cb, seq)
    })
  }

  // Following the end of the log

  /** @param {boolean} isWaiting whether streams wait for what another process appends */
  hold (isWaiting) {
    const { sharing = null, follower = null } = this.state.opened ?? {}
    const other = sharing ?? follower
    other?.hold(isWaiting)
  }

  /** @param {number} seq of the last record that readers see */
  advance (seq) {
    if (this.state.opened === null) return
    // a follower may have advanced without finding a record
    if (seq === this.since.value) this.streams.resumeWaiting()
    else this.show(seq)
  }

  /** @param {number} seq of the last record that readers see, which has changed */
  show (seq) {
    this.since.set(seq)
    this.streams.resumeWaiting()
  }

  /** @param {number} seq of the same record in another file, which listeners are told later */
  moveSince (seq) {
    this.since.value = seq
  }

  /** @type {import('./types').Since['next']} */
  nextChange (cb) {
    mustBeFunction('the callback', cb)
    const change = new NextChange(this, cb)
    this.whenOpen((err) => err ? change.finish(err) : change.start())
    return () => change.cancel()
  }

  /** @param {Error} err what a follower has read cannot be relied on */
  fail (err) {
    if (this.state instanceof Opening) return this.state.whenOpen(() => this.fail(err))
    this.state = new Refusing(err, this.state.opened)
    this.streams.fail(err)
  }

  /** @type {FlumeLog['onReady']} */
  onReady (cb) {
    mustBeFunction('the callback', cb)
    this.whenOpen((err) => cb(err, this.state.opened?.cut ?? null))
  }

  /** @param {Done} cb */
  onDrain (cb) {
    mustBeFunction('the callback', cb)
    this.whenWritable(cb, (writer) => writer.drain(cb))
  }

  /** @param {Done} [callback] */
  sync (callback) {
    const cb = optional(callback)
    this.whenWritable(cb, (writer) => writer.sync(cb))
  }

  /**
   * @param {Done | undefined} cb called if the log cannot be opened, is closed, or is read-only, where nothing is to be done
   * @param {(writer: import('./write/writer').Writer | import('./sharing/remote-writer').RemoteWriter) => void} run
   */
  whenWritable (cb, run) {
    this.whenOpen((err) => {
      const writer = this.state.opened?.writer ?? null
      if (err === null && writer !== null) run(writer)
      else if (cb !== undefined) cb(err)
    })
  }

  /**
   * @param {any} options
   * @param {any} [cb]
   * @returns {void}
   */
  compact (options, cb) {
    if (typeof options === 'function') return this.compact({}, options)
    mustBeFunction('the callback', cb)
    const copy = copyCompactOptions(options ?? {})
    this.whenOpen((err) => {
      if (err) cb(err)
      else callBack(this.compacting.compact(copy), cb)
    })
  }

  // Reading

  /**
   * @param {number} seq
   * @param {import('./read/get').GetCallback} cb
   */
  get (seq, cb) {
    mustBeFunction('the callback', cb)
    const { reader } = this.state
    if (reader === null) this.whenReadable(cb, ({ reader }) => reader.get(seq, cb))
    else if (reader.mustWait()) this.turn.postpone(() => this.refusal === null ? reader.get(seq, cb) : cb(this.refusal))
    else reader.get(seq, cb)
  }

  /**
   * @param {number} seq
   * @returns {any} the value of a record in memory; undefined: `get` gives it later, or the error
   * @throws what decoding throws
   */
  getNow (seq) {
    const { reader } = this.state
    return reader === null ? undefined : reader.getNow(seq)
  }

  /**
   * @param {number} seq
   * @param {(err: Error | null, value?: any, seq?: any) => void} cb
   */
  getPrevious (seq, cb) {
    mustBeFunction('the callback', cb)
    if (!Number.isInteger(seq)) return process.nextTick(cb, errors.invalid(`seq must be an integer, the offset of a record or any other; it is ${format(seq)}`))
    this.stream({ lt: seq, reverse: true, limit: 1 })(null, (end, record) => {
      if (end) cb(end === true ? errors.notFound(this.filename, seq, `no record before offset ${seq}`) : end)
      else cb(null, record.value, record.seq)
    })
  }

  /**
   * @param {StreamOptions} [options]
   * @returns {import('./read/source').Source<any>}
   */
  stream (options) {
    return new Stream(this.reading, options ?? {}).source
  }

  /**
   * @param {StreamOptions} [options]
   * @returns {import('./read/source').Source<any[]>}
   */
  batches (options) {
    return new BatchStream(this.reading, options ?? {}).source
  }

  /**
   * @param {import('./read/options').ScanOptions} options
   * @param {import('./types').OnRecord} onRecord
   * @param {(err: Error | null) => void} cb
   */
  scan (options, onRecord, cb) {
    mustBeFunction('onRecord', onRecord)
    mustBeFunction('the callback', cb)
    const { id } = this.compacting
    const copy = copyScanOptions(options)
    this.whenReadable(cb, ({ blocks }) => {
      if (this.compacting.isCompactedSince(id)) return process.nextTick(cb, errors.compacted(this.filename))
      scan(this.reading, copy, onRecord, cb)
    }, greatestBound(copy))
  }

  /**
   * @param {(value: any, seq: number) => number | bigint} compare
   * @param {import('./read/search').SearchCallback} cb
   */
  search (compare, cb) {
    mustBeFunction('the callback', cb)
    this.whenReadable(cb, () => search(this.reading, compare, cb))
  }

  /**
   * @param {(err: Error) => void} cb called if the log cannot be opened, or is closed
   * @param {(opened: import('./opening').Opened) => void} run
   * @param {number} [seq] of a record that may have been acknowledged to another process
   */
  whenReadable (cb, run, seq) {
    const whenOpen = () => this.whenFresh((err) => {
      if (err) cb(err)
      else run(/** @type {import('./opening').Opened} */ (this.state.opened))
    }, seq)
    if (this.state.reader !== null && this.turn.isSpent()) this.turn.defer(whenOpen)
    else whenOpen()
  }

  /**
   * @param {any} options
   * @param {any} [cb]
   */
  sink (options, cb) {
    return typeof options === 'function' ? sink(this, {}, options) : sink(this, options ?? {}, cb)
  }

  /** The named cursors of the log. */
  get cursors () {
    this.namedCursors ??= new NamedCursors(this, this.clock)
    return this.namedCursors
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
    const finish = (/** @type {Error | null} */ err) => process.nextTick(() => {
      this.isClosed = true
      callAll(/** @type {Done[]} */ (this.closing), err)
    })
    const start = () => this.closeOpened().then(() => finish(null), finish)
    if (this.state instanceof Refusing) start()
    else this.state.whenOpen(start)
  }

  /** Everything called before is done, and then refused: reads and deletions first, then cursors, the writer, readers, the file. */
  async closeOpened () {
    const { opened } = this.state
    const { sharing = null, writer = null } = opened ?? {}
    const { largeDeletion, namedCursors } = this
    // a client's calls may wait until it has read the end of the log, and deletions until they have found all chunks
    while (!(this.state instanceof Refusing) && (sharing?.hasReads || largeDeletion?.pending.size)) {
      if (sharing?.hasReads) await promised(cb => sharing.whenRead(cb))
      else await Promise.allSettled(largeDeletion?.pending ?? [])
    }
    // reads that were deferred come before the close
    this.turn.flush()
    this.state = new Refusing(errors.closed(this.filename), opened)
    await promised(cb => this.compacting.stop(errors.closed(this.filename), () => cb()))
    if (opened === null) return
    /** @type {Error | null} */
    let failure = null
    const attempt = (/** @type {(cb: (err?: any) => void) => void} */ close) => promised(close).catch(err => { failure ??= err })
    if (namedCursors !== null) await attempt(cb => namedCursors.close(cb))
    if (sharing !== null) await sharing.close().catch(err => { failure ??= err })
    else if (writer !== null) await attempt(cb => writer.close(cb))
    opened.follower?.close()
    // it may have another file open, to which the log was compacted
    await opened.follower?.stop()
    opened.blocks.closed = true
    this.compacting.close()
    this.streams.close()
    await this.file.io.close().catch(err => { failure ??= err })
    if (failure !== null) throw failure
  }
}

function noop () {}

/**
 * Opens a log.
 * @param {import('./storage/path-file').LogFile} file
 * @param {import('./options').Settings} settings
 * @param {import('./clock').Clock} [clock]
 * @returns {FlumeLog<any>} the members that callers have: ordinary properties, which may be called by themselves
 */
function createLog (file, settings, clock = systemClock) {
  const log = new Log(file, settings, clock)
  /** @type {Omit<FlumeLog<any>, 'blockSize' | 'id' | 'methods' | 'start' | 'role' | 'highWaterMark'>} */
  const members = {
    filename: log.filename,
    codec: settings.codec,
    since: log.since,
    append: (/** @type {any} */ value, /** @type {any} */ options, /** @type {any} */ cb = undefined) => log.appending.append(value, options, cb),
    get: (seq, cb) => log.get(seq, cb),
    getPrevious: (seq, cb) => log.getPrevious(seq, cb),
    stream: (/** @type {StreamOptions | undefined} */ options) => log.stream(options),
    batches: (/** @type {StreamOptions | undefined} */ options) => log.batches(options),
    scan: (options, onRecord, cb) => log.scan(options, onRecord, cb),
    search: (compare, cb) => log.search(compare, cb),
    sink: (options, cb) => log.sink(options, cb),
    del: (seqs, cb) => del(log, seqs, cb),
    compact: (/** @type {any} */ options, /** @type {any} */ cb = undefined) => log.compact(options, cb),
    onCompact: (listener) => log.compacting.onCompact(listener),
    trim: (options, cb) => trim(log, options, cb),
    cursor: (name, /** @type {any} */ options = undefined) => log.cursors.get(name, options),
    cursors: (cb) => log.cursors.list(cb),
    // loaded then: few programs make backups
    backup: (/** @type {string} */ target, /** @type {any} */ options, /** @type {any} */ cb = undefined) => startBackup(log, target, options, cb),
    onReady: (cb) => log.onReady(cb),
    onDrain: (cb) => log.onDrain(cb),
    sync: (cb) => log.sync(cb),
    close: (cb) => log.close(cb),
    stats: () => statsOf(log.file, log.state.opened, log.state.appender, log.streams.size)
  }
  logs.set(members, log)
  // `get` and `set` in the literal would make V8 look up every member of the log in a table, at each use
  return /** @type {FlumeLog<any>} */ (Object.defineProperties(members, {
    blockSize: replaceable('blockSize', () => log.codec.blockSize),
    id: replaceable('id', () => log.compacting.id),
    methods: replaceable('methods', () => log.compacting.methods()),
    start: replaceable('start', () => log.state.opened?.blocks.start ?? 0),
    role: replaceable('role', () => log.state.opened?.sharing?.role ?? null),
    highWaterMark: { enumerable: true, configurable: true, get: () => log.highWaterMark, set: (bytes) => { log.highWaterMark = checkHighWaterMark(bytes) } }
  }))
}

module.exports = { createLog, logBehind, Log }
