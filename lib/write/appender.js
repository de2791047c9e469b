'use strict'

// Accepts appends: packs their records in memory at once, counts them, and keeps their
// callbacks until the writer has stored them. No I/O.

const errors = require('../errors')
const { sizeOf } = require('../storage/buffers')
const { FRAME_SIZE } = require('../format/layout')
const { Waiters } = require('./waiters')

/**
 * @typedef {import('./commit-group').Appended} Appended
 * @typedef {import('./commit-group').CommitGroup} CommitGroup
 * @typedef {{ records: number, bytes: number }} Count
 *
 * @typedef {object} RecordPacker where records are put: into blocks (packer.js), or into what is sent to another process
 * @property {object | null} filling what is being filled
 * @property {number} end grows with every record
 * @property {(data: Uint8Array) => number} add returns the record's seq
 * @property {(text: string) => number} addText returns its bytes; 0: nothing was added, `add` has to be used
 * @property {(batch: Uint8Array[]) => number[]} addAtomic returns their seqs
 * @property {(bytes: number) => void} reserve the records that follow, of so many bytes with their lengths, belong together
 */

/** @template {RecordPacker} [P=RecordPacker] */
class Appender {
  /**
   * @param {P} packer
   * @param {string} filename for messages
   * @param {number} lastSeq the last record's, -1 if there is none
   * @param {() => void} onaccepted there is something to be stored
   */
  constructor (packer, filename, lastSeq, onaccepted) {
    this.packer = packer
    this.waiters = new Waiters()
    this.filename = filename
    this.onaccepted = onaccepted
    /** The seq of the last acknowledged record. */
    this.lastSeq = lastSeq
    /** The offset after the last append that asked to be synced; -1: none has. */
    this.syncTo = -1
    /** Why nothing is accepted any more. @type {Error | null} */
    this.refusal = null
    this.counts = {
      appended: { records: 0, bytes: 0 },
      written: { records: 0, bytes: 0 },
      inFlight: { records: 0, bytes: 0 },
      writes: 0,
      syncs: 0
    }
  }

  /**
   * Another file has taken the log's place.
   * @param {number} acknowledged offset up to which records are acknowledged
   * @param {number} lastSeq the seq of the last one of these there
   * @param {number} distance by which records have moved that are not acknowledged
   * @param {(offset: number) => number} moveOffset where an offset is there at which records end
   */
  moveTo (acknowledged, lastSeq, distance, moveOffset) {
    const { lastSeq: before, syncTo } = this
    this.waiters.move(moveOffset, (seq) => seq <= before ? lastSeq : seq + distance)
    this.lastSeq = lastSeq
    this.syncTo = syncTo > acknowledged ? moveOffset(syncTo) : -1
  }

  /**
   * @param {Uint8Array} data a record; the caller has made sure it is storable and not too large
   * @param {boolean} sync acknowledge it only when it is durable
   * @param {Appended | undefined} cb
   * @returns {number} its seq, unless a compaction moves it; -1 if it is refused
   */
  append (data, sync, cb) {
    if (this.refusal !== null) return this.refuse(cb)
    const seq = this.pack(data)
    this.accept(seq, 1, data.length, sync, cb)
    return seq
  }

  /**
   * The same for a string, which is stored as UTF-8: it is written into the block without a copy.
   * @param {string} text
   * @param {boolean} sync
   * @param {Appended | undefined} cb
   */
  appendText (text, sync, cb) {
    // how many bytes it has is known when it is packed
    const seq = this.packer.end
    const bytes = this.refusal !== null ? 0 : this.packer.addText(text)
    if (bytes === 0) this.append(Buffer.from(text), sync, cb)
    else this.accept(seq, 1, bytes, sync, cb)
  }

  /**
   * @param {Uint8Array[]} batch as for append; they are stored one after the other
   * @param {boolean} sync
   * @param {Appended | undefined} cb
   */
  appendBatch (batch, sync, cb) {
    if (this.refusal !== null) {
      this.refuse(cb)
      return
    }
    const bytes = sizeOf(batch)
    const { filling } = this.packer
    this.packer.reserve(bytes + batch.length * FRAME_SIZE)
    if (this.packer.filling !== filling) this.waiters.endGroup()
    let seq = this.lastAppended
    for (const data of batch) seq = this.pack(data)
    this.accept(seq, batch.length, bytes, sync, cb)
  }

  /**
   * A batch of which all or nothing survives a crash (see `addAtomic` of the packer).
   * @param {Uint8Array[]} batch as for append; the caller has made sure that it fits a block
   * @param {boolean} sync
   * @param {((err: Error | null, seqs?: number[]) => void) | undefined} cb
   * @returns {number[]} their seqs, unless a compaction moves them; none if they are refused
   */
  appendAtomic (batch, sync, cb) {
    const bytes = sizeOf(batch)
    /** @type {number[]} */
    let seqs = []
    const answer = cb && ((/** @type {Error | null} */ err, last = -1) => err ? cb(err) : cb(null, endingAt(seqs, last)))
    if (this.refusal !== null) this.refuse(answer)
    else if (batch.length === 0) this.appendBatch(batch, sync, answer)
    else {
      this.packer.reserve(bytes + batch.length * FRAME_SIZE)
      seqs = this.packer.addAtomic(batch)
      this.waiters.endGroup()
      this.accept(seqs[seqs.length - 1], batch.length, bytes, sync, answer)
      this.waiters.endGroup()
    }
    return seqs
  }

  /**
   * Appends a batch if it would follow the record at an offset.
   * @param {number} after the seq that the log's last record must have, of those in flight too; -1: there must be none
   * @param {Uint8Array[]} batch at least one record
   * @param {boolean} sync
   * @param {boolean} isAtomic
   * @param {((err: Error | null, result?: any) => void) | undefined} cb given what `appendBatch` or `appendAtomic` gives
   */
  appendAfter (after, batch, sync, isAtomic, cb) {
    if (this.refusal === null && this.lastAppended !== after) {
      // the call that reports the error may come before the last record is stored
      if (cb === undefined) this.reject(errors.conflict(this.filename, after, this.lastAppended), cb)
      else this.whenLastIsStored(err => cb(err ?? errors.conflict(this.filename, after, this.lastSeq)))
    } else if (isAtomic) this.appendAtomic(batch, sync, cb)
    else this.appendBatch(batch, sync, cb)
  }

  /**
   * For a conditional append that is refused: its caller is told when readers see the record because of which it is, in the order of the calls.
   * @param {(err: Error | null) => void} cb given the error for which that one is not stored
   */
  whenLastIsStored (cb) {
    this.accept(this.lastAppended, 0, 0, false, cb)
  }

  /**
   * Records that another process has sent, with their lengths; they are stored in a row.
   * @param {Buffer} records
   * @param {number} count
   * @param {boolean} sync
   * @param {boolean} isAtomic
   * @param {Appended} cb
   * @returns {number} the seq of the first record
   */
  appendFramed (records, count, sync, isAtomic, cb) {
    const bytes = records.length - count * FRAME_SIZE
    const { packer, waiters } = /** @type {{ packer: import('./packer').Packer, waiters: Waiters }} */ (/** @type {unknown} */ (this))
    const { filling } = packer
    const { first, last } = isAtomic ? packer.addFramedAtomic(records) : packer.addFrame(records)
    if (packer.filling !== filling) waiters.endGroup()
    this.accept(last, count, bytes, sync, cb)
    if (isAtomic) waiters.endGroup()
    return first
  }

  /**
   * Takes over what another one has accepted.
   * @param {Appender<import('./packer').Packer>} appender
   */
  takeOver ({ packer, waiters, counts, syncTo }) {
    const own = /** @type {import('./packer').Packer} */ (/** @type {unknown} */ (this.packer))
    const lastSeq = this.lastAppended
    const distance = own.takeOver(packer)
    this.waiters.takeOver(waiters, distance, lastSeq)
    if (syncTo >= 0) this.syncTo = syncTo + distance
    for (const name of /** @type {const} */ (['appended', 'inFlight'])) {
      this.counts[name].records += counts[name].records
      this.counts[name].bytes += counts[name].bytes
    }
    this.onaccepted()
  }

  /**
   * Adds what was counted while this process was a client; what was in flight is appended again.
   * @param {Appender['counts']} before
   */
  addCounts (before) {
    const { counts } = this
    for (const name of /** @type {const} */ (['appended', 'written'])) {
      counts[name].records += before[name].records
      counts[name].bytes += before[name].bytes
    }
    counts.appended.records -= before.inFlight.records
    counts.appended.bytes -= before.inFlight.bytes
    counts.writes += before.writes
    counts.syncs += before.syncs
  }

  /** The seq of the last record, of those in flight too; -1: there is none. */
  get lastAppended () {
    return this.waiters.lastGroup?.lastSeq ?? this.lastSeq
  }

  /**
   * @param {Uint8Array} data
   * @returns {number} the seq of the record
   */
  pack (data) {
    const { packer } = this
    const { filling } = packer
    const seq = packer.add(data)
    // a group ends with its block, so that it can be acknowledged with it
    if (packer.filling !== filling) this.waiters.endGroup()
    return seq
  }

  /**
   * @param {number} seq
   * @param {number} records
   * @param {number} bytes
   * @param {boolean} sync
   * @param {Appended | undefined} cb
   */
  accept (seq, records, bytes, sync, cb) {
    const { appended, inFlight } = this.counts
    const { end } = this.packer
    this.waiters.newest.push(cb, seq, end, records, bytes)
    appended.records += records
    appended.bytes += bytes
    inFlight.records += records
    inFlight.bytes += bytes
    if (sync) this.syncTo = end
    this.onaccepted()
  }

  /** The log is closing: nothing is accepted any more. */
  close () {
    this.refusal ??= errors.closed(this.filename)
  }

  /** @param {Error} failure why nothing is accepted any more */
  stop (failure) {
    this.refusal = failure
  }

  /**
   * @param {((err: Error) => void) | undefined} cb
   * @returns {number} in the place of a seq
   */
  refuse (cb) {
    this.reject(/** @type {Error} */ (this.refusal), cb)
    return -1
  }

  /**
   * An append gets an error, once the caller's own code has run.
   * @param {Error} error
   * @param {((err: Error) => void) | undefined} cb
   */
  reject (error, cb) {
    if (cb !== undefined) process.nextTick(cb, error)
    // after it was closed, or has failed, every other call says so
    else if (this.refusal === null) this.waiters.refusedSilently(error)
  }

  /** @param {CommitGroup[]} groups that are stored */
  countAcknowledged (groups) {
    const { written, inFlight } = this.counts
    for (const { records, bytes } of groups) {
      written.records += records
      written.bytes += bytes
      inFlight.records -= records
      inFlight.bytes -= bytes
    }
  }

  /** @param {CommitGroup[]} groups that will not be stored */
  countFailed (groups) {
    const { inFlight } = this.counts
    for (const group of groups) {
      inFlight.records -= group.records
      inFlight.bytes -= group.bytes
    }
  }
}

/**
 * @param {number[]} seqs of a batch, when it was packed
 * @param {number} last where its last record is now
 * @returns {number[]} the seqs now
 */
function endingAt (seqs, last) {
  const distance = last - seqs[seqs.length - 1]
  return seqs.length === 0 || distance === 0 ? seqs : seqs.map(seq => seq + distance)
}

module.exports = { Appender }
