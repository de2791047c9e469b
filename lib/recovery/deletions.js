'use strict'

// What the recovery point keeps of a deletion until the log has it: which records, and by
// what to recognize them. With it, opening the log after a crash repeats the deletion; to
// repeat one that the file has already changes nothing. Repeated in a file that it was not
// made for, it would overwrite records of that file, so each comes with checksums of what it overwrites: a
// line is a stretch of the file of a fixed size, smaller than any sector, so after an
// interrupted write it is as it was before or after.

const { crc32 } = require('zlib')
const layout = require('../format/layout')
const { checksumOf, storedChecksum } = require('../format/checksum')
const { isZeros } = require('../format/zeros')

/** Bytes; lines start at multiples of it in the file. */
const LINE_SIZE = 64
const CHECKSUM_SIZE = 4
/** A block's last bytes: checksum and start of the padding. */
const CHECKSUM_FROM_END = 8

/**
 * @typedef {object} DeletedRecord
 * @property {number} seq
 * @property {number} length bytes of data
 * @property {Buffer} replaces CRC-32 (uint32, little-endian) of each line of the data, as it was
 *
 * @typedef {object} Deletion records of one block that were deleted together
 * @property {number} block offset of the block
 * @property {DeletedRecord[]} records in the order of their seqs
 * @property {number | null} checksum that the block has without their data; null: it is not full, or has none
 * @property {number} [number] in the order in which their writer recorded them; missing: an earlier version recorded it
 *
 * @typedef {{ offset: number, data: Buffer }} Patch bytes that belong at this offset in the file
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 */

/**
 * @param {number} block offset of the block
 * @param {Buffer} bytes of the block, before the deletion
 * @param {number[]} positions where the records start, in ascending order
 * @param {number | null} checksum that the block will have
 * @returns {Deletion}
 */
function deletionOf (block, bytes, positions, checksum) {
  const records = positions.map(position => {
    const seq = block + position
    const data = layout.dataAt(bytes, position)
    const lines = linesOf(seq, data.length)
    const replaces = Buffer.allocUnsafe(lines.length * CHECKSUM_SIZE)
    lines.forEach(({ start, end }, i) => replaces.writeUInt32LE(crc32(data.subarray(start, end)), i * CHECKSUM_SIZE))
    return { seq, length: data.length, replaces }
  })
  return { block, records, checksum }
}

/**
 * @param {number} seq of a record
 * @param {number} length of its data
 * @returns {Array<{ start: number, end: number }>} the lines that it is in, as far as they are in its data
 */
function linesOf (seq, length) {
  const lines = []
  const offset = seq + layout.LENGTH_SIZE
  for (let start = 0; start < length;) {
    const end = Math.min(length, start + LINE_SIZE - (offset + start) % LINE_SIZE)
    lines.push({ start, end })
    start = end
  }
  return lines
}

/**
 * @param {DeletedRecord} record
 * @param {Buffer} bytes of its block, as they are in the file
 * @param {number} block offset of the block
 * @returns {boolean} whether the record is there: as it was, deleted, or deleted in part
 */
function isThere ({ seq, length, replaces }, bytes, block) {
  const position = seq - block
  const end = position + length + layout.FRAME_SIZE
  if (!(length > 0 && position >= 0 && end <= bytes.length)) return false
  if (layout.readLength(bytes, position) !== length || layout.readLength(bytes, end - layout.LENGTH_SIZE) !== length) return false
  const data = layout.dataAt(bytes, position)
  const lines = linesOf(seq, length)
  if (replaces.length !== lines.length * CHECKSUM_SIZE) return false
  // where the write stopped, a line may be new at its start and old behind that, which no checksum tells
  let mayBeTorn = true
  return lines.every(({ start, end }, i) => {
    const line = data.subarray(start, end)
    if (isZeros(line) || crc32(line) === replaces.readUInt32LE(i * CHECKSUM_SIZE)) return true
    const isTorn = mayBeTorn && line[0] === 0
    mayBeTorn = false
    return isTorn
  })
}

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {Deletion[]} deletions of its recovery point
 * @param {number} blockSize
 * @returns {Promise<Deletion[]>} those that were made for this file: a recovery point beside a file that was restored
 *   from elsewhere has others
 */
async function ownDeletions (read, size, deletions, blockSize) {
  const own = []
  for (const { block, records, checksum } of deletions) {
    if (block % blockSize !== 0 || block >= size) continue
    const bytes = await read(block, Math.min(blockSize, size - block))
    const found = records.filter(record => isThere(record, bytes, block))
    // the block has them already, and perhaps later ones that change the checksum: nothing is left to be done
    const isDone = found.length > 0 && bytes.length === blockSize && hasOwnChecksum(bytes) && found.every(({ seq }) => layout.isDeleted(bytes, seq - block))
    if (bytes.length < blockSize || isDone) own.push({ block, records: found, checksum: null })
    // the checksum is for all of them; a block that was sealed after a deletion has its zeros in its checksum
    else if (checksum === null ? !hasOwnChecksum(bytes) : found.length === records.length) own.push({ block, records: found, checksum })
  }
  return own
}

/** @param {Buffer} block */
function hasOwnChecksum (block) {
  const stored = storedChecksum(block)
  return stored !== 0 && stored === checksumOf(block)
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
  const records = deletions.flatMap(({ records }) => records).sort((a, b) => a.seq - b.seq)
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
  for (const { block, checksum } of deletions) checksums.set(block, checksum)
  for (const [block, checksum] of checksums) {
    if (checksum === null) continue
    const data = Buffer.alloc(CHECKSUM_SIZE)
    data.writeUInt32LE(checksum)
    patches.push({ offset: block + blockSize - CHECKSUM_FROM_END, data })
  }
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

module.exports = { deletionOf, isThere, ownDeletions, patchesOf, applyPatches, LINE_SIZE, CHECKSUM_SIZE }
