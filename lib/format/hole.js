'use strict'

// A hole: a full block of one deleted record that fills it. All holes of a log have the same bytes, nearly all of
// them zeros.

const layout = require('./layout')
const { writeChecksum } = require('./checksum')
const { findProblem } = require('./validation')

/**
 * @param {number} blockSize in bytes
 * @param {boolean} checksum whether blocks are sealed with a checksum
 * @returns {Buffer}
 */
function createHole (blockSize, checksum) {
  const block = Buffer.alloc(blockSize)
  const end = layout.writeRecord(block, 0, Buffer.alloc(layout.maxRecordSize(blockSize, checksum)))
  layout.seal(block, end)
  if (checksum) writeChecksum(block)
  return block
}

/**
 * @param {Buffer} block a whole block
 * @returns {boolean}
 */
function isHole (block) {
  return isHoleLength(layout.readLength(block, 0), block.length) && findProblem(block, true) === null && layout.isDeleted(block, 0)
}

/**
 * @param {number} length of the first record of a block
 * @param {number} blockSize
 * @returns {boolean} whether nothing else fits into the block
 */
function isHoleLength (length, blockSize) {
  return length === layout.maxRecordSize(blockSize, true) || length === layout.maxRecordSize(blockSize, false)
}

module.exports = { createHole, isHole, isHoleLength }
