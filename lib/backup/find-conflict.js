'use strict'

// Whether a block of an earlier backup can be one of the log: both have the same records, but for those that are deleted. Pure.

const layout = require('../format/layout')
const { endOfRecords } = require('../format/validation')

/**
 * @param {Buffer} block of the log
 * @param {Buffer} copy of the block in the backup, which may have fewer records
 * @param {number} end position after the last record of the copy
 * @returns {number} position of the first record that differs; -1: there is none
 */
function findConflict (block, copy, end) {
  let position = 0
  while (position < end && hasSameFrame(block, copy, position, end)) {
    const next = layout.nextPosition(copy, position)
    if (block.compare(copy, position, next, position, next) !== 0 && !layout.isDeleted(block, position) && !layout.isDeleted(copy, position)) return position
    position = next
  }
  // a full block has no more records than its copy
  if (position === end && (end === copy.length || layout.paddingStart(block) === end)) return -1
  // all that it had may have become one deleted record
  const isOneDeleted = layout.livePositions(block, endOfRecords(block, 0, block.length)).length === 0 || layout.livePositions(copy, end).length === 0
  return isOneDeleted ? -1 : position
}

/**
 * @param {Buffer} block
 * @param {Buffer} copy
 * @param {number} position
 * @param {number} end of the records of the copy
 */
function hasSameFrame (block, copy, position, end) {
  const length = layout.readLength(copy, position)
  const next = position + length + layout.FRAME_SIZE
  return next <= end && length === layout.readLength(block, position) && length === layout.readLength(block, next - layout.LENGTH_SIZE)
}

module.exports = { findConflict }
