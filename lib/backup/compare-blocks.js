'use strict'

// Compares a block of a log with the same block of an earlier backup. Pure.

const layout = require('../format/layout')
const { endOfRecords } = require('../format/validation')

/**
 * @typedef {object} Difference
 * @property {number[]} deleted positions of records that are deleted in the log only
 * @property {boolean} isRelated whether both have the same records, deleted or not: so it is a backup of this log
 * @property {boolean} isMerged all that the block had is deleted in the log, and has become one deleted record there
 * @property {boolean} isOlder the log has a record that is deleted in the backup
 * @property {number} conflict position of the first record that differs; -1: there is none
 */

/**
 * @param {Buffer} block of the log
 * @param {Buffer} copy of the block in the backup, which may have fewer records
 * @param {number} end position after the last record of the copy
 * @returns {Difference}
 */
function compareBlocks (block, copy, end) {
  /** @type {number[]} */
  const deleted = []
  let isOlder = false
  let position = 0
  while (position < end && hasSameFrame(block, copy, position, end)) {
    const next = layout.nextPosition(copy, position)
    if (block.compare(copy, position, next, position, next) !== 0) {
      if (layout.isDeleted(block, position)) deleted.push(position)
      else if (layout.isDeleted(copy, position)) isOlder = true
      else break
    }
    position = next
  }
  // a full block has no more records than its copy
  const isWhole = position === end && (end === copy.length || layout.paddingStart(block) === end)
  if (isWhole) return { deleted, isRelated: position > 0, isMerged: false, isOlder, conflict: -1 }
  const live = layout.livePositions(copy, end)
  const isMerged = layout.livePositions(block, endOfRecords(block, 0, block.length)).length === 0
  isOlder = !isMerged && live.length === 0
  return { deleted: isMerged ? live : [], isRelated: false, isMerged, isOlder, conflict: isMerged || isOlder ? -1 : position }
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

module.exports = { compareBlocks }
