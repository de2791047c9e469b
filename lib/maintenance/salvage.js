'use strict'

// Makes a corrupt block valid: without its records, or with those whose frames are whole.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')
const { endOfRecords, frameProblem } = require('../format/validation')
const { noCounts, tally } = require('./counts')

/** The least bytes that a deleted record can fill. */
const MIN_RECORD = layout.FRAME_SIZE + 1

/** @typedef {import('./blocks').ScannedBlock} ScannedBlock */

/**
 * Replaces the contents of a block by one deleted record.
 * @param {ScannedBlock} block
 */
function blankBlock (block) {
  const { buffer, sealed } = block
  block.end = sealed ? buffer.length - layout.paddingSize(true) : buffer.length
  blank(buffer, 0, block.end)
  if (sealed) sealBlock(block)
}

/**
 * Keeps the records from the block's start, and those before its end, that have
 * whole frames; a deleted record replaces the bytes between them.
 * @param {ScannedBlock} block not changed if there are none
 * @returns {number} how many were kept, deleted ones not counted
 */
function keepWholeFrames (block) {
  const { buffer, sealed } = block
  const { front, back, end } = wholeFrames(buffer, sealed)
  const kept = noCounts()
  tally(kept, buffer, front)
  tally(kept, buffer.subarray(back), end - back)
  if (kept.records === 0) return 0

  if (back > front) blank(buffer, front, back)
  block.end = end
  if (sealed) sealBlock(block)
  return kept.records
}

/**
 * @param {Buffer} buffer
 * @param {boolean} sealed
 * @returns {{ front: number, back: number, end: number }} whole records are before
 *   `front`, and from `back` to `end`; between them is nothing, or room for a deleted record
 */
function wholeFrames (buffer, sealed) {
  const most = sealed ? buffer.length - layout.paddingSize(false) : buffer.length
  const end = sealed ? markedEnd(buffer, most) : most
  let front = endOfRecords(buffer, 0, end ?? most)
  const back = end === null ? front : startOfLastFrames(buffer, front, end)
  // with nothing behind the break, the block's padding can start there
  if (end === null || front === end || (sealed && back === end)) return { front, back: front, end: front }
  while (back - front < MIN_RECORD && front > 0) front = layout.previousPosition(buffer, front)
  return { front, back, end }
}

/**
 * @param {Buffer} buffer a whole block
 * @param {number} most
 * @returns {number | null} where its padding starts, if it is where the block says
 */
function markedEnd (buffer, most) {
  const start = layout.paddingStart(buffer)
  return start <= most && layout.readLength(buffer, start) === buffer.length - 1 ? start : null
}

/**
 * @param {Buffer} buffer
 * @param {number} front no record may start before
 * @param {number} end where a record should end
 * @returns {number} where the first of the whole records before `end` starts, with
 *   room for a deleted one in front of it; `end` if there is none
 */
function startOfLastFrames (buffer, front, end) {
  let position = end
  while (position - front > MIN_RECORD + layout.FRAME_SIZE) {
    const start = layout.previousPosition(buffer, position)
    if (start < front + MIN_RECORD || frameProblem(buffer, start, position) !== null) break
    if (layout.nextPosition(buffer, start) !== position) break
    position = start
  }
  return position
}

/**
 * @param {Buffer} buffer
 * @param {number} start
 * @param {number} end at least MIN_RECORD after it
 */
function blank (buffer, start, end) {
  layout.writeRecord(buffer, start, Buffer.alloc(end - start - layout.FRAME_SIZE))
}

/** @param {ScannedBlock} block */
function sealBlock ({ buffer, end }) {
  layout.seal(buffer, end)
  writeChecksum(buffer)
}

module.exports = { blankBlock, keepWholeFrames }
