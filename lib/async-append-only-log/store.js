'use strict'

// A file behind this interface: one log, and what async-append-only-log adds to it, for all instances in this process that
// have it open. Callers' offsets start at 0 after each compaction, as jitdb needs them (32 bits): they are the log's seqs less `shift`.

const fs = require('fs')
const errors = require('../errors')
const { callAll } = require('../callbacks')
const { createLog, logBehind } = require('../log')
const { settingsOf } = require('../options')
const { pathFile } = require('../storage/path-file')
const layout = require('../format/layout')
const { Compaction } = require('./compaction')
const { Deletions } = require('./deletions')
const { isNothingAt, prepareFile } = require('./old-log')

/** Of the cache: a log that fits is kept, since jitdb and ssb-db2 read all of it, again and again; of a larger one, this much. */
const SEQUENTIAL_SHARE = 0.95
/** Answers within each other's callbacks, until the next gets a new stack. */
const MAX_DEPTH = 64

/**
 * @typedef {import('./types').Done} Done
 * @typedef {(err: import('../errors').CallbackError | null, ...results: any) => void} AnyCallback
 */

class Store {
  /**
   * @param {string} filename
   * @param {import('./types').Options<any>} options
   * @param {Promise<unknown> | null} before to be awaited
   * @param {() => void} onclosed
   */
  constructor (filename, options, before, onclosed) {
    const { validateRecord, cacheSize, sync, blockSize: wanted = layout.MAX_BLOCK_SIZE } = options
    /** In bytes, of a new file. */
    this.newBlockSize = Math.min(Math.max(wanted, layout.MIN_BLOCK_SIZE), layout.MAX_BLOCK_SIZE)
    this.filename = filename
    this.settings = { ...settingsOf({ blockSize: this.newBlockSize, validate: validateRecord, cacheSize, sync }), holes: false, sequentialShare: SEQUENTIAL_SHARE }
    this.onclosed = onclosed
    /** Those who have it open. @type {Set<import('./instance').Instance>} */
    this.instances = new Set()
    /** Calls that wait until the log is open. @type {Array<() => void>} */
    this.waiting = []
    /** Whether it is open, or could not be opened. */
    this.isOpened = false
    /** Whether there is no log yet: a stream that is not live ends before it is created and locked. The migration of ssb-db2 relies on that being quick. */
    this.isNew = before === null && isNothingAt(filename)
    /** Whether appends wait for that. */
    this.hasEarlyAppends = false
    /** Why no calls are made any more. @type {Error | null} */
    this.failure = null
    /** @type {import('../types').FlumeLog<any> | null} */
    this.log = null
    /** See above. */
    this.shift = 0
    // what is behind the log's members, while it is open: looked up once, since every call uses it
    this.internals = /** @type {import('../log').Log} */ (/** @type {unknown} */ (null))
    this.opened = /** @type {import('../opening').Opened} */ (/** @type {unknown} */ (null))
    this.blocks = /** @type {import('../read/block-cache').BlockCache} */ (/** @type {unknown} */ (null))
    this.reader = /** @type {import('../read/get').RecordReader} */ (/** @type {unknown} */ (null))
    this.writer = /** @type {import('../write/writer').Writer} */ (/** @type {unknown} */ (null))
    /** @type {Promise<unknown> | null} */
    this.closing = null
    this.deletions = new Deletions(this)
    this.compaction = new Compaction(this)
    this.open(options, before).catch(err => this.fail(err)).then(() => this.callWaiting())
  }

  // Opening

  /**
   * @param {import('./types').Options<any>} options
   * @param {Promise<unknown> | null} before
   */
  async open (options, before) {
    await before
    await prepareFile(this.filename, options, this.newBlockSize)
    const log = createLog(pathFile(this.filename, this.settings), this.settings)
    await new Promise((resolve, reject) => log.onReady(err => err ? reject(err) : resolve(null)))
    this.log = log
    this.internals = /** @type {import('../log').Log} */ (logBehind(log))
    this.opened = /** @type {import('../opening').Opened} */ (this.internals.state.opened)
    this.blocks = this.opened.blocks
    this.reader = this.opened.reader
    this.writer = /** @type {import('../write/writer').Writer} */ (this.opened.writer)
    this.shift = this.blocks.base
  }

  callWaiting () {
    this.isOpened = true
    if (this.failure === null) {
      for (const instance of this.instances) instance.progress.open(this.lastOffset)
      this.compaction.open()
    }
    // what these call is not put behind the others, as with async-append-only-log
    while (this.waiting.length > 0) callAll(this.waiting.splice(0, 1), undefined)
  }

  get blockSize () {
    return this.log?.blockSize ?? this.newBlockSize
  }

  /** Offset of the last record, -1 if there is none. */
  get lastOffset () {
    return this.offsetOf(this.writer.appender.lastSeq)
  }

  /** Whether an append need not wait. */
  get takesAppends () {
    return this.isOpened && this.failure === null && !this.compaction.isRunning
  }

  /** @param {number} seq */
  offsetOf (seq) {
    return seq === -1 ? -1 : seq - this.shift
  }

  /** Whether the path leads to the open file. */
  isAtItsPath () {
    if (this.log === null) return true
    try {
      const { dev, ino } = this.internals.file.status()
      const found = fs.statSync(this.filename)
      return found.dev === dev && found.ino === ino
    } catch {
      return false
    }
  }

  /**
   * @param {AnyCallback} cb called if the log cannot be used
   * @param {() => void} run
   */
  whenOpen (cb, run) {
    if (!this.isOpened) this.waiting.push(() => this.whenUsable(cb, run))
    else this.whenUsable(cb, run)
  }

  /**
   * @param {AnyCallback} cb
   * @param {() => void} run
   */
  whenUsable (cb, run) {
    if (this.failure === null) run()
    else process.nextTick(cb, this.failure)
  }

  /**
   * @param {AnyCallback} cb called if the log cannot be used
   * @param {() => void} run when the log is open, and not being compacted
   */
  whenAppendable (cb, run) {
    if (!this.isOpened) this.hasEarlyAppends = true
    this.whenOpen(cb, () => this.compaction.isRunning ? this.compaction.queue.push(() => this.whenAppendable(cb, run)) : run())
  }

  /** @param {import('./instance').Instance} instance */
  add (instance) {
    this.instances.add(instance)
    if (this.isOpened && this.failure === null) instance.progress.open(this.lastOffset)
  }

  // Appending

  /**
   * @param {any} data what a codec has made
   * @returns {Uint8Array}
   * @throws flumelog:invalid if it cannot be a record
   */
  bytesOf (data) {
    return this.internals.records.checked(typeof data === 'string' ? Buffer.from(data) : data)
  }

  /**
   * The same for one that is stored by itself.
   * @param {any} data
   * @returns {Uint8Array}
   * @throws flumelog:invalid, flumelog:too-large
   */
  checked (data) {
    const bytes = this.bytesOf(data)
    if (bytes.length > layout.maxRecordSize(this.blockSize, this.settings.checksum)) throw errors.aaolTooLarge()
    return bytes
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {Error | null}
   */
  problemTogether (batch) {
    try {
      this.internals.records.fittingTogether(batch)
      return null
    } catch {
      return errors.aaolTooLarge()
    }
  }

  /**
   * @param {Uint8Array} data
   * @returns {number} its seq
   */
  append (data) {
    return this.writer.appender.appendNow(data)
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {number[]} their seqs
   */
  appendTransaction (batch) {
    return this.writer.appender.appendAtomicNow(batch)
  }

  // Reading

  /** The offset after the last record, for `get`. */
  get size () {
    return this.writer.packer.end - this.shift
  }

  /**
   * @param {number} offset
   * @returns {Error | null} why no record can be there
   */
  problemOf (offset) {
    if (typeof offset !== 'number' || !Number.isInteger(offset)) return errors.aaolNotANumber(offset)
    if (offset < 0) return errors.aaolNegative(offset)
    return offset >= this.size ? errors.aaolOutOfBounds(offset, this.size) : null
  }

  /**
   * @param {number} offset
   * @returns {Buffer | null} what is in memory, without anything that could be done once for several: jitdb and ssb-db2 get one after
   *   the other. Null: `get` finds it, or the error
   */
  dataNow (offset) {
    const { log, reader, blocks } = this
    const isPlain = log !== null && this.failure === null && this.shift === blocks.base && this.deletions.pending.size === 0
    return isPlain && reader.depth <= MAX_DEPTH ? reader.dataNow(offset + this.shift) : null
  }

  /**
   * @param {number} offset
   * @param {AnyCallback} cb
   */
  get (offset, cb) {
    const problem = this.problemOf(offset)
    if (problem !== null) return cb(problem)
    const seq = this.moved(offset + this.shift)
    if (seq === null || this.deletions.isPending(seq)) return cb(errors.aaolDeleted())
    if (seq >= this.blocks.end) return this.getUnacknowledged(seq, offset, cb)
    const { reader } = this
    const answer = (/** @type {any} */ err, /** @type {any} */ data) => err ? cb(this.translated(err, offset)) : cb(null, data)
    // at once if it is in memory, however many were asked for before: jitdb relies on that
    if (reader.depth > MAX_DEPTH) process.nextTick(() => reader.get(seq, answer))
    else reader.get(seq, answer)
  }

  /**
   * @param {any} value of a record that was in memory
   * @param {AnyCallback} cb
   */
  answer (value, cb) {
    const { reader } = this
    reader.depth++
    try {
      cb(null, value)
    } finally {
      reader.depth--
    }
  }

  /**
   * @param {number} seq
   * @param {number} offset
   * @param {AnyCallback} cb
   */
  getUnacknowledged (seq, offset, cb) {
    const data = this.writer.packer.unacknowledgedAt(seq)
    if (data === null) cb(errors.aaolNoRecord(offset))
    else cb(null, data)
  }

  /**
   * A compaction has moved the records, and its caller does not know yet.
   * @param {number} seq
   * @returns {number | null} where the record is; null: it is gone
   */
  moved (seq) {
    const { map } = this.internals.compacting
    return this.shift === this.blocks.base || map === null ? seq : map.at(seq)
  }

  /**
   * @param {any} err of the log
   * @param {number} offset
   */
  translated (err, offset) {
    if (err.code === 'flumelog:deleted') return errors.aaolDeleted()
    return err.code === 'flumelog:not-found' ? errors.aaolNoRecord(offset) : err
  }

  /**
   * @param {number} offset
   * @param {Done} cb
   */
  del (offset, cb) {
    if (this.compaction.isRunning) return cb(errors.aaolCompacting())
    const problem = this.problemOf(offset)
    if (problem !== null) cb(problem)
    // what is not stored is not deleted
    else if (this.isUnstored(offset)) this.drainAll((err) => err ? cb(err) : this.del(offset, cb))
    else this.deletions.del(offset + this.shift, offset, cb)
  }

  /** Of all instances. @returns {import('./stream').Stream[]} */
  get streams () {
    return [...this.instances].flatMap(({ streams }) => [...streams])
  }

  /** Whether all that was appended is stored. */
  get isDrained () {
    return [...this.instances].every(({ progress }) => progress.isDrained)
  }

  /** @param {number} offset */
  isUnstored (offset) {
    for (const { progress } of this.instances) if (!progress.isDrained && offset > (progress.since.value ?? -1)) return true
    return false
  }

  /** @param {Done} cb called when all that any of them has appended is stored */
  drainAll (cb) {
    const next = [...this.instances].find(({ progress }) => !progress.isDrained)
    if (next === undefined) cb(null)
    else next.progress.onDrain((err) => err ? cb(err) : this.drainAll(cb))
  }

  // Ends

  /**
   * What was called back at once is not stored: as with async-append-only-log, this is thrown where nobody can catch it, unless a
   * callback waits for it.
   * @param {Error} err
   */
  fail (err) {
    if (this.failure !== null) return
    this.failure = err
    let isTold = false
    for (const { progress } of this.instances) if (progress.fail(err)) isTold = true
    this.compaction.fail(err)
    for (const stream of this.streams) stream.fail(err)
    if (!isTold && this.log !== null) process.nextTick(() => { throw err })
  }

  /**
   * The last one closes the log.
   * @param {import('./instance').Instance} instance
   * @param {Done} cb
   */
  release (instance, cb) {
    this.instances.delete(instance)
    if (this.instances.size > 0) cb(null)
    else this.close().then(err => cb(err))
  }

  /** @returns {Promise<Error | null>} resolves when the log is closed */
  close () {
    this.closing ??= this.closeLog()
    return /** @type {Promise<Error | null>} */ (this.closing)
  }

  get isClosing () {
    return this.closing !== null
  }

  async closeLog () {
    if (!this.isOpened) await new Promise(resolve => this.waiting.push(() => resolve(null)))
    const { failure, log } = this
    this.deletions.close()
    this.failure ??= errors.closed(this.filename)
    /** @type {Error | null} */
    let err = failure
    if (log !== null) err = await new Promise(resolve => log.close(err => resolve(failure ?? err ?? null)))
    this.onclosed()
    return err
  }
}

module.exports = { Store }
