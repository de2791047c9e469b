'use strict'

// The cursor over a log's records as they were appended: large ones as a whole, if the log is open with `large`.

const { openCursor } = require('./cursor')
const { openLargeCursor } = require('./large-cursor')

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {import('./options').Range} range
 * @param {() => void} onready called when a block that was waited for is there
 * @returns {import('./cursor').Cursor}
 */
function openRecordCursor (blocks, range, onready) {
  return blocks.large ? openLargeCursor(blocks, range, onready) : openCursor(blocks, range, onready)
}

module.exports = { openRecordCursor }
