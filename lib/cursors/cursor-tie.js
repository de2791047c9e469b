'use strict'

// Ties the position of a cursor to the record there, so that a cursor of another log, or of one that was restored from a
// backup and appended to, is noticed.

const { crc32 } = require('zlib')
const layout = require('../format/layout')
const errors = require('../errors')

/** Bytes of a record that its tie covers. */
const TIE_SIZE = 64

/** @typedef {import('../format/block').Block} Block */

/**
 * @param {import('../read/block-cache').BlockCache} blocks
 * @param {number} seq before the end of the log
 * @returns {Promise<{ tie: number | null, next: number }>} of the record: see Position; of one that was trimmed, nothing is
 *   known. Rejects with `flumelog:not-found` if none starts there
 */
function tieOf (blocks, seq) {
  const number = Math.floor(seq / blocks.blockSize)
  const position = seq - number * blocks.blockSize
  return new Promise((resolve, reject) => blocks.get(number, true, (err, found) => {
    // perhaps while it was read
    if (seq < blocks.start) return resolve({ tie: null, next: seq + 1 })
    if (err) return reject(err)
    const block = /** @type {Block} */ (found)
    if (block.startsAt(position)) {
      const data = block.dataAt(position)
      const isLast = block.sealed && layout.nextPosition(block.buffer, position) === block.end
      resolve({
        tie: layout.isStorable(data) ? crc32(data.subarray(0, TIE_SIZE)) : null,
        next: isLast ? (number + 1) * blocks.blockSize : seq + 1
      })
    } else if (isDeleted(block)) resolve({ tie: null, next: (number + 1) * blocks.blockSize })
    else reject(errors.noRecordStarts(blocks.file.filename, seq))
  }))
}

/**
 * @param {Block} block
 * @returns {boolean} whether one deleted record fills it: where its records started cannot be known any more
 */
function isDeleted ({ buffer, end, sealed }) {
  return sealed && layout.nextPosition(buffer, 0) === end && !layout.isStorable(buffer.subarray(layout.LENGTH_SIZE, end - layout.LENGTH_SIZE))
}

module.exports = { tieOf }
