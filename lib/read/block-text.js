'use strict'

// The text of a whole block, decoded at once. Slices of it are the text of its records, which takes less time than to
// decode each record by itself. Only for ASCII, where each byte is a character.

const { isAscii } = require('buffer')
const layout = require('../format/layout')

const SPACE = 32
/** A copy of the block, of which the lengths are overwritten: these are not ASCII. */
const copy = Buffer.allocUnsafeSlow(layout.MAX_BLOCK_SIZE)

/**
 * @param {Buffer} block
 * @param {number} end where its records end
 * @returns {string | null} a text in which each record has the positions that it has in the block; null if a record is not ASCII
 */
function textOf (block, end) {
  const records = copy.subarray(0, end)
  records.set(block.subarray(0, end))
  for (let position = 0; position < end;) {
    const next = layout.nextPosition(block, position)
    copy[position] = copy[position + 1] = copy[next - 2] = copy[next - 1] = SPACE
    position = next
  }
  return isAscii(records) ? records.toString('latin1') : null
}

module.exports = { textOf }
