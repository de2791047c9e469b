'use strict'

// Makes a valid log from a corrupt one. Every record keeps its offset: one deleted record takes the place of each corrupt block.

const { holeOf } = require('../format/hole')
const { pieces, showDeleted } = require('./blocks')
const { noCounts, tally } = require('./counts')
const { corruptRange, addRange } = require('./ranges')

/**
 * @typedef {import('./ranges').Range} Range
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('./verify').OnProgress} OnProgress
 */

/**
 * @typedef {object} Copied
 * @property {number} size of the copy in bytes
 * @property {import('./counts').Counts} counts of records in the copy
 * @property {Range[]} lost ranges of the original of which nothing is in the copy
 */

/**
 * @param {Extent} extent
 * @param {import('../storage/path-file').Io} target open, and empty
 * @param {OnProgress} [onprogress]
 * @returns {Promise<Copied>}
 */
async function copyRecords (extent, target, onprogress) {
  /** @type {Copied} */
  const copied = { size: 0, counts: noCounts(), lost: [] }
  const { blockSize, start, end } = extent
  // what follows it up to the start is never written, so it takes no space
  if (start > 0) await target.write(0, holeOf(blockSize, true))
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) {
        addRange(copied.lost, corruptRange(block))
        showDeleted(extent, block)
      }
      tally(copied.counts, block.buffer, block.end)
    }
    await target.write(offset, bytes)
    copied.size = offset + bytes.length
    if (onprogress) onprogress(copied.size - start, end - start)
  }
  return copied
}

module.exports = { copyRecords }
