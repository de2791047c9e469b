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
 * Moves a cursor past the corrupt block, or large record, in which it failed.
 * @param {Cursor} cursor
 * @returns {Skipped}
 */
function skipBlock (cursor) {
  const error = /** @type {Error} */ (cursor.error)
  const range = cursor.failedRange()
  cursor.skipBlock()
  return { ...range, error }
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
