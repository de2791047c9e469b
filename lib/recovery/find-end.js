'use strict'

// Where does a log end? Determined when it is opened, whatever a crash has left: with a recovery
// point, the log is open or its writer was stopped. Reads, and changes nothing.

const { isZeros } = require('../format/zeros')
const { endOfRecords, findProblem } = require('../format/validation')
const { paddingStart } = require('../format/layout')
const { Block } = require('../format/block')
const { findStart } = require('./find-start')
const { ownPatches, patchesBefore, withPatches } = require('./own-patches')
const { endOfLastBlock, endOfUnsynced, lastRecord } = require('./whole-records')

/** Bytes read at a time. */
const READ_SIZE = 1024 * 1024
/** A block's last bytes hold where its padding starts, a tail's a length: no log ends with more zeros. */
const MAX_FINAL_ZEROS = 3

/**
 * @typedef {object} Found
 * @property {Block} tail the block in which the log ends
 * @property {number} start offset of the first block that is not trimmed
 * @property {import('./find-start').Trim | null} trim what a crash has left untrimmed, or a live writer is trimming
 * @property {number} lastSeq of the last record, -1 if there is none
 * @property {number} kept the file's bytes up to here belong to the log
 * @property {number} cut bytes behind them in the file, which are no whole records
 * @property {number} dataEnd of the bytes behind `kept`, those from here on are zeros
 * @property {number} recovered bytes behind the recovery point that are whole
 * @property {Block | null} damagedTail the block that ends at `kept`, if it is corrupt in its
 *   middle, so that the log continues in the block after it
 * @property {import('../format/deletions').Patch[]} patches what is missing of deletions that a crash interrupted
 * @property {import('./recovery-point').RecoveryPoint | null} point
 *
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 * @typedef {import('./whole-records').RecoverOptions & { large?: boolean }} FindOptions large: as the option of a log
 */

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {import('./recovery-point').RecoveryPoint | null} point
 * @param {FindOptions} options
 * @returns {Promise<Found>}
 */
async function findEnd (read, size, point, options) {
  const { blockSize } = options
  const { patches, deleted } = ownPatches(point, blockSize)
  const readLast = await withLastBlock(withPatches(read, patches), size, blockSize)
  const lastByte = await lastData(readLast, read, size)
  // whole blocks of zeros at the end are a hole
  const dataEnd = Math.min(size, Math.ceil((lastByte + 1) / blockSize) * blockSize)
  const end = point === null
    ? await endWithoutPoint(readLast, dataEnd, blockSize)
    : await endAfterCrash(readLast, dataEnd, point.offset, deleted, options)
  const start = point?.start ?? await findStart(readLast, end, blockSize)
  const tail = await blockAt(readLast, end, blockSize)
  // corruption before the last whole record
  const isCorrupt = endOfRecords(tail.buffer, 0, tail.end) !== tail.end
  return {
    tail: isCorrupt ? new Block(tail.number + 1, Buffer.allocUnsafeSlow(blockSize), 0, false) : tail,
    start,
    trim: point !== null && point.freed < start ? { from: point.freed, start } : null,
    lastSeq: await lastSeqBefore(readLast, start, end, options),
    kept: end,
    cut: size - end,
    dataEnd: lastByte < end ? end : dataEnd,
    recovered: point === null ? 0 : end - point.offset,
    damagedTail: isCorrupt ? tail : null,
    patches: patchesBefore(patches, end),
    point
  }
}

/**
 * The last block is looked at several times, and read once: a writer that cannot be seen may be completing it.
 * @param {Read} read
 * @param {number} size
 * @param {number} blockSize
 * @returns {Promise<Read>} what it gives must not be written to
 */
async function withLastBlock (read, size, blockSize) {
  if (size === 0) return read
  const start = size - 1 - (size - 1) % blockSize
  const last = await read(start, size - start)
  return async (offset, length) => {
    const end = offset + length
    if (end <= start || end > size) return read(offset, length)
    const fromLast = last.subarray(Math.max(0, offset - start), end - start)
    return offset >= start ? fromLast : Buffer.concat([await read(offset, start - offset), fromLast])
  }
}

/**
 * A file that was extended but not written ends with zeros, perhaps gigabytes of them.
 * @param {Read} readLast
 * @param {Read} read of the file as it is, without the deletions that it does not have yet
 * @param {number} size
 * @returns {Promise<number>} the offset of the last byte, or of the last that is not zero if there are more zeros
 *   behind it than a log ends with; -1 if there is none
 */
async function lastData (readLast, read, size) {
  const few = Math.min(size, MAX_FINAL_ZEROS + 1)
  if (few === 0 || !isZeros(await readLast(size - few, few))) return size - 1
  for (let end = size; end > 0; end -= READ_SIZE) {
    const start = Math.max(0, end - READ_SIZE)
    const bytes = await read(start, end - start)
    if (!isZeros(bytes)) return start + bytes.findLastIndex(byte => byte !== 0)
  }
  return -1
}

/**
 * Reads block after block from the recovery point to the first thing that is not whole.
 * @param {Read} read
 * @param {number} size
 * @param {number} offset of the recovery point
 * @param {Set<number>} deleted seqs of records that are whole though they are zeros
 * @param {FindOptions} options
 * @returns {Promise<number>} where the log ends
 */
async function endAfterCrash (read, size, offset, deleted, options) {
  const { blockSize } = options
  let position = offset % blockSize
  const step = Math.max(blockSize, READ_SIZE - READ_SIZE % blockSize)
  for (let from = offset - position; from < size; from += step) {
    const bytes = await read(from, Math.min(step, size - from))
    for (let start = 0; start < bytes.length; start += blockSize) {
      const isErased = (/** @type {number} */ position) => deleted.has(from + start + position)
      const end = endOfUnsynced(bytes.subarray(start, start + blockSize), position, { ...options, isErased })
      if (end < blockSize) return from + start + end
      position = 0
    }
  }
  return Math.max(offset, size)
}

/**
 * @param {Read} read
 * @param {number} size
 * @param {number} blockSize
 * @returns {Promise<number>} where the log ends
 */
async function endWithoutPoint (read, size, blockSize) {
  if (size === 0) return 0
  const start = size - 1 - (size - 1) % blockSize
  return start + endOfLastBlock(await read(start, size - start), blockSize)
}

/**
 * @param {Read} read
 * @param {number} end
 * @param {number} blockSize
 * @returns {Promise<Block>} the block that has the bytes before `end`, or is about to start there
 */
async function blockAt (read, end, blockSize) {
  const position = end % blockSize
  const buffer = Buffer.allocUnsafeSlow(blockSize)
  if (position > 0) (await read(end - position, position)).copy(buffer)
  return new Block((end - position) / blockSize, buffer, position, false)
}

/**
 * @param {Read} read
 * @param {number} first offset of the log's first block
 * @param {number} end
 * @param {FindOptions} options
 * @returns {Promise<number>} the seq of the last record that can be found before `end`
 */
async function lastSeqBefore (read, first, end, { blockSize, large = false }) {
  const position = end % blockSize
  const start = end - position
  if (position > 0) {
    const last = lastRecord(await read(start, position), position, large)
    if (last !== -1) return start + last
  }
  // a corrupt block does not say where its last record is; the one before it may
  for (let at = start - blockSize; at >= first; at -= blockSize) {
    const block = await read(at, blockSize)
    const last = findProblem(block, false) === null ? lastRecord(block, paddingStart(block), large) : -1
    if (last !== -1) return at + last
  }
  return -1
}

module.exports = { findEnd }
