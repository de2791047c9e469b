'use strict'

// The records of an open log, by the offsets that callers know: these start at 0 after each compaction, as jitdb needs them (32 bits).
// They are the log's seqs less `shift`.

const errors = require('./errors')
const { layout } = require('flumelog-random-access-file/blocks')

/** @typedef {import('./store').AnyCallback} AnyCallback */

class Records {
  /**
   * @param {import('./store').Store} store
   * @param {import('flumelog-random-access-file/parts').DirectLog} log
   */
  constructor (store, log) {
    this.store = store
    this.log = log
    /** See above. */
    this.shift = log.base
    // at once: other records will have the offsets that were given away
    this.onwritten = (/** @type {Error | null} */ err) => { if (err) store.fail(err) }
  }

  /** Offset of the last record, -1 if there is none. It is that since a compaction as soon as that has moved the records. */
  get lastOffset () {
    const { lastSeq, base } = this.log
    return lastSeq === -1 ? -1 : lastSeq - base
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
    return this.log.bytesOf(data)
  }

  /**
   * The same for one that is stored by itself.
   * @param {any} data
   * @returns {Uint8Array}
   * @throws flumelog:invalid, flumelog:too-large
   */
  checked (data) {
    const bytes = this.bytesOf(data)
    if (bytes.length > layout.maxRecordSize(this.log.blockSize, this.log.checksum)) throw errors.tooLarge()
    return bytes
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {Error | null}
   */
  problemTogether (batch) {
    try {
      this.log.assertFitTogether(batch)
      return null
    } catch {
      return errors.tooLarge()
    }
  }

  /**
   * @param {Uint8Array} data
   * @returns {number} its seq
   */
  append (data) {
    return this.log.append(data, this.onwritten)
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {number[]} their seqs
   */
  appendTransaction (batch) {
    return this.log.appendAtomic(batch, this.onwritten)
  }

  // Reading

  /** The offset after the last record, for `get`. */
  get size () {
    return this.log.appendedEnd - this.shift
  }

  /**
   * @param {number} offset
   * @returns {Error | null} why no record can be there
   */
  problemOf (offset) {
    if (typeof offset !== 'number' || !Number.isInteger(offset)) return errors.notANumber(offset)
    if (offset < 0) return errors.negative(offset)
    return offset >= this.size ? errors.outOfBounds(offset, this.size) : null
  }

  /**
   * @param {number} offset
   * @returns {Buffer | null} what is in memory, without anything that could be done once for several: jitdb and ssb-db2 get one after
   *   the other. Null: `get` finds it, or the error
   */
  dataNow (offset) {
    const { store, log } = this
    const isPlain = typeof offset === 'number' && store.failure === null && this.shift === log.base && store.deletions.pending.size === 0
    return isPlain ? log.getNow(offset + this.shift) : null
  }

  /**
   * @param {number} offset
   * @param {AnyCallback} cb
   */
  get (offset, cb) {
    const problem = this.problemOf(offset)
    if (problem !== null) return cb(problem)
    const seq = this.moved(offset + this.shift)
    if (seq === null || this.store.deletions.isPending(seq)) return cb(errors.deleted())
    if (seq >= this.log.end) return this.getUnacknowledged(seq, offset, cb)
    this.getAcknowledged(seq, offset, cb)
  }

  /**
   * @param {number} seq
   * @param {number} offset
   * @param {AnyCallback} cb
   */
  getAcknowledged (seq, offset, cb) {
    const { log } = this
    const { base } = log
    // at once if it is in memory: jitdb relies on that
    log.get(seq, (/** @type {any} */ err, /** @type {any} */ data) => {
      if (!err) return cb(null, data)
      if (err.code !== 'flumelog:trimmed' || log.base === base) return cb(this.translated(err, offset))
      // a compaction has moved it while it was read
      const now = log.movedTo(seq)
      if (now === null) cb(errors.deleted())
      else this.getAcknowledged(now, offset, cb)
    })
  }

  /**
   * @param {number} seq
   * @param {number} offset
   * @param {AnyCallback} cb
   */
  getUnacknowledged (seq, offset, cb) {
    const data = this.log.getUnacknowledged(seq)
    if (data === null) cb(errors.noRecord(offset))
    else cb(null, data)
  }

  /**
   * A compaction has moved the records, and its caller does not know yet.
   * @param {number} seq
   * @returns {number | null} where the record is; null: it is gone
   */
  moved (seq) {
    return this.shift === this.log.base ? seq : this.log.movedTo(seq)
  }

  /**
   * @param {any} err of the log
   * @param {number} offset
   */
  translated (err, offset) {
    if (err.code === 'flumelog:deleted') return errors.deleted()
    return err.code === 'flumelog:not-found' ? errors.noRecord(offset) : err
  }
}

module.exports = { Records }
