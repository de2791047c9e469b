'use strict'

// How many records a log has when it is opened, deleted ones not counted. A small log is read. For others
// it has to be on record: after a crash in the recovery point, else in the file that closing has left.

const { crc32 } = require('zlib')
const layout = require('../format/layout')
const { isHole } = require('../format/hole')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')

/** Bytes of a log that is read; of a larger one, the last two blocks, or as many bytes, are read for an estimate. */
const SMALL_LOG = 64 * 1024
/** Bytes read at a time. */
const READ_SIZE = 1024 * 1024
const NO_BYTES = Buffer.alloc(0)
/** Bytes in front of an offset that tie a number of records to the file. */
const TIE_SIZE = 64

/**
 * @typedef {import('./find-end').Found} Found
 * @typedef {import('./find-end').Read} Read
 *
 * @typedef {object} Counted
 * @property {number | null} records null: not known
 * @property {number} estimate the same number if it is known
 *
 * @typedef {object} CountMark a number of records that was known while the log was open
 * @property {number} end offset in front of which they are
 * @property {number | null} records
 * @property {number} tie CRC-32 of the bytes in front of `end`
 */

/**
 * @param {import('../storage/promisified-file').Io} io of a log that has been recovered
 * @param {Found} found
 * @param {number} blockSize in bytes
 * @param {number} [smallLog] in bytes
 * @param {boolean} [mustCount] whether to read all of the log if the number is not on record
 * @returns {Promise<Counted>}
 */
async function countOnOpening (io, found, blockSize, smallLog = SMALL_LOG, mustCount = false) {
  const { start, kept } = found
  const onRecord = kept - start <= smallLog ? null : await countOnRecord(io, found, blockSize)
  const records = onRecord ?? (kept - start <= smallLog || mustCount ? await countRecords(io.read, start, kept, blockSize) : null)
  return { records, estimate: records ?? await estimate(io.read, start, kept, blockSize, smallLog) }
}

/**
 * @param {import('../storage/promisified-file').Io} io
 * @param {Found} found
 * @param {number} blockSize
 * @returns {Promise<number | null>}
 */
async function countOnRecord (io, { start, kept, point, damagedTail }, blockSize) {
  if (damagedTail !== null) return null
  if (point === null) return io.readCount(kept)
  return (point.start ?? 0) === start ? countAfterCrash(io.read, point, kept, blockSize) : null
}

/**
 * @param {number | null} records of a log
 * @param {number} size from its start to its end
 * @param {number} [smallLog] in bytes
 * @returns {number | null} what the next opening has to find beside it
 */
function countToLeave (records, size, smallLog = SMALL_LOG) {
  return size > smallLog ? records : null
}

/**
 * @param {Read} read
 * @param {import('../storage/recovery-point').RecoveryPoint} point
 * @param {number} kept where the log ends
 * @param {number} blockSize
 * @returns {Promise<number | null>}
 */
async function countAfterCrash (read, { offset, deletions, counted, start = 0 }, kept, blockSize) {
  if (!isMark(counted) || counted.end > offset) return null
  const { end, records, tie } = counted
  const position = end % blockSize
  const before = position === 0 ? NO_BYTES : await read(end - position, position)
  const own = deletions.filter(({ block }) => block >= start)
  const deleted = new Set(own.flatMap(({ records }) => records.map(({ seq }) => seq)).filter(seq => seq < end))
  const holes = new Map(own.filter(({ whole }) => whole !== undefined).map(({ block, whole }) => [block, whole?.live ?? 0]))
  if (endOfRecords(before, 0, position) !== position || (tieOf(before, position) !== tie && !hasDeleted(before, end, deleted))) return null
  // a deletion that was made for another file was not repeated
  for (const seq of deleted) if (!holes.has(seq - seq % blockSize) && !await isDeleted(read, seq, kept, blockSize)) return null
  let live = 0
  for (const [block, count] of holes) {
    if (block + blockSize > end || !isHole(await read(block, blockSize))) return null
    live += count
  }
  const behind = await countRecords(read, end, kept, blockSize)
  return records === null || behind === null ? null : records - deleted.size - live + behind
}

/**
 * @param {Buffer} before bytes of a block in front of `end`
 * @param {number} end offset
 * @param {Set<number>} deleted seqs
 * @returns {boolean} whether bytes that tie a number to the file were deleted since; then that deletion ties them
 */
function hasDeleted (before, end, deleted) {
  for (let position = 0; position < before.length;) {
    const next = layout.nextPosition(before, position)
    if (next > before.length - TIE_SIZE && deleted.has(end - before.length + position)) return true
    position = next
  }
  return false
}

/**
 * @param {Read} read
 * @param {number} seq
 * @param {number} kept
 * @param {number} blockSize
 * @returns {Promise<boolean>}
 */
async function isDeleted (read, seq, kept, blockSize) {
  const block = await read(seq, Math.min(kept - seq, blockSize - seq % blockSize))
  return frameProblem(block, 0, block.length) === null && layout.isDeleted(block, 0)
}

/**
 * @param {CountMark | undefined} mark from a file
 * @returns {mark is CountMark}
 */
function isMark (mark) {
  return Number.isSafeInteger(mark?.end) && Number.isSafeInteger(mark?.records) && Number(mark?.end) >= 0
}

/**
 * @param {Buffer} block
 * @param {number} position in it
 * @returns {number}
 */
function tieOf (block, position) {
  return crc32(block.subarray(Math.max(0, position - TIE_SIZE), position))
}

/**
 * @param {Read} read
 * @param {number} from offset of a record, or of a block
 * @param {number} to the same
 * @param {number} blockSize
 * @returns {Promise<number | null>} records between them; null if a block is corrupt
 */
async function countRecords (read, from, to, blockSize) {
  const step = Math.max(blockSize, READ_SIZE - READ_SIZE % blockSize)
  let position = from % blockSize
  let records = 0
  for (let start = from - position; start < to; start += step) {
    const bytes = await read(start, Math.min(step, to - start))
    for (let at = 0; at < bytes.length; at += blockSize) {
      const block = bytes.subarray(at, at + blockSize)
      const isSealed = block.length === blockSize
      if (isSealed && findProblem(block, false) !== null) return null
      const end = isSealed ? layout.paddingStart(block) : block.length
      if (endOfRecords(block, position, end) !== end) return null
      for (; position < end; position = layout.nextPosition(block, position)) if (!layout.isDeleted(block, position)) records++
      position = 0
    }
  }
  return records
}

/**
 * @param {Read} read
 * @param {number} start of the log
 * @param {number} kept
 * @param {number} blockSize
 * @param {number} size of the sample in bytes
 * @returns {Promise<number>} as if all of the log had as many records per byte as its last blocks
 */
async function estimate (read, start, kept, blockSize, size) {
  const from = Math.max(start, kept - Math.max(size, 2 * blockSize))
  for (let at = from - from % blockSize; at < kept; at += blockSize) {
    const records = await countRecords(read, at, kept, blockSize)
    if (records !== null) return Math.round(records * (kept - start) / (kept - at))
  }
  return 0
}

module.exports = { countOnOpening, countRecords, countToLeave, tieOf }
