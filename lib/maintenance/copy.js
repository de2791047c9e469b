'use strict'

// Makes a sound log out of a damaged one. Either every record keeps its offset, and
// what is damaged gives way to one deleted record of the same size; or the log is
// packed anew, and offsets change.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { endOfRecords, frameProblem } = require('../format/validation')
const { pieces, damagedRange, addRange, tally, noCounts } = require('./verify')

/** Bytes written at a time, about. */
const PIECE_SIZE = 1024 * 1024
/** The least bytes that a deleted record can fill. */
const MIN_RECORD = layout.FRAME_SIZE + 1

/**
 * @typedef {import('./verify').Range} Range
 * @typedef {import('./verify').Extent} Extent
 * @typedef {import('./verify').OnProgress} OnProgress
 * @typedef {import('../storage/promisified-file').Io} Io
 */

/**
 * @typedef {object} Copied
 * @property {number} size of the copy in bytes
 * @property {import('./verify').Counts} counts of records in the copy
 * @property {Range[]} lost ranges of the original of which nothing is in the copy
 * @property {Salvaged[]} salvaged damaged blocks of which records are in the copy, though nobody knows whether they are as they were
 * @property {boolean} moved whether records have other offsets than in the original
 *
 * @typedef {Range & { records: number }} Salvaged
 *
 * @typedef {object} CopyOptions
 * @property {boolean} salvage keep records of damaged blocks whose frames are whole
 * @property {OnProgress} [onprogress]
 */

/**
 * Copies a log so that every record keeps its offset.
 * @param {Extent} extent
 * @param {Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyInPlace (extent, target, { salvage, onprogress }) {
  const copied = nothingCopied()
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      tally(copied.counts, block.buffer, block.end)
    }
    await target.write(offset, bytes)
    copied.size = offset + bytes.length
    if (onprogress) onprogress(copied.size, extent.end)
  }
  return copied
}

/**
 * Copies the records of a log, without deleted ones and damaged blocks, one right
 * after the other, so that those after the first gap get other offsets.
 * @param {Extent} extent
 * @param {Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyPacked (extent, target, { salvage, onprogress }) {
  const copied = nothingCopied()
  const packer = new Packer(target, extent.blockSize)
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      const { buffer, end } = block
      for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
        if (layout.isDeleted(buffer, position)) continue
        const seq = packer.add(layout.dataAt(buffer, position))
        if (seq !== block.offset + position) copied.moved = true
      }
      tally(copied.counts, buffer, end)
    }
    await packer.write()
    if (onprogress) onprogress(offset + bytes.length, extent.end)
  }
  copied.size = await packer.end()
  Object.assign(copied.counts, { deleted: 0, deletedBytes: 0, framing: copied.counts.records * layout.FRAME_SIZE })
  return copied
}

/** @returns {Copied} */
function nothingCopied () {
  return { size: 0, counts: noCounts(), lost: [], salvaged: [], moved: false }
}

/**
 * Makes a damaged block sound, and notes what became of it.
 * @param {Copied} copied
 * @param {import('./verify').Looked} block
 * @param {boolean} salvage
 */
function mend (copied, block, salvage) {
  const range = damagedRange(block)
  const records = salvage ? keepWholeFrames(block) : 0
  if (records > 0) {
    copied.salvaged.push({ ...range, records })
  } else {
    eraseBlock(block)
    addRange(copied.lost, range)
  }
}

/**
 * Puts one deleted record in the place of all that is in a block.
 * @param {import('./verify').Looked} block
 */
function eraseBlock (block) {
  const { buffer, sealed } = block
  block.end = sealed ? buffer.length - layout.paddingSize(true) : buffer.length
  erase(buffer, 0, block.end)
  if (sealed) sealBlock(block)
}

/**
 * Keeps the records from the block's start, and those before its end, that have
 * whole frames; a deleted record takes the place of what is between.
 * @param {import('./verify').Looked} block not changed if there are none
 * @returns {number} how many were kept, deleted ones not counted
 */
function keepWholeFrames (block) {
  const { buffer, sealed } = block
  const { front, back, end } = wholeFrames(buffer, sealed)
  const kept = noCounts()
  tally(kept, buffer, front)
  tally(kept, buffer.subarray(back), end - back)
  if (kept.records === 0) return 0

  if (back > front) erase(buffer, front, back)
  block.end = end
  if (sealed) sealBlock(block)
  return kept.records
}

/**
 * @param {Buffer} buffer
 * @param {boolean} sealed
 * @returns {{ front: number, back: number, end: number }} whole records are before
 *   `front`, and from `back` to `end`; between them is nothing, or room for a deleted record
 */
function wholeFrames (buffer, sealed) {
  const most = sealed ? buffer.length - layout.paddingSize(false) : buffer.length
  const end = sealed ? markedEnd(buffer, most) : most
  let front = endOfRecords(buffer, 0, end ?? most)
  const back = end === null ? front : walkBack(buffer, front, end)
  // with nothing behind the break, the padding of a block can begin there
  if (end === null || front === end || (sealed && back === end)) return { front, back: front, end: front }
  while (back - front < MIN_RECORD && front > 0) front = layout.previousPosition(buffer, front)
  return { front, back, end }
}

/**
 * @param {Buffer} buffer a whole block
 * @param {number} most
 * @returns {number | null} where its padding starts, if it is where the block says
 */
function markedEnd (buffer, most) {
  const start = layout.paddingStart(buffer)
  return start <= most && layout.readLength(buffer, start) === buffer.length - 1 ? start : null
}

/**
 * @param {Buffer} buffer
 * @param {number} front no record may start before
 * @param {number} end where a record should end
 * @returns {number} where the first of the whole records before `end` starts, with
 *   room for a deleted one in front of it; `end` if there is none
 */
function walkBack (buffer, front, end) {
  let position = end
  while (position - front > MIN_RECORD + layout.FRAME_SIZE) {
    const start = layout.previousPosition(buffer, position)
    if (start < front + MIN_RECORD || frameProblem(buffer, start, position) !== null) break
    if (layout.nextPosition(buffer, start) !== position) break
    position = start
  }
  return position
}

/**
 * @param {Buffer} buffer
 * @param {number} start
 * @param {number} end at least MIN_RECORD after it
 */
function erase (buffer, start, end) {
  layout.writeRecord(buffer, start, Buffer.alloc(end - start - layout.FRAME_SIZE))
}

/** @param {import('./verify').Looked} block */
function sealBlock ({ buffer, end }) {
  layout.seal(buffer, end)
  writeChecksum(buffer)
}

/** Puts records into blocks, one right after the other, and writes these. */
class Packer {
  /**
   * @param {Io} target
   * @param {number} blockSize
   */
  constructor (target, blockSize) {
    this.target = target
    this.blockSize = blockSize
    this.buffer = Buffer.allocUnsafeSlow(blockSize)
    this.position = 0
    /** offset of the block that is being filled */
    this.offset = 0
    /** full blocks not yet written @type {Buffer[]} */
    this.full = []
  }

  /**
   * @param {Buffer} data
   * @returns {number} its offset in the copy
   */
  add (data) {
    // the largest records of a log without checksums leave no room for one
    const checksum = data.length <= layout.maxRecordSize(this.blockSize, true)
    if (!layout.fits(this.blockSize, checksum, this.position, data.length)) this.turn()
    const seq = this.offset + this.position
    this.position = layout.writeRecord(this.buffer, this.position, data)
    return seq
  }

  turn () {
    layout.seal(this.buffer, this.position)
    writeChecksum(this.buffer)
    this.full.push(this.buffer)
    this.buffer = Buffer.allocUnsafeSlow(this.blockSize)
    this.offset += this.blockSize
    this.position = 0
  }

  /** Writes what is full, once it is worth a write. */
  async write (least = PIECE_SIZE) {
    const { full, blockSize } = this
    if (full.length === 0 || full.length * blockSize < least) return
    this.full = []
    await this.target.write(this.offset - full.length * blockSize, Buffer.concat(full))
  }

  /** @returns {Promise<number>} the size of the copy */
  async end () {
    await this.write(0)
    if (this.position > 0) await this.target.write(this.offset, this.buffer.subarray(0, this.position))
    return this.offset + this.position
  }
}

module.exports = { copyInPlace, copyPacked }
