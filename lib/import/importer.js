'use strict'

// Puts the records of an old file into the new log, and decides what cannot be stored.

const chunk = require('../format/chunk')
const errors = require('../errors')
const layout = require('../format/layout')

/** Bytes of a record that is copied to the file of skipped ones. */
const MAX_COPIED = 64 * 1024 * 1024

/**
 * @typedef {object} ImportCounts
 * @property {number} records that were imported, deleted ones not counted
 * @property {number} bytes of data in these
 * @property {number} large how many of these do not fit into a block, and are stored in chunks
 * @property {number} deleted records in the old file
 * @property {number} skipped records that cannot be stored
 * @property {number} corrupt bytes of the old file in which no records were found, torn ones at its end not counted
 */

/**
 * @typedef {object} ImporterOptions
 * @property {boolean} keepDeleted
 * @property {boolean} skip
 * @property {boolean} large
 * @property {boolean} hasChunks whether the old file can have chunks, which are copied as they are
 * @property {number} frame bytes of a record of the old file besides its data
 */

/** @typedef {import('./record-reader').Handler} Handler */

/** @implements {Handler} */
class Importer {
  /**
   * @param {string} filename of the old file
   * @param {import('./packed-log').PackedLog} log
   * @param {import('./map-file').MapWriter | null} map
   * @param {import('./side-file').SideFile} skipped
   * @param {ImporterOptions} options
   * @param {ImportCounts} counts
   * @param {import('./import-files').Extra} extra
   */
  constructor (filename, log, map, skipped, { keepDeleted, skip, large, hasChunks, frame }, counts, extra) {
    this.filename = filename
    this.log = log
    this.map = map
    this.skippedFile = skipped
    this.continuedAt = log.blockOffset
    this.keepDeleted = keepDeleted
    this.skip = skip
    this.frame = frame
    this.large = large
    this.hasChunks = hasChunks
    this.most = layout.maxRecordSize(log.blockSize, true)
    /** of a record, with what becomes chunks */
    this.mostInAll = large ? chunk.MAX_LENGTH : this.most
    this.counts = counts
    this.extra = extra
    /** Whether the record before was deleted, and left out. */
    this.isBehindDeleted = false
    /** A large record that is being added. @type {{ splitter: chunk.Splitter, length: number, offset: number } | null} */
    this.splitting = null
    // in fields of their own, since they change with every record
    this.records = counts.records
    this.bytes = counts.bytes
    /** offset in the old file at which the next record starts, if nothing is between; -1: it has to be in the map */
    this.expected = -1
    /** as it was when the last piece of the log got full @type {import('./import-files').Snapshot | null} */
    this.snapshot = null
  }

  /** @type {Handler['record']} */
  record (bytes, start, end, offset, isDeleted) {
    const length = end - start
    if (isDeleted) return this.deleted(length, offset)
    if (this.isBehindDeleted) this.keepTorn(bytes, start, end, offset)
    if (length === 0 || length > this.most) return this.addLarge(bytes, start, end, offset)
    if (this.large && bytes[start] === chunk.FIRST_BYTE && !this.hasChunks && chunk.startsWithMagic(bytes, start, end)) return this.addEscaped(bytes, start, end, offset)
    const isFull = this.place(length, offset)
    this.log.add(bytes, start, length)
    this.records++
    this.bytes += length
    return isFull
  }

  /**
   * If the deletion of a large record was interrupted, some of its chunks are left. It is deleted for as long as a deleted record is among them.
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   * @param {number} offset
   */
  keepTorn (bytes, start, end, offset) {
    this.isBehindDeleted = false
    if (!this.hasChunks || !chunk.isContinuation(bytes, start, end)) return
    this.place(1, offset)
    this.log.addDeleted(1)
    this.extra.deleted++
    this.expected = -1
  }

  /**
   * A record that does not fit into a block: if it can be stored, `addChunks` does.
   * @param {Buffer} bytes which stay as they are until then
   * @param {number} start
   * @param {number} end
   * @param {number} offset
   * @returns {boolean}
   */
  addLarge (bytes, start, end, offset) {
    const length = end - start
    if (length === 0 || length > this.mostInAll) return this.problem(bytes, start, end, offset, '')
    const kind = chunk.kindAt(bytes, start, end)
    if (this.hasChunks && (kind === chunk.PART || kind === chunk.LAST)) return this.problem(bytes, start, end, offset, 'it is a chunk of a large record; with blocks as large as those of the old file it can be stored')
    const data = layout.view(bytes.buffer, bytes.byteOffset + start, length)
    const isEscaped = !this.hasChunks && chunk.startsWithMagic(bytes, start, end)
    this.splitting = { splitter: new chunk.Splitter(isEscaped ? chunk.escape(data) : data), length, offset }
    return true
  }

  /** @returns {boolean} whether a piece of the log is full, and the large record goes on after it */
  addChunks () {
    const { log, splitting, extra } = this
    if (splitting === null) return false
    const { splitter, length, offset } = splitting
    if (log.addChunks(splitter)) return true
    this.splitting = null
    this.map?.add(offset, log.lastSeq)
    this.records++
    this.bytes += length
    this.counts.large++
    extra.records += splitter.count - 1
    extra.bytes += splitter.stored - length
    // the lengths of its chunks do not lead to the next one
    this.expected = -1
    return false
  }

  /**
   * A record that a reader would take for a chunk.
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   * @param {number} offset
   * @returns {boolean}
   */
  addEscaped (bytes, start, end, offset) {
    const data = chunk.escape(bytes.subarray(start, end))
    if (data.length > this.most) return this.addLarge(bytes, start, end, offset)
    const isFull = this.place(data.length, offset)
    this.log.add(data, 0, data.length)
    this.records++
    this.bytes += end - start
    this.extra.bytes += chunk.ESCAPE_SIZE
    this.expected = -1
    return isFull
  }

  /**
   * Where large records follow each other, no other one starts a block.
   * @param {number} offset in the old file of what comes next
   * @param {number} least bytes since the last snapshot
   * @returns {boolean} whether the import can be continued there once the log's blocks are written
   */
  startBlockIfDue (offset, least) {
    const { log } = this
    if (log.blockOffset - (this.snapshot?.size ?? this.continuedAt) < least) return false
    log.endBlock()
    this.expected = -1
    this.snapshot = this.snapshotAt(offset)
    return true
  }

  /**
   * @param {number} length
   * @param {number} offset
   */
  deleted (length, offset) {
    this.counts.deleted++
    this.isBehindDeleted = !this.keepDeleted
    if (!this.keepDeleted) return false
    // of a record that is too large nothing but a mark can be kept
    const kept = Math.min(length, this.most)
    const isFull = this.place(kept, offset)
    this.log.addDeleted(kept)
    return isFull
  }

  /**
   * Makes room for a record.
   * @param {number} length
   * @param {number} offset in the old file
   * @returns {boolean} whether a piece of the log is full
   */
  place (length, offset) {
    let isFull = false
    if (this.log.startsBlock(length)) {
      isFull = this.log.startBlock()
      this.expected = -1
      if (isFull) this.snapshot = this.snapshotAt(offset)
    }
    if (offset !== this.expected && this.map !== null) this.map.add(offset, this.log.offset)
    this.expected = offset + length + this.frame
    return isFull
  }

  /** @type {Handler['problem']} */
  problem (bytes, start, end, offset, reason) {
    if (!this.skip) throw errors.cannotImport(this.filename, offset, end - start, this.mostInAll, this.log.blockSize, reason, this.large)
    const said = reason !== '' ? reason : end === start ? 'empty' : `larger than ${this.mostInAll} bytes`
    const data = end - start > MAX_COPIED ? { bytes: end - start } : { base64: bytes.toString('base64', start, end) }
    this.leaveOut({ offset, reason: said, ...data })
    this.counts.skipped++
    return true
  }

  /** @type {Handler['corrupt']} */
  corrupt (offset, size, reason) {
    if (!this.skip) throw errors.corruptOldFile(this.filename, offset, offset + size, reason)
    this.leaveOut({ offset, reason: `corrupt: ${reason}`, bytes: size })
    this.counts.corrupt += size
  }

  /** @param {object} entry */
  leaveOut (entry) {
    this.skippedFile.add(Buffer.from(JSON.stringify(entry) + '\n'))
  }

  /**
   * @param {number} offset in the old file, of the record that starts the block
   * @returns {import('./import-files').Snapshot}
   */
  snapshotAt (offset) {
    return {
      offset,
      size: this.log.blockOffset,
      digest: this.log.digest,
      counts: this.total(),
      extra: { ...this.extra },
      mapSize: this.map?.size ?? 0,
      skippedSize: this.skippedFile.size
    }
  }

  /** @returns {ImportCounts} */
  total () {
    return { ...this.counts, records: this.records, bytes: this.bytes }
  }
}

module.exports = { Importer }
