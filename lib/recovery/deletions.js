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
const { holeOf } = require('../format/hole')
const { isZeros } = require('../format/zeros')

/** Bytes; lines start at multiples of it in the file. */
const LINE_SIZE = 64
const CHECKSUM_SIZE = 4
/** Lines at the start of a block, and at its end, that tie a deletion of the whole block to the file. */
const EDGE_LINES = 2
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
 * @property {DeletedRecord[]} records in the order of their seqs; none if all of the block is deleted
 * @property {number | null} checksum that the block has without their data; null: it is not full, or has none
 * @property {WholeBlock} [whole] the block becomes a hole
 * @property {number} [number] in the order in which their writer recorded them; missing: not recorded yet
 *
 * @typedef {object} WholeBlock
 * @property {number} size of the block in bytes: the file may not show it while the first blocks are rewritten
 * @property {number} live number of records in it that had not been deleted before
 * @property {Buffer} replaces CRC-32 (uint32, little-endian) of each of its edge lines, as they were
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
 * @param {number} block offset of the block
 * @param {Buffer} bytes of the block, before the deletion
 * @param {number} live number of records in it that are not deleted
 * @returns {Deletion} of all of its records
 */
function wholeDeletionOf (block, bytes, live) {
  const lines = edgeLines(block, bytes.length)
  const replaces = Buffer.allocUnsafe(lines.length * CHECKSUM_SIZE)
  lines.forEach(({ start, end }, i) => replaces.writeUInt32LE(crc32(bytes.subarray(start, end)), i * CHECKSUM_SIZE))
  const checksum = storedChecksum(bytes) === 0 ? null : storedChecksum(holeOf(bytes.length, true))
  return { block, records: [], checksum, whole: { size: bytes.length, live, replaces } }
}

/**
 * @param {number} block offset of the block
 * @param {number} blockSize
 * @returns {Array<{ start: number, end: number }>} its first and last lines, as positions in the block
 */
function edgeLines (block, blockSize) {
  const first = Math.floor(block / LINE_SIZE)
  const last = Math.floor((block + blockSize - 1) / LINE_SIZE)
  const lines = []
  for (let line = first; line <= last; line++) {
    if (line === first + EDGE_LINES) line = Math.max(line, last - EDGE_LINES + 1)
    lines.push({ start: Math.max(0, line * LINE_SIZE - block), end: Math.min(blockSize, (line + 1) * LINE_SIZE - block) })
  }
  return lines
}

/**
 * @param {Deletion & { whole: WholeBlock }} deletion
 * @param {Buffer} bytes of its block, as they are in the file
 * @returns {boolean} whether the block is there: as it was, a hole, or a hole in part
 */
function isWholeThere ({ block, checksum, whole: { size, replaces } }, bytes) {
  if (size !== bytes.length) return false
  const lines = edgeLines(block, bytes.length)
  if (replaces.length !== lines.length * CHECKSUM_SIZE) return false
  const hole = holeOf(bytes.length, checksum !== null)
  // where the write stopped
  let mayBeTorn = true
  return lines.every(({ start, end }, i) => {
    const isNew = bytes.compare(hole, start, end, start, end) === 0
    if (isNew || crc32(bytes.subarray(start, end)) === replaces.readUInt32LE(i * CHECKSUM_SIZE)) return true
    const isTorn = mayBeTorn && bytes[start] === hole[start]
    mayBeTorn = false
    return isTorn
  })
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
  for (const deletion of deletions) {
    const { block, records, checksum, whole } = deletion
    if (block % blockSize !== 0 || block >= size) continue
    const bytes = await read(block, Math.min(blockSize, size - block))
    if (whole !== undefined) {
      if (bytes.length === blockSize && isWholeThere(/** @type {Deletion & { whole: WholeBlock }} */ (deletion), bytes)) own.push(deletion)
      continue
    }
    const found = records.filter(record => isThere(record, bytes, block))
    // the block has them already, and perhaps later ones that change the checksum: nothing is left to be done
    const isDone = bytes.length === blockSize && (isValidHole(bytes) ||
      (found.length > 0 && hasOwnChecksum(bytes) && found.every(({ seq }) => layout.isDeleted(bytes, seq - block))))
    if (bytes.length < blockSize || isDone) own.push({ block, records: found, checksum: null })
    // the checksum is for all of them; a block that was sealed after a deletion has its zeros in its checksum
    else if (checksum === null ? !hasOwnChecksum(bytes) : found.length === records.length) own.push({ block, records: found, checksum })
  }
  return own
}

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {Deletion[]} deletions of its recovery point
 * @returns {Promise<number | undefined>} the block size, by a whole block that is being deleted
 */
async function blockSizeOfDeletions (read, size, deletions) {
  for (const deletion of deletions) {
    const blockSize = deletion.whole?.size
    if (blockSize === undefined || !(blockSize >= layout.MIN_BLOCK_SIZE && blockSize <= layout.MAX_BLOCK_SIZE)) continue
    if ((await ownDeletions(read, size, [deletion], blockSize)).length > 0) return blockSize
  }
}

/** @param {Buffer} block in any state */
function isValidHole (block) {
  return [true, false].some(checksum => block.equals(holeOf(block.length, checksum)))
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
  const holes = new Map(deletions.filter(({ whole }) => whole !== undefined).map(deletion => [deletion.block, deletion]))
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

module.exports = { deletionOf, wholeDeletionOf, isThere, ownDeletions, blockSizeOfDeletions, patchesOf, applyPatches, LINE_SIZE, CHECKSUM_SIZE }
