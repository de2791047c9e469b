'use strict'

// What a reader may show of a log that another process writes: decided from the bytes of
// the block in which the log ends, what was shown of it before, and how far its writer has
// acknowledged appends. Pure: no I/O, no state.

const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { isHole } = require('../format/hole')
const { endOfRecords, findProblem } = require('../format/validation')

/**
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../format/validation').Problem} Problem
 */

/**
 * @typedef {object} Bounds all of them offsets in the file
 * @property {number} limit nothing behind it is shown
 * @property {number} complete blocks that end here or before are complete: what is invalid there is corrupt. Behind
 *   it, invalid bytes may be a write in progress, or one that a crash interrupted: recovery would truncate them
 * @property {number} validateFrom records that start here or behind are shown only if `isWhole` accepts them, and none
 *   of zeros is, unless it was deleted: others are torn
 */

/**
 * @typedef {object} Tail the block in which the log ends
 * @property {number} start offset of its first byte
 * @property {Buffer} bytes up to the limit; a whole block at most
 * @property {Buffer} shownBytes the bytes it had when it was last shown
 * @property {number} shownEnd position up to which it was shown
 */

/**
 * @typedef {object} TailOptions
 * @property {number} blockSize in bytes
 * @property {boolean} checksum whether to compare checksums
 * @property {(data: Buffer) => boolean} isWhole whether a record's data seems to be as it was appended
 * @property {(position: number) => boolean} [isErased] whether the recovery point says that the record which starts there was deleted
 */

/**
 * @typedef {object} Visible
 * @property {'open' | 'sealed' | 'corrupt' | 'changed'} state open: more may follow in this block. sealed: it follows
 *   in the next one. corrupt: see `problem`. changed: records that were shown are not there any longer, see `end`
 * @property {number} end position up to which records are shown
 * @property {Problem | null} problem
 */

/**
 * @param {RecoveryPoint | null} point
 * @param {number | null} acknowledged by the live writer; null: there is none
 * @param {number} size the file's, in bytes
 * @param {number} blockSize in bytes
 * @param {{ kept: number, cut: number }} found where the log ended when it was opened, and what was behind that
 * @returns {Bounds}
 */
function boundsOf (point, acknowledged, size, blockSize, found) {
  if (acknowledged !== null) {
    const limit = Math.min(size, acknowledged)
    return { limit, complete: limit, validateFrom: Infinity }
  }
  // a crash, or a writer that cannot be seen here: as recovery would keep it
  if (point !== null) return { limit: size, complete: point.offset, validateFrom: point.offset }
  // closed, or written by another program: only the last block can be incomplete. What was found behind the end stays
  // out of the log until a writer removes it; that may be gigabytes of nothing
  const limit = size === found.kept + found.cut ? found.kept : size
  return { limit, complete: limit - 1 - (limit - 1) % blockSize, validateFrom: Infinity }
}

/**
 * The part of the file that a reader opens.
 * @param {RecoveryPoint | null} point
 * @param {number} size the file's, in bytes
 * @returns {{ size: number, point: RecoveryPoint | null }} with a live writer, everything up to what that has
 *   acknowledged, and nothing of it is in doubt
 */
function visiblePart (point, size) {
  if (point === null || !point.isHeld) return { size, point }
  const end = Math.min(size, point.acknowledged ?? point.offset)
  return { size: end, point: { ...point, offset: end } }
}

/**
 * @param {Tail} tail
 * @param {Bounds} bounds
 * @param {TailOptions} options
 * @returns {Visible}
 */
function visibleTail (tail, bounds, options) {
  const { start, bytes, shownBytes, shownEnd } = tail
  const { blockSize, checksum } = options
  const isFull = bytes.length === blockSize
  const problem = isFull ? findProblem(bytes, checksum) : null
  const from = Math.max(shownEnd, bounds.validateFrom - start)
  const framed = endOfRecords(bytes, 0, Math.min(bytes.length, blockSize - layout.paddingSize(false)))
  if (problem !== null && start + blockSize <= bounds.complete) return { state: 'corrupt', end: Math.min(framed, shownEnd), problem }
  // what was shown of it was deleted, with all that came after it
  if (isFull && problem === null && isHole(bytes)) return { state: 'sealed', end: layout.paddingStart(bytes), problem: null }
  if (!isStillThere(shownBytes, bytes, shownEnd)) return { state: 'changed', end: Math.min(framed, shownEnd), problem: null }
  if (isFull && problem === null) {
    const end = layout.paddingStart(bytes)
    if (checksum && storedChecksum(bytes) !== 0) return { state: 'sealed', end, problem: null }
    // without a checksum, a page may be missing in the middle of a record, and its frame does not show it
    const whole = endOfWhole(bytes, from, end, options)
    return { state: whole === end ? 'sealed' : 'open', end: whole, problem: null }
  }
  return { state: 'open', end: endOfWhole(bytes, from, framed, options), problem: null }
}

/**
 * @param {Buffer} before
 * @param {Buffer} now
 * @param {number} end of the records that were shown
 * @returns {boolean} whether they are what they were, or deleted, or not deleted after all: a deletion that could not be made durable is
 *   taken back
 */
function isStillThere (before, now, end) {
  if (end > now.length || endOfRecords(now, 0, end) !== end) return false
  if (before.compare(now, 0, end, 0, end) === 0) return true
  for (let position = 0; position < end; position = layout.nextPosition(now, position)) {
    const next = layout.nextPosition(now, position)
    if (layout.nextPosition(before, position) !== next) return false
    if (layout.isDeleted(now, position) || layout.isDeleted(before, position)) continue
    if (before.compare(now, position, next, position, next) !== 0) return false
  }
  return true
}

/**
 * @param {Buffer} bytes whose frames are valid up to `end`
 * @param {number} from position from which on records are validated
 * @param {number} end
 * @param {TailOptions} options
 * @returns {number} where the first record starts that is not whole; `end` if all are
 */
function endOfWhole (bytes, from, end, { isWhole, isErased = () => false }) {
  if (from >= end) return end
  for (let position = 0; position < end; position = layout.nextPosition(bytes, position)) {
    if (position < from) continue
    const isThere = layout.isDeleted(bytes, position) ? isErased(position) : isWhole(layout.dataAt(bytes, position))
    if (!isThere) return position
  }
  return end
}

module.exports = { boundsOf, visiblePart, visibleTail }
