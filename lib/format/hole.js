'use strict'

// A hole: a sealed block of one deleted record that fills it, which is what becomes of a block
// when all of its records are deleted. Almost all of it is zeros, so that its space can be freed.

const layout = require('./layout')
const { writeChecksum } = require('./checksum')
const { isZeros } = require('./zeros')

/** Holes of a size are all the same; by block size, negative without a checksum. @type {Map<number, Buffer>} */
const holes = new Map()

/**
 * @param {number} blockSize in bytes
 * @param {boolean} checksum whether it has one
 * @returns {Buffer} always the same; not to be written to
 */
function holeOf (blockSize, checksum) {
  const key = checksum ? blockSize : -blockSize
  const known = holes.get(key)
  if (known !== undefined) return known
  const hole = Buffer.alloc(blockSize)
  const length = layout.maxRecordSize(blockSize, checksum)
  layout.writeLength(hole, 0, length)
  layout.writeLength(hole, layout.LENGTH_SIZE + length, length)
  layout.seal(hole, length + layout.FRAME_SIZE)
  if (checksum) writeChecksum(hole)
  holes.set(key, hole)
  return hole
}

/**
 * @param {Buffer} block a whole block that is valid
 * @returns {boolean}
 */
function isHole (block) {
  const end = layout.nextPosition(block, 0)
  if (end < block.length - layout.CHECKED_PADDING_SIZE || end !== layout.paddingStart(block)) return false
  return isZeros(block.subarray(layout.LENGTH_SIZE, end - layout.LENGTH_SIZE))
}

/**
 * @param {number} length of the first record of a block
 * @param {number} blockSize in bytes
 * @returns {boolean} whether the block may be a hole
 */
function isHoleLength (length, blockSize) {
  return length >= layout.maxRecordSize(blockSize, true)
}

/**
 * @param {number} size in bytes of some records
 * @returns {Buffer} one deleted record in their place
 */
function deletedPart (size) {
  const part = Buffer.alloc(size)
  layout.writeRecord(part, 0, Buffer.alloc(size - layout.FRAME_SIZE))
  return part
}

module.exports = { deletedPart, holeOf, isHole, isHoleLength }
