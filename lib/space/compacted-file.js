'use strict'

// The file that is to take the place of a log that is compacted: it gets the records that are not deleted, packed into blocks. It
// has the form of a log that was trimmed: a hole in its first block, nothing up to `base`, then records.

const fs = require('fs')
const { promisify } = require('util')
const { Block } = require('../format/block')
const { isContinuation } = require('../format/chunk')
const layout = require('../format/layout')
const { deletedPart, holeOf } = require('../format/hole')
const { writeAll } = require('../storage/buffers')
const { Packer } = require('../write/packer')

/** Bytes at the start and the end of a hole that are not all zeros. */
const HOLE_EDGE = 16

const open = promisify(fs.open)
const datasync = promisify(fs.fdatasync)

/** The smallest deleted record, with its lengths. */
const DELETED = deletedPart(layout.FRAME_SIZE + 1)

/**
 * @typedef {object} Options
 * @property {number} blockSize in bytes
 * @property {boolean} checksum whether blocks get one
 * @property {number} base offset of the first record
 */

class CompactedFile {
  /**
   * @param {string} filename
   * @param {number} fd
   * @param {Options} options
   * @param {import('./offset-map-writer').OffsetMapWriter} map gets the records that are kept
   */
  constructor (filename, fd, { blockSize, checksum, base }, map) {
    this.filename = filename
    this.fd = fd
    this.blockSize = blockSize
    this.map = map
    /** Up to where records may reach in a block. */
    this.most = blockSize - layout.paddingSize(checksum)
    this.checksum = checksum
    /** Has the blocks that are not written yet. */
    this.packer = new Packer(new Block(base / blockSize, Buffer.allocUnsafeSlow(blockSize), 0, false), blockSize, checksum)
    /** Whether the record before was deleted, and left out. */
    this.isBehindDeleted = false
    /** Of the last record; -1: there is none. */
    this.lastSeq = -1
    /** Counts. */
    this.records = 0
    this.deleted = 0
    /** Bytes that were written since the last fsync. */
    this.unsynced = 0
  }

  /**
   * @param {string} filename
   * @param {Options} options
   * @param {import('./offset-map-writer').OffsetMapWriter} map
   */
  static async create (filename, options, map) {
    const fd = await open(filename, 'wx+', 0o600)
    try {
      return await new this(filename, fd, /** @type {any} */ (options), map).begin()
    } catch (err) {
      fs.closeSync(fd)
      throw err
    }
  }

  async begin () {
    // its zeros take no space if they are not written
    const hole = holeOf(this.blockSize, this.checksum)
    await writeAll(this.fd, [hole.subarray(0, HOLE_EDGE)], 0)
    await writeAll(this.fd, [hole.subarray(-HOLE_EDGE)], hole.length - HOLE_EDGE)
    return this
  }

  /** The offset at which the next record would start, if it fits into the block. */
  get end () {
    return this.packer.end
  }

  // Copying

  /**
   * Adds the records of a block that are not deleted.
   * @param {Buffer} block whose lengths are valid
   * @param {number} end of its records
   * @param {number} offset of it in the log
   */
  add (block, end, offset) {
    // a run: records that are kept and fit into the block that is being filled
    let start = 0
    let last = 0
    for (let position = 0; position < end;) {
      const next = layout.nextPosition(block, position)
      if (block[position + layout.LENGTH_SIZE] === 0 && layout.isDeleted(block, position)) {
        this.deleted++
        this.isBehindDeleted = true
        this.addRun(block, start, position, last, offset)
        start = next
      } else {
        if (this.isBehindDeleted) this.keepTorn(block, position, next)
        this.records++
        if (!this.fits(next - start, next - position)) {
          this.addRun(block, start, position, last, offset)
          this.packer.startBlock()
          start = position
        }
        last = position
      }
      position = next
    }
    this.addRun(block, start, end, last, offset)
  }

  /**
   * If the deletion of a large record was interrupted, some of its chunks are left. It is deleted for as long as a deleted record is among them.
   * @param {Buffer} block
   * @param {number} position of a record that is kept, behind one that was left out
   * @param {number} next where the one after it starts
   */
  keepTorn (block, position, next) {
    this.isBehindDeleted = false
    if (!isContinuation(block, position + layout.LENGTH_SIZE, next - layout.LENGTH_SIZE)) return
    if (!this.fits(DELETED.length, DELETED.length)) this.packer.startBlock()
    this.packer.copy(DELETED, 0, DELETED.length)
  }

  /**
   * @param {number} size of a run, in bytes
   * @param {number} last size of its last record
   * @returns {boolean} whether the block that is being filled has room for it
   */
  fits (size, last) {
    return this.packer.position + size <= this.most || (size === last && this.isLargest(size))
  }

  /**
   * @param {number} size of a record, with its lengths
   * @returns {boolean} whether it fills an empty block of a log that was written without checksums
   */
  isLargest (size) {
    return this.packer.position === 0 && size <= this.blockSize - layout.paddingSize(false)
  }

  /**
   * @param {Buffer} block
   * @param {number} start
   * @param {number} end
   * @param {number} last where the last record of it starts
   * @param {number} offset of the block in the log
   */
  addRun (block, start, end, last, offset) {
    if (start >= end) return
    const now = this.end
    this.packer.copy(block, start, end)
    this.map.add({ old: offset + start, now, length: end - start, last: last - start })
    this.lastSeq = now + last - start
  }

  /**
   * Starts a block with one deleted record, so that what follows it keeps its position.
   * @param {number} size of it, in bytes
   */
  addFiller (size) {
    if (this.packer.position > 0) this.packer.startBlock()
    this.lastSeq = this.end
    this.packer.copy(deletedPart(size), 0, size)
  }

  /** Nothing was kept: a log ends with a block that is not all zeros. */
  addHole () {
    const hole = holeOf(this.blockSize, this.checksum)
    this.lastSeq = this.end
    this.packer.copy(hole, 0, layout.paddingStart(hole))
    this.packer.startBlock()
  }

  // The file

  /** Writes the blocks that are full. */
  async write () {
    const { packer, blockSize } = this
    const full = packer.blocks.splice(0, packer.blocks.length - 1)
    if (full.length === 0) return
    await writeAll(this.fd, full.map(({ buffer }) => buffer), full[0].number * blockSize)
    this.unsynced += full.length * blockSize
    for (const block of full) packer.recycle(block)
  }

  /** Writes all of it: the file ends there. */
  async flush () {
    await this.write()
    const { packer: { filling, position }, blockSize } = this
    if (position > 0) await writeAll(this.fd, [filling.buffer.subarray(0, position)], filling.number * blockSize)
  }

  async sync () {
    this.unsynced = 0
    await datasync(this.fd)
  }
}

module.exports = { CompactedFile }
