'use strict'

// The file that is to take a log's place: gets the records that are kept, packed into blocks, and can delete
// them again. It has the form of a log that was trimmed: a hole in its first block, nothing up to `base`, then records.

const fs = require('fs')
const { promisify } = require('util')
const { isContinuation } = require('../format/chunk')
const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { datasync } = require('../storage/datasync')
const { deletedPart, holeOf } = require('../format/hole')
const { writeAll } = require('../storage/whole-writes')

/** Bytes at the start and the end of a hole that are not all zeros. */
const HOLE_EDGE = 16

const open = promisify(fs.open)

/** The smallest deleted record, with its lengths. */
const DELETED = deletedPart(layout.FRAME_SIZE + 1)

/** Decides about a record that is not deleted: its data is in the block between `start` and `end`. @typedef {(block: Buffer, start: number, end: number, seq: number) => boolean} Keep */

class CompactedFile {
  /** Bytes written at a time, about. */
  static chunkSize = 1024 * 1024

  /**
   * @param {string} filename
   * @param {number} fd
   * @param {{ blockSize: number, checksum: boolean, base: number, keep: Keep | null }} options
   * @param {import('./offset-map-writer').OffsetMapWriter} map
   */
  constructor (filename, fd, { blockSize, checksum, base, keep }, map) {
    this.filename = filename
    this.fd = fd
    this.blockSize = blockSize
    this.keep = keep
    this.map = map
    /** Up to where records may reach in a block. */
    this.most = blockSize - layout.paddingSize(checksum)
    this.checksum = checksum
    this.chunkSize = Math.max(1, Math.floor(CompactedFile.chunkSize / blockSize)) * blockSize
    /** Chunks that are full, and not written. @type {Buffer[]} */
    this.full = []
    /** Memory of chunks that are written. @type {Buffer[]} */
    this.spare = []
    /** What is being filled, and its offset in the file. */
    this.chunk = /** @type {Buffer} */ (Buffer.allocUnsafeSlow(this.chunkSize))
    this.chunkOffset = base
    /** The block that is being filled, by its position in the chunk, and where the next record starts in it. */
    this.blockStart = 0
    this.position = 0
    /** Whether the record before was deleted, and left out. */
    this.isBehindDeleted = false
    /** Of the last record; -1: there is none. */
    this.lastSeq = -1
    /** Counts. */
    this.records = 0
    this.deleted = 0
    this.dropped = 0
    /** Bytes that were written since the last fsync. */
    this.unsynced = 0
  }

  /**
   * @param {string} filename
   * @param {{ blockSize: number, checksum: boolean, base: number, keep: Keep | null }} options
   * @param {import('./offset-map-writer').OffsetMapWriter} map
   */
  static async create (filename, options, map) {
    const fd = await open(filename, 'wx+', 0o600)
    return new this(filename, fd, /** @type {any} */ (options), map).begin()
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
    return this.chunkOffset + this.blockStart + this.position
  }

  // Copying

  /**
   * Adds the records of a block that are neither deleted nor dropped.
   * @param {Buffer} block whose lengths are valid
   * @param {number} end of its records
   * @param {number} offset of it in the log
   */
  add (block, end, offset) {
    const { keep } = this
    // a run: records that are kept and fit into the block that is being filled
    let start = 0
    let last = 0
    for (let position = 0; position < end;) {
      const next = layout.nextPosition(block, position)
      const isDeleted = block[position + layout.LENGTH_SIZE] === 0 && layout.isDeleted(block, position)
      if (isDeleted || (keep !== null && !keep(block, position + layout.LENGTH_SIZE, next - layout.LENGTH_SIZE, offset + position))) {
        if (isDeleted) this.deleted++
        else this.dropped++
        this.isBehindDeleted = isDeleted
        this.addRun(block, start, position, last, offset)
        start = next
      } else {
        if (this.isBehindDeleted) this.keepTorn(block, position, next)
        this.records++
        if (!this.fits(next - start, next - position)) {
          this.addRun(block, start, position, last, offset)
          this.startBlock()
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
    if (!this.fits(DELETED.length, DELETED.length)) this.startBlock()
    DELETED.copy(this.chunk, this.blockStart + this.position)
    this.position += DELETED.length
  }

  /**
   * @param {number} size of a run, in bytes
   * @param {number} last size of its last record
   * @returns {boolean} whether the block that is being filled has room for it
   */
  fits (size, last) {
    return this.position + size <= this.most || (size === last && this.isLargest(size))
  }

  /**
   * @param {number} size of a record, with its lengths
   * @returns {boolean} whether it fills an empty block of a log that was written without checksums
   */
  isLargest (size) {
    return this.position === 0 && size <= this.blockSize - layout.paddingSize(false)
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
    block.copy(this.chunk, this.blockStart + this.position, start, end)
    const now = this.end
    this.map.add({ old: offset + start, now, length: end - start, last: last - start })
    this.lastSeq = now + last - start
    this.position += end - start
  }

  /**
   * Starts a block with one deleted record, so that what follows it keeps its position.
   * @param {number} size of it, in bytes
   */
  addFiller (size) {
    if (this.position > 0) this.startBlock()
    this.lastSeq = this.end
    deletedPart(size).copy(this.chunk, this.blockStart)
    this.position = size
  }

  /** Nothing was kept: a log ends with a block that is not all zeros. */
  addHole () {
    holeOf(this.blockSize, this.checksum).copy(this.chunk, this.blockStart)
    this.lastSeq = this.end
    this.nextBlock()
  }

  startBlock () {
    const { blockStart, blockSize } = this
    const block = this.chunk.subarray(blockStart, blockStart + blockSize)
    layout.seal(block, this.position)
    if (this.checksum) writeChecksum(block)
    this.nextBlock()
  }

  nextBlock () {
    this.position = 0
    this.blockStart += this.blockSize
    if (this.blockStart < this.chunkSize) return
    this.full.push(this.chunk)
    this.chunk = this.spare.pop() ?? Buffer.allocUnsafeSlow(this.chunkSize)
    this.chunkOffset += this.chunkSize
    this.blockStart = 0
  }

  // The file

  /** Writes the chunks that are full. */
  async write () {
    const { full, chunkSize } = this
    if (full.length === 0) return
    this.full = []
    const offset = this.chunkOffset - full.length * chunkSize
    await writeAll(this.fd, full, offset)
    this.unsynced += full.length * chunkSize
    if (this.spare.length === 0) this.spare.push(full[0])
  }

  /** Writes all of it: the file ends there. */
  async flush () {
    await this.write()
    const size = this.blockStart + this.position
    if (size > 0) await writeAll(this.fd, [this.chunk.subarray(0, size)], this.chunkOffset)
  }

  async sync () {
    this.unsynced = 0
    await datasync(this.fd, this.filename)
  }

  /** @returns {Buffer} a copy of the block that is being filled */
  tailBuffer () {
    const block = Buffer.allocUnsafeSlow(this.blockSize)
    this.chunk.copy(block, 0, this.blockStart, this.blockStart + this.position)
    return block
  }
}

module.exports = { CompactedFile }
