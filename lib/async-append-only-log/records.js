'use strict'

// The records of an open log, by the offsets that callers know: these start at 0 after each compaction, as jitdb needs them (32 bits).
// They are the log's seqs less `shift`.

const errors = require('../errors')
const { logBehind } = require('../log')
const layout = require('../format/layout')

/** Answers within each other's callbacks, until the next gets a new stack. */
const MAX_DEPTH = 64

/** @typedef {import('./store').AnyCallback} AnyCallback */

class Records {
  /**
   * @param {import('./store').Store} store
   * @param {import('../types').FlumeLog<any>} log that is open
   */
  constructor (store, log) {
    this.store = store
    // what is behind the log's members: looked up once, since every call uses it
    this.internals = /** @type {import('../log').Log} */ (logBehind(log))
    const { blocks, reader, writer } = /** @type {import('../opening').Opened} */ (this.internals.state.opened)
    this.blocks = blocks
    this.reader = reader
    this.writer = /** @type {import('../write/writer').Writer} */ (writer)
    /** See above. */
    this.shift = blocks.base
  }

  /** Offset of the last record, -1 if there is none. */
  get lastOffset () {
    return this.offsetOf(this.writer.appender.lastSeq)
  }

  /** @param {number} seq */
  offsetOf (seq) {
    return seq === -1 ? -1 : seq - this.shift
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
    if (bytes.length > layout.maxRecordSize(this.blocks.blockSize, this.blocks.checksum)) throw errors.aaolTooLarge()
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
    const { store, reader, blocks } = this
    const isPlain = store.failure === null && this.shift === blocks.base && store.deletions.pending.size === 0
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
    if (seq === null || this.store.deletions.isPending(seq)) return cb(errors.aaolDeleted())
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
}

module.exports = { Records }
