'use strict'

// Makes a valid log from a corrupt one. Either every record keeps its offset, and deleted
// records of the same size replace the corrupt parts; or the log is repacked, and offsets
// change.

const { holeOf } = require('../format/hole')
const { CompactedFile } = require('../space/compacted-file')
const { pieces } = require('./blocks')
const { noCounts, tally } = require('./counts')
const { corruptRange, addRange } = require('./ranges')
const { blankBlock, keepWholeFrames } = require('./salvage')

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
 * @property {Salvaged[]} salvaged corrupt blocks of which records are in the copy, though it is not known whether they are as they were
 * @property {boolean} moved whether records have other offsets than in the original
 *
 * @typedef {object} SalvagedRecords
 * @property {number} records that were kept
 * @typedef {Range & SalvagedRecords} Salvaged
 *
 * @typedef {object} CopyOptions
 * @property {boolean} compact whether deleted records and corrupt blocks are omitted; otherwise every record keeps its offset
 * @property {boolean} salvage keep records of corrupt blocks whose frames are whole
 * @property {OnProgress} [onprogress]
 */

/**
 * @param {Extent} extent
 * @param {import('../storage/promisified-file').Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyRecords (extent, target, { compact, salvage, onprogress }) {
  /** @type {Copied} */
  const copied = { size: 0, counts: noCounts(), lost: [], salvaged: [], moved: false }
  const { blockSize, start, end } = extent
  const map = { add: (/** @type {import('../space/offset-map').Run} */ { old, now }) => { copied.moved ||= old !== now } }
  const packed = compact ? new CompactedFile('', -1, { blockSize, checksum: true, base: 0, write: (buffers, at) => target.write(at, Buffer.concat(buffers)) }, map) : null
  // what follows it up to the start is never written, so it takes no space
  if (packed === null && start > 0) await target.write(0, holeOf(blockSize, true))
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      packed?.add(block.buffer, block.end, block.offset)
      tally(copied.counts, block.buffer, block.end)
    }
    copied.size = offset + bytes.length
    if (packed === null) await target.write(offset, bytes)
    else await packed.write()
    if (onprogress) onprogress(copied.size - start, end - start)
  }
  if (packed !== null) {
    await packed.flush()
    copied.size = packed.end
  }
  return copied
}

/**
 * Makes a corrupt block valid, and adds the outcome to `copied`.
 * @param {Copied} copied
 * @param {import('./blocks').ScannedBlock} block
 * @param {boolean} salvage
 */
function mend (copied, block, salvage) {
  const range = corruptRange(block)
  const records = salvage ? keepWholeFrames(block) : 0
  if (records > 0) {
    copied.salvaged.push({ ...range, records })
  } else {
    blankBlock(block)
    addRange(copied.lost, range)
  }
}

module.exports = { copyRecords }
