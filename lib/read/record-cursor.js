'use strict'

const { BackwardCursor, ForwardCursor } = require('./cursor')
const { LargeForwardCursor, LargeBackwardCursor } = require('./large-cursor')

/**
 * @param {import('./block-cache').BlockCache} blocks
 * @param {import('./options').Range} range
 * @param {() => void} onready called when a block that was waited for is there
 * @returns {import('./cursor').Cursor} over the records as they were appended: large ones as a whole, if the log is open with `large`
 */
function openRecordCursor (blocks, range, onready) {
  const { large } = blocks
  if (range.reverse) return new (large ? LargeBackwardCursor : BackwardCursor)(blocks, range, onready)
  return new (large ? LargeForwardCursor : ForwardCursor)(blocks, range, onready)
}

module.exports = { openRecordCursor }
