'use strict'

// Makes a valid log from a corrupt one. Every record keeps its offset: one deleted record takes the place of each corrupt block.

const { writeChecksum } = require('../format/checksum')
const { holeOf } = require('../format/hole')
const layout = require('../format/layout')
const { pieces } = require('./blocks')
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
        blankBlock(block)
      }
      tally(copied.counts, block.buffer, block.end)
    }
    await target.write(offset, bytes)
    copied.size = offset + bytes.length
    if (onprogress) onprogress(copied.size - start, end - start)
  }
  return copied
}

/**
 * Replaces the contents of a block by one deleted record.
 * @param {import('./blocks').ScannedBlock} block
 */
function blankBlock (block) {
  const { buffer, sealed } = block
  block.end = sealed ? buffer.length - layout.paddingSize(true) : buffer.length
  layout.writeRecord(buffer, 0, Buffer.alloc(block.end - layout.FRAME_SIZE))
  if (!sealed) return
  layout.seal(buffer, block.end)
  writeChecksum(buffer)
}

module.exports = { copyRecords }
