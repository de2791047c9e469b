'use strict'

// Deletions as versions before 0.1.0 left them in a recovery point: the new bytes of a block, whole. Opening
// the log completes them. Completing one in a file it was not made for would erase records of that file. So an
// image also says what it replaces, by checksums: a line is a stretch of the file of a fixed size,
// smaller than any sector, so of an interrupted write it is as it was before or after.

const { crc32 } = require('zlib')
const layout = require('../format/layout')
const { endOfRecords } = require('../format/validation')
const { isZeros } = require('../format/zeros')

/** Bytes; lines start at multiples of it in the file. */
const LINE_SIZE = 64
const CHECKSUM_SIZE = 4
/** A line can be half old, half new where the write stopped, and where restoring the old bytes did. */
const MAX_TORN = 2

/**
 * @typedef {import('../storage/recovery-point').Rewrite} Rewrite
 * @typedef {{ start: number, end: number }} Range positions in the block
 * @typedef {Range & { hasDeleted: boolean }} Line
 */

/**
 * @param {Rewrite} rewrite
 * @param {Buffer} current what the file has in its place: as before the deletion, after it, or part of each
 * @returns {boolean} whether the rewrite was made for this file
 */
function belongsTo (rewrite, current) {
  const { offset, data, replaces } = rewrite
  const deleted = deletedData(data)
  if (!keepsTheRest(data, current, deleted)) return false
  if (replaces === undefined) return true

  const lines = linesOf(offset, data, deleted)
  if (replaces.length !== lines.filter(({ hasDeleted }) => hasDeleted).length * CHECKSUM_SIZE) return false
  let confirmed = 0
  let index = 0
  /** @type {Line[]} */
  const torn = []
  for (const line of lines) {
    const { start, end } = line
    const isNew = current.compare(data, start, end, start, end) === 0
    const isOld = line.hasDeleted && crc32(current.subarray(start, end)) === replaces.readUInt32LE(index++ * CHECKSUM_SIZE)
    if (isNew || isOld) confirmed++
    else torn.push(line)
  }
  return torn.length <= MAX_TORN && torn.every(line => canBeTorn(line, current, deleted, confirmed > 0))
}

/**
 * @param {Line} line
 * @param {Buffer} current
 * @param {Range[]} deleted
 * @param {boolean} hasOther whether something else shows that the rewrite belongs to the file
 * @returns {boolean} whether it can be old and new in part; its old part cannot be checked
 */
function canBeTorn ({ start, end }, current, deleted, hasOther) {
  const parts = deleted.filter(range => range.start < end && range.end > start)
  const first = Math.max(start, parts[0].start)
  const last = Math.min(end, parts[parts.length - 1].end) - 1
  return current[first] === 0 || (hasOther && current[last] === 0)
}

/**
 * @param {Buffer} data
 * @param {Buffer} current
 * @param {Range[]} deleted
 * @returns {boolean} whether the file has everything that the deletion keeps
 */
function keepsTheRest (data, current, deleted) {
  let position = 0
  for (const { start, end } of deleted) {
    if (current.compare(data, position, start, position, start) !== 0) return false
    position = end
  }
  const end = endOfRecords(data, 0, data.length)
  return current.compare(data, position, end, position, end) === 0
}

/**
 * @param {Buffer} data
 * @returns {Range[]} the data of deleted records
 */
function deletedData (data) {
  const ranges = []
  const end = endOfRecords(data, 0, data.length)
  for (let position = 0; position < end;) {
    const next = layout.nextPosition(data, position)
    const range = { start: position + layout.LENGTH_SIZE, end: next - layout.LENGTH_SIZE }
    if (isZeros(data.subarray(range.start, range.end))) ranges.push(range)
    position = next
  }
  return ranges
}

/**
 * @param {number} offset of the block in the file
 * @param {Buffer} data
 * @param {Range[]} deleted
 * @returns {Line[]} the lines of its records
 */
function linesOf (offset, data, deleted) {
  const lines = []
  const endOfAll = endOfRecords(data, 0, data.length)
  let index = 0
  for (let start = 0; start < endOfAll;) {
    const end = Math.min(endOfAll, start + LINE_SIZE - (offset + start) % LINE_SIZE)
    while (index < deleted.length && deleted[index].end <= start) index++
    lines.push({ start, end, hasDeleted: index < deleted.length && deleted[index].start < end })
    start = end
  }
  return lines
}

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size the file's, in bytes
 * @param {Rewrite[]} rewrites of its recovery point
 * @param {number} blockSize
 * @returns {Promise<Rewrite[]>} those that were made for this file: a recovery point beside a file that was restored
 *   from elsewhere has others
 */
async function ownRewrites (read, size, rewrites, blockSize) {
  const own = []
  for (const rewrite of rewrites) {
    const { offset, data } = rewrite
    if (offset % blockSize !== 0 || data.length > blockSize || offset + data.length > size) continue
    if (belongsTo(rewrite, await read(offset, data.length))) own.push(rewrite)
  }
  return own
}

module.exports = { belongsTo, deletedData, linesOf, ownRewrites, CHECKSUM_SIZE }
