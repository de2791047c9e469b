'use strict'

// The ranges that a stream with `skipCorrupt` leaves out.

const { FRAME_SIZE } = require('../format/layout')

/** @typedef {import('./cursor').Cursor} Cursor */
/** @typedef {import('./options').Skipped} Skipped */

/** @param {Error | null} err */
function isCorrupt (err) {
  return /** @type {{ code?: string } | null} */ (err)?.code === 'flumelog:corrupt'
}

/**
 * Moves a cursor past the corrupt block in which it failed.
 * @param {Cursor} cursor
 * @returns {Skipped}
 */
function skipBlock (cursor) {
  const { number, blockSize, blocks, position, block } = cursor
  const error = /** @type {Error} */ (cursor.error)
  const start = number * blockSize
  const end = start + (number === blocks.tail.number ? blocks.tail.buffer.length : blockSize)
  cursor.skipBlock()
  // a follower may have given the first records of a block before it became corrupt
  return { start: block === null ? start : start + position, end, error }
}

/**
 * @param {Cursor} cursor at a record that the codec cannot decode
 * @param {Error} error
 * @returns {Skipped}
 */
function currentRecord ({ seq, start, end }, error) {
  return { start: seq, end: seq + end - start + FRAME_SIZE, error }
}

module.exports = { isCorrupt, skipBlock, currentRecord }
