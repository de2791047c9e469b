'use strict'

// The options of a cursor's streams: those of a log's streams that leave the bounds to the cursor.

const { optionNames, pick } = require('../option-names')

const CURSOR_STREAM_NAMES = ['deleted', 'live', 'limit', 'seqs', 'values', 'cache', 'skipCorrupt', 'onSkip', 'fromStart']

/**
 * @param {string} of what takes them
 * @param {any} options
 * @returns {import('../read/options').StreamOptions}
 * @throws flumelog:invalid
 */
function cursorStreamOptions (of, options) {
  checkCursorNames(of, options)
  return pick(options, CURSOR_STREAM_NAMES)
}

/**
 * @param {string} of
 * @param {any} options
 * @param {string[]} [more] names that it takes itself
 * @throws flumelog:invalid
 */
function checkCursorNames (of, options, more = []) {
  optionNames(`${of} of a cursor`, [...CURSOR_STREAM_NAMES, ...more])(options)
}

module.exports = { checkCursorNames, cursorStreamOptions, CURSOR_STREAM_NAMES }
