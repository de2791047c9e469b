'use strict'

// Counts the records of valid blocks, and their sizes.

const { FIRST_BYTE, PART, kindOf } = require('../format/chunk')
const { isHoleLength } = require('../format/hole')
const layout = require('../format/layout')

/** Record sizes are counted by powers of two: 1, 2-3, 4-7 ... 32768-65535. */
const SIZE_CLASSES = 16

/**
 * @typedef {object} Counts
 * @property {number} records deleted ones not counted; of a large record (option `large`), all chunks
 * @property {number} parts records among them that are chunks of large ones, and not the last: `records - parts` were appended
 * @property {number} bytes of data in them
 * @property {number} deleted records; one of them for each block that was freed
 * @property {number} freed full blocks among them: one deleted record in the place of all that were in the block
 * @property {number} deletedBytes of data that was in these
 * @property {number} framing bytes of lengths, of deleted records too
 * @property {number} smallest record in bytes; Infinity if there is none
 * @property {number} largest record in bytes; 0 if there is none
 * @property {number[]} sizes how many records have at least 2 ** index bytes, and less than twice that
 */

/** @returns {Counts} */
function noCounts () {
  return {
    records: 0,
    parts: 0,
    bytes: 0,
    deleted: 0,
    freed: 0,
    deletedBytes: 0,
    framing: 0,
    smallest: Infinity,
    largest: 0,
    sizes: new Array(SIZE_CLASSES).fill(0)
  }
}

/**
 * Adds the records of a valid block.
 * @param {Counts} counts
 * @param {Buffer} buffer
 * @param {number} end position after the last record
 */
function tally (counts, buffer, end) {
  const { sizes } = counts
  let { records, parts, bytes, deleted, freed, deletedBytes, smallest, largest } = counts
  let position = 0
  while (position < end) {
    const length = layout.readLength(buffer, position)
    const first = buffer[position + layout.LENGTH_SIZE]
    if (first === 0 && layout.isDeleted(buffer, position)) {
      deleted++
      // the buffer of a tail may end with its last record
      if (position === 0 && end < buffer.length && isHoleLength(length, buffer.length)) freed++
      deletedBytes += length
    } else {
      records++
      bytes += length
      sizes[31 - Math.clz32(length)]++
      if (first === FIRST_BYTE && kindOf(layout.dataAt(buffer, position)) === PART) parts++
      if (length < smallest) smallest = length
      if (length > largest) largest = length
    }
    position += length + layout.FRAME_SIZE
  }
  const framing = (records + deleted) * layout.FRAME_SIZE
  Object.assign(counts, { records, parts, bytes, deleted, freed, deletedBytes, framing, smallest, largest })
}

module.exports = { noCounts, tally }
