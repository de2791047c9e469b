'use strict'

// Which bytes of a block are valid. Each check of format.md, section "Reading", is in
// one function, and nothing here believes a length before it has been checked.

const { checksumByParts, checksumOf, storedChecksum } = require('./checksum')
const { BARE_PADDING_SIZE, FRAME_SIZE, LENGTH_SIZE, isDeleted, paddingStart, readLength } = require('./layout')

/** Bytes that a processor fetches at a time; most have this. */
const CACHE_LINE_SIZE = 64

/**
 * The first thing in a block that breaks the format.
 * @typedef {{ position: number, reason: string }} Problem
 */

/**
 * @param {Buffer} block
 * @param {number} position where a record should start
 * @param {number} end of the bytes that may be read
 * @returns {string | null} what is wrong with the record's frame
 */
function frameProblem (block, position, end) {
  if (position + FRAME_SIZE >= end) return `${end - position} bytes are left, too few for a record`
  const length = readLength(block, position)
  if (length === 0) return 'record length 0'
  if (position + length + FRAME_SIZE > end) return `record length ${length} runs past the end`
  const again = readLength(block, position + LENGTH_SIZE + length)
  if (again !== length) return `the length before the record is ${length}, after it ${again}`
  return null
}

/**
 * @param {Buffer} block
 * @param {number} position where a record starts, or `end`
 * @param {number} end of the bytes that may be read
 * @returns {number} where the last whole record ends; `position` if there is none
 */
function endOfRecords (block, position, end) {
  while (position + FRAME_SIZE < end) {
    const length = block[position] | block[position + 1] << 8
    const next = position + length + FRAME_SIZE
    if (length === 0 || next > end) break
    const last = next - LENGTH_SIZE
    if ((block[last] | block[last + 1] << 8) !== length) break
    position = next
  }
  return position
}

/**
 * @param {Buffer} block
 * @param {Buffer} other the same block at another time
 * @param {number} end of the records of `block`
 * @returns {number} up to where both have the same records, but for those that are deleted in one of them
 */
function endOfSame (block, other, end) {
  let position = 0
  while (position < end) {
    const length = readLength(block, position)
    const next = position + length + FRAME_SIZE
    if (next > end || readLength(other, position) !== length || readLength(other, next - LENGTH_SIZE) !== length) break
    if (block.compare(other, position, next, position, next) !== 0 && !isDeleted(block, position) && !isDeleted(other, position)) break
    position = next
  }
  return position
}

/**
 * Checks a sealed block: its checksum, that its records follow each other up to
 * the padding, and that the padding is where the block says.
 * @param {Buffer} block a whole block
 * @param {boolean} checksum whether to compare the checksum, if there is one
 * @param {import('./checksum').Parts | null} [parts] are filled if the block has a checksum
 * @returns {Problem | null} null if it is valid
 */
function findProblem (block, checksum, parts = null) {
  const blockSize = block.length
  const start = paddingStart(block)
  if (start > blockSize - BARE_PADDING_SIZE || start <= FRAME_SIZE) {
    return { position: blockSize - 4, reason: `invalid padding offset ${start}` }
  }
  // first, since it reads the bytes in order: the jumps from length to length then hit the processor's cache
  const isAuthentic = checksum ? checksumMatches(block, parts) : prefetch(block)
  const end = endOfRecords(block, 0, start)
  if (end !== start) {
    return { position: end, reason: /** @type {string} */ (frameProblem(block, end, start)) }
  }
  if (readLength(block, start) !== blockSize - 1) {
    return { position: start, reason: `padding mark is ${readLength(block, start)}, expected ${blockSize - 1}` }
  }
  if (isAuthentic) return null
  return { position: 0, reason: `checksum mismatch: computed ${hex(checksumOf(block))}, stored ${hex(storedChecksum(block))}` }
}

/**
 * Brings a block into the processor's cache: many cache lines are fetched at a time, where
 * following lengths waits for each before it knows where the next one is. This takes a
 * quarter off a scan without checksums.
 * @param {Buffer} block
 * @returns {boolean} true
 */
function prefetch (block) {
  let bits = 0
  for (let position = 0; position < block.length; position += CACHE_LINE_SIZE) bits |= block[position]
  return bits >= 0
}

/**
 * @param {Buffer} block a sealed block
 * @param {import('./checksum').Parts | null} parts
 * @returns {boolean} whether its checksum is right, or it has none
 */
function checksumMatches (block, parts) {
  const stored = storedChecksum(block)
  return stored === 0 || stored === (parts === null ? checksumOf(block) : checksumByParts(block, parts))
}

/** @param {number} checksum */
function hex (checksum) {
  return checksum.toString(16).padStart(8, '0')
}

module.exports = { frameProblem, endOfRecords, endOfSame, findProblem }
