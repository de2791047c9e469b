'use strict'

// A log for a program that keeps an index of its own, and reads record by record: appends return seqs, and reads are answered in the call itself
// where the record is in memory.

const { createLog, logBehind } = require('../log')
const { settingsOf } = require('../options')
const { openRecordCursor } = require('../read/record-cursor')
const { MAX_DEPTH } = require('../read/turn-budget')
const { pathFile } = require('../storage/path-file')

/** Of the cache: a log that fits is kept, since it is read again and again; of a larger one, this much. */
const SEQUENTIAL_SHARE = 0.95

/**
 * @typedef {import('../errors').CallbackError} CallbackError
 * @typedef {(err: CallbackError | null, data: any) => void} GetCallback
 * @typedef {(err: Error | null) => void} AppendCallback called when it is written, or with the error if it is not: its seq is that of another record then
 * @typedef {import('../read/cursor').Cursor} Cursor
 */

class DirectLog {
  #log
  #blocks
  #reader
  #writer

  /**
   * @param {string} filename a path; missing parent directories are created
   * @param {import('../options').Options<any>} options of a log that this process alone writes. Deleted records are never dropped before a compaction
   * @returns {Promise<DirectLog>} rejects if the log cannot be opened
   */
  static async open (filename, options) {
    const settings = { ...settingsOf(options), holes: false, sequentialShare: SEQUENTIAL_SHARE }
    const log = createLog(pathFile(filename, settings), settings)
    await new Promise((resolve, reject) => log.onReady(err => err ? reject(err) : resolve(null)))
    return new DirectLog(log, logBehind(log))
  }

  /**
   * @param {import('../types').FlumeLog<any>} members
   * @param {any} internals what is behind it
   */
  constructor (members, internals) {
    const log = /** @type {import('../log').Log} */ (internals)
    const { blocks, reader, writer } = /** @type {import('../opening').Opened} */ (log.state.opened)
    this.log = members
    this.#log = log
    this.#blocks = blocks
    this.#reader = reader
    this.#writer = /** @type {import('../write/writer').Writer} */ (writer)
    this.blockSize = blocks.blockSize
    this.checksum = blocks.checksum
  }

  // Where the log is

  /** Offset at which the first record since the last compaction was put; 0 if there was none. */
  get base () {
    return this.#blocks.base
  }

  /** Offset after the last acknowledged record. */
  get end () {
    return this.#blocks.end
  }

  /** Offset after the last appended record. */
  get appendedEnd () {
    return this.#writer.packer.end
  }

  /** Of the last acknowledged record; -1: none. */
  get lastSeq () {
    return this.#writer.appender.lastSeq
  }

  /** Bytes that a compaction in progress has written; 0: none is. */
  get compactedBytes () {
    const { current } = this.#log.compacting
    return current === null ? 0 : current.compaction.target.end - current.compaction.base
  }

  /** Of the open file. @returns {{ dev: number, ino: number, mtimeMs: number, ctimeMs: number }} */
  status () {
    return this.#log.file.status()
  }

  // Appending

  /** Why no appends are accepted any more; null: they are. */
  get refusal () {
    return this.#writer.appender.refusal
  }

  get #appender () {
    if (this.refusal !== null) throw this.refusal
    return this.#writer.appender
  }

  /**
   * @param {any} data
   * @returns {Uint8Array} what is stored
   * @throws flumelog:invalid if it cannot be a record
   */
  bytesOf (data) {
    return this.#log.codec.checked(data)
  }

  /**
   * @param {Uint8Array[]} batch
   * @throws flumelog:too-large if they do not fit into a block together
   */
  assertFitTogether (batch) {
    this.#log.codec.fittingTogether(batch)
  }

  /**
   * @param {Uint8Array} data what `bytesOf` has given; it is copied
   * @param {AppendCallback} [cb]
   * @returns {number} its seq. `log.sync` and `log.onDrain` tell when it is stored
   * @throws flumelog:too-large if it does not fit into a block, or why nothing is accepted any more
   */
  append (data, cb) {
    return this.#appender.append(this.#log.codec.fittingStored(data), false, cb)
  }

  /**
   * @param {Uint8Array[]} batch that fits into a block: after a crash, all are in the log or none
   * @param {AppendCallback} [cb]
   * @returns {number[]} their seqs
   * @throws why nothing is accepted any more
   */
  appendAtomic (batch, cb) {
    return this.#appender.appendAtomic(batch, false, cb)
  }

  // Reading

  /**
   * @param {number} seq
   * @returns {Buffer | null} null: it is not in memory, not acknowledged, deleted, or no record, or too many callbacks are in each other; `get` says
   */
  getNow (seq) {
    return this.#reader.depth <= MAX_DEPTH ? this.#reader.dataNow(seq) : null
  }

  /**
   * Answers a read that `getNow` has done, and counts the callbacks that are in each other.
   * @template T
   * @param {T} value
   * @param {(err: null, value: T) => void} cb
   */
  answer (value, cb) {
    this.#reader.depth++
    try {
      cb(null, value)
    } finally {
      this.#reader.depth--
    }
  }

  /**
   * @param {number} seq of an acknowledged record
   * @param {GetCallback} cb called at once if the record is in memory
   */
  get (seq, cb) {
    // however many were asked for before
    if (this.#reader.depth > MAX_DEPTH) process.nextTick(() => this.#reader.get(seq, cb))
    else this.#reader.get(seq, cb)
  }

  /**
   * @param {number} seq of a record that is not acknowledged
   * @returns {Buffer | null} null: there is none
   */
  getUnacknowledged (seq) {
    return this.#writer.packer.unacknowledgedAt(seq)
  }

  /**
   * @param {number} seq from before the last compaction
   * @returns {number | null} the seq since; null: the record is gone. The same seq if there was no compaction
   */
  movedTo (seq) {
    const { map } = this.#log.compacting
    return map === null ? seq : map.at(seq)
  }

  /**
   * @param {{ min: number, max: number }} range seqs, inclusive
   * @param {() => void} onready called when a block that `next` waits for is there
   * @returns {Cursor} over acknowledged records, deleted ones too
   */
  cursor ({ min, max }, onready) {
    return openRecordCursor(this.#blocks, { min, max, reverse: false, useCache: true, fromStart: false }, onready)
  }

  /** Whether a reader has used its share of this turn of the event loop: it goes on with `deferRead`. */
  mustYield () {
    return this.#log.turn.checkTime()
  }

  /** @param {() => void} run */
  deferRead (run) {
    this.#log.turn.defer(run)
  }
}

module.exports = { DirectLog }
