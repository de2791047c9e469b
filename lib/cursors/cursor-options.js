'use strict'

// The options of a cursor's streams: those of a log's streams that leave the bounds to the cursor.

const errors = require('../errors')
const { optionNames, pick } = require('../option-names')

const CURSOR_STREAM_NAMES = ['deleted', 'live', 'limit', 'seqs', 'values', 'cache', 'skipCorrupt', 'onSkip', 'fromStart']

/** Options of a log's streams, and why a cursor's have them not. @type {Record<string, string>} */
const REFUSED = {
  gt: 'it starts after the record that was committed last; commit another seq to start elsewhere',
  gte: 'it starts after the record that was committed last; commit another seq to start elsewhere',
  lt: 'records after the bound would be neither given nor committed; use limit, or stop reading',
  lte: 'records after the bound would be neither given nor committed; use limit, or stop reading',
  reverse: 'a commit says that all records before it are done, so they come in order',
  old: 'it would leave out records that were not committed; commit the seq of the last record to skip them'
}

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
  if (typeof options === 'object' && options !== null) {
    const refused = Object.keys(REFUSED).find(name => options[name] !== undefined && options[name] !== null)
    if (refused !== undefined) throw errors.invalid(`${of} of a cursor takes no \`${refused}\`: ${REFUSED[refused]}`)
  }
  optionNames(`${of} of a cursor`, [...CURSOR_STREAM_NAMES, ...more], Object.keys(REFUSED))(options)
}

module.exports = { checkCursorNames, cursorStreamOptions, CURSOR_STREAM_NAMES }
