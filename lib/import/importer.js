'use strict'

// Puts the records of an old file into the new log, and decides what cannot be stored.

const errors = require('../errors')
const { maxRecordSize } = require('../format/layout')

/** Bytes of a record that is copied to the file of skipped ones. */
const MAX_COPIED = 64 * 1024 * 1024

/**
 * @typedef {object} ImportCounts
 * @property {number} records that were imported, deleted ones not counted
 * @property {number} bytes of data in these
 * @property {number} deleted records in the old file
 * @property {number} skipped records that cannot be stored
 * @property {number} corrupt bytes of the old file in which no records were found, torn ones at its end not counted
 */

/**
 * @typedef {object} ImporterOptions
 * @property {boolean} keepDeleted
 * @property {boolean} skip
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
   */
  constructor (filename, log, map, skipped, { keepDeleted, skip, frame }, counts) {
    this.filename = filename
    this.log = log
    this.map = map
    this.skippedFile = skipped
    this.keepDeleted = keepDeleted
    this.skip = skip
    this.frame = frame
    this.most = maxRecordSize(log.blockSize, true)
    this.counts = counts
    // in fields of their own, since they change with every record
    this.records = counts.records
    this.bytes = counts.bytes
    /** offset in the old file at which the next record starts, if nothing is between; -1: it has to be in the map */
    this.expected = -1
    /** as it was when the last piece of the log got full @type {import('./unfinished').Snapshot | null} */
    this.snapshot = null
  }

  /** @type {Handler['record']} */
  record (bytes, start, end, offset, isDeleted) {
    const length = end - start
    if (isDeleted) return this.deleted(length, offset)
    if (length === 0 || length > this.most) return this.problem(bytes, start, end, offset, '')
    const isFull = this.place(length, offset)
    this.log.add(bytes, start, length)
    this.records++
    this.bytes += length
    return isFull
  }

  /**
   * @param {number} length
   * @param {number} offset
   */
  deleted (length, offset) {
    this.counts.deleted++
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
    if (!this.skip) throw errors.cannotImport(this.filename, offset, end - start, this.most, this.log.blockSize, reason)
    const said = reason !== '' ? reason : end === start ? 'empty' : `larger than ${this.most} bytes`
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
   * @returns {import('./unfinished').Snapshot}
   */
  snapshotAt (offset) {
    return {
      offset,
      size: this.log.blockOffset,
      digest: this.log.digest,
      counts: this.total(),
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
