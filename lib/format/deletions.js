'use strict'

// What a deletion changes in the bytes of a block. FILE.meta lists deletions until the log's file has them durably: with it, opening the
// log after a crash repeats them. Repeating a deletion that the file already has changes nothing. Pure.

const layout = require('./layout')
const { storedChecksum } = require('./checksum')
const { holeOf } = require('./hole')

const CHECKSUM_SIZE = 4
/** A block's last bytes: checksum and start of the padding. */
const CHECKSUM_FROM_END = 8

/**
 * @typedef {object} DeletedRecord
 * @property {number} seq
 * @property {number} length bytes of data
 *
 * @typedef {object} Deletion records of one block that were deleted together
 * @property {number} block offset of the block
 * @property {DeletedRecord[]} records in the order of their seqs; empty if all of the block is deleted
 * @property {number | null} checksum of the block without their data; null: it is not full, or has no checksum
 * @property {boolean} [isHole] the block becomes a hole
 * @property {number} [number] in the order in which their writer recorded them, from 1; missing: not recorded yet
 *
 * @typedef {{ offset: number, data: Buffer }} Patch bytes that belong at this offset in the file
 */

/**
 * @param {number} block offset of the block
 * @param {Buffer} bytes of the block, before the deletion
 * @param {number[]} positions where the records start, in ascending order
 * @param {number | null} checksum that the block will have
 * @returns {Deletion}
 */
function deletionOf (block, bytes, positions, checksum) {
  return { block, records: positions.map(position => ({ seq: block + position, length: layout.readLength(bytes, position) })), checksum }
}

/**
 * @param {number} block offset of the block
 * @param {Buffer} bytes of the block, before the deletion
 * @returns {Deletion} of all of its records
 */
function wholeDeletionOf (block, bytes) {
  return { block, records: [], checksum: storedChecksum(bytes) === 0 ? null : storedChecksum(holeOf(bytes.length, true)), isHole: true }
}

/**
 * @param {Deletion[]} deletions in the order in which they were made
 * @param {number} blockSize
 * @returns {Patch[]} what they change in the file; records that follow each other are one patch
 */
function patchesOf (deletions, blockSize) {
  /** @type {Patch[]} */
  const patches = []
  /** @type {Map<number, number | null>} */
  const checksums = new Map()
  const holes = new Map(deletions.filter(({ isHole }) => isHole).map(deletion => [deletion.block, deletion]))
  const others = deletions.filter(({ block }) => !holes.has(block))
  const records = others.flatMap(({ records }) => records).sort((a, b) => a.seq - b.seq)
  for (let first = 0; first < records.length;) {
    let last = first
    while (last + 1 < records.length && endOf(records[last]) === records[last + 1].seq) last++
    const { seq } = records[first]
    const run = Buffer.alloc(endOf(records[last]) - seq)
    for (const { seq: start, length } of records.slice(first, last + 1)) {
      layout.writeLength(run, start - seq, length)
      layout.writeLength(run, start - seq + layout.LENGTH_SIZE + length, length)
    }
    patches.push({ offset: seq, data: run })
    first = last + 1
  }
  for (const { block, checksum } of others) checksums.set(block, checksum)
  for (const [block, checksum] of checksums) {
    if (checksum === null) continue
    const data = Buffer.alloc(CHECKSUM_SIZE)
    data.writeUInt32LE(checksum)
    patches.push({ offset: block + blockSize - CHECKSUM_FROM_END, data })
  }
  for (const [block, { checksum }] of holes) patches.push({ offset: block, data: holeOf(blockSize, checksum !== null) })
  return patches
}

/** @param {DeletedRecord} record */
function endOf ({ seq, length }) {
  return seq + length + layout.FRAME_SIZE
}

/**
 * @param {Buffer} bytes are changed in place
 * @param {number} offset of them in the file
 * @param {Patch[]} patches
 * @returns {Buffer} `bytes`
 */
function applyPatches (bytes, offset, patches) {
  for (const { offset: at, data } of patches) {
    const from = Math.max(offset, at)
    const to = Math.min(offset + bytes.length, at + data.length)
    if (from < to) data.copy(bytes, from - offset, from - at, to - at)
  }
  return bytes
}

module.exports = { applyPatches, deletionOf, patchesOf, wholeDeletionOf }
