'use strict'

// Decides which part of a block belongs to the log when it is not known that all of it was
// written. Pure; find-end.js reads the bytes.

const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { ESCAPED, PART, PLAIN, kindOf } = require('../format/chunk')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { isZeros } = require('../format/zeros')

/** Bytes that a disk writes whole. */
const SECTOR_SIZE = 512

/**
 * @typedef {object} RecoverOptions
 * @property {number} blockSize in bytes
 * @property {boolean} checksum whether checksums are compared
 * @property {(data: Buffer) => boolean} isWhole whether a record's data seems to be as it was appended
 * @property {(position: number) => boolean} [isErased] whether the record that starts there was deleted behind the recovery
 *   point, so that zeros are all that is to be there
 */

/**
 * A block behind the recovery point: none of it was known to be durable, so any part of it
 * may be old or missing.
 * @param {Buffer} block shorter than `blockSize` if the file ends in it
 * @param {number} position up to which it was durable
 * @param {RecoverOptions} options
 * @returns {number} where it stops being whole; `blockSize` if all of it is
 */
function endOfUnsynced (block, position, options) {
  const { blockSize, checksum } = options
  const isComplete = block.length === blockSize
  const isValid = isComplete && findProblem(block, checksum) === null
  if (isValid && checksum && storedChecksum(block) !== 0) return blockSize
  // without a checksum, a page may be missing in the middle of a record, and its lengths do not show it
  const end = endOfIntact(block, position, options)
  const isCorruptBefore = endOfRecords(block, 0, position) !== position
  const isSealed = isComplete && layout.paddingStart(block) === end && (isValid || isCorruptBefore)
  return isSealed ? blockSize : end
}

/**
 * @param {Buffer} block
 * @param {number} position where a record starts
 * @param {RecoverOptions} options
 * @returns {number} where the first record starts that is not as it was appended
 */
function endOfIntact (block, position, { blockSize, isWhole, isErased = () => false }) {
  const end = endOfRecords(block, position, Math.min(block.length, blockSize - layout.paddingSize(false)))
  while (position < end) {
    const next = layout.nextPosition(block, position)
    // other zeros are data that never reached the disk
    const isIntact = layout.isDeleted(block, position)
      ? isErased(position)
      : isWhole(block.subarray(position + layout.LENGTH_SIZE, next - layout.LENGTH_SIZE))
    if (!isIntact) break
    position = next
  }
  return position
}

/**
 * A write that was torn in the middle of a record, with both lengths there, lacks at least a sector, which reads as zeros.
 * @param {Buffer} block shorter than `blockSize` if the file ends in it
 * @param {number} offset of the block in the file
 * @param {number} position where its records stop being whole
 * @param {RecoverOptions} options
 * @returns {boolean} whether the record there was not torn, but is one that the codec refuses
 */
function isRefusedByCodec (block, offset, position, { blockSize, checksum, isWhole }) {
  if (block.length === blockSize && findProblem(block, checksum) !== null) return false
  const end = endOfRecords(block, position, Math.min(block.length, blockSize - layout.paddingSize(false)))
  if (end === position || layout.isDeleted(block, position)) return false
  const data = layout.dataAt(block, position)
  // otherwise it is in a run that is not whole
  if (isWhole(data)) return false
  return [PLAIN, ESCAPED].includes(kindOf(data)) && !lacksSector(data, offset + position + layout.LENGTH_SIZE)
}

/**
 * @param {Buffer} block up to the end of the log, or all of it
 * @param {RecoverOptions} options
 * @returns {boolean} whether the codec accepts a record in it
 */
function hasWhole (block, { blockSize, isWhole }) {
  const end = endOfRecords(block, 0, Math.min(block.length, blockSize - layout.paddingSize(false)))
  return layout.livePositions(block, end).some(position => isWhole(layout.dataAt(block, position)))
}

/**
 * @param {Buffer} data
 * @param {number} offset of the data in the file
 */
function lacksSector (data, offset) {
  for (let at = (SECTOR_SIZE - offset % SECTOR_SIZE) % SECTOR_SIZE; at + SECTOR_SIZE <= data.length; at += SECTOR_SIZE) {
    if (isZeros(data.subarray(at, at + SECTOR_SIZE))) return true
  }
  return false
}

/**
 * The last block of a log without a recovery point: it was closed, copied, or written by
 * another program. No record with a valid frame is truncated, and corruption before the last
 * whole record stays.
 * @param {Buffer} block up to the end of the file's data
 * @param {number} blockSize in bytes
 * @returns {number} where the log ends in it
 */
function endOfLastBlock (block, blockSize) {
  const most = Math.min(block.length, blockSize - layout.paddingSize(false))
  const end = endOfRecords(block, 0, most)
  // a tail is never as long as a block: it was sealed, corrupt or not, unless only zeros follow its records
  if (block.length === blockSize) return layout.isStorable(block.subarray(end)) ? blockSize : end
  // records behind the corruption, up to the very end: nothing is torn
  if (end < block.length && block.length <= most && lastFrame(block, end + 1) !== -1) return block.length
  return end
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @returns {number} where a record starts that ends with the last byte; -1 if none does
 */
function lastFrame (bytes, from) {
  if (bytes.length < layout.FRAME_SIZE + 1) return -1
  const position = layout.previousPosition(bytes, bytes.length)
  return position >= from && isFrame(bytes, position, bytes.length) ? position : -1
}

/**
 * @param {Buffer} block
 * @param {number} end where its last record should end
 * @param {boolean} large whether the parts of large records are passed over: at the end, a crash has left them
 * @returns {number} where the last record starts; -1 if it cannot be found
 */
function lastRecord (block, end, large) {
  let last = lastFrame(block.subarray(0, end), 0)
  if (!large) return last
  while (last !== -1 && kindOf(layout.dataAt(block, last)) === PART) last = lastFrame(block.subarray(0, last), 0)
  return last
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @returns {boolean} whether they are those of one record
 */
function isFrame (bytes, start, end) {
  return frameProblem(bytes, start, end) === null && layout.nextPosition(bytes, start) === end
}

module.exports = { endOfUnsynced, hasWhole, isRefusedByCodec, endOfLastBlock, lastFrame, lastRecord }
