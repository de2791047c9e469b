'use strict'

// Makes a valid log from a corrupt one. Either every record keeps its offset, and deleted
// records of the same size replace the corrupt parts; or the log is repacked, and offsets
// change.

const { isContinuation } = require('../format/chunk')
const { holeOf } = require('../format/hole')
const layout = require('../format/layout')
const { pieces } = require('./blocks')
const { noCounts, tally } = require('./counts')
const { Packer } = require('./packer')
const { corruptRange, addRange } = require('./ranges')
const { blankBlock, keepWholeFrames } = require('./salvage')

/** The data of a deleted record. */
const DELETED = Buffer.alloc(1)

/**
 * @typedef {import('./ranges').Range} Range
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('./verify').OnProgress} OnProgress
 * @typedef {import('../storage/promisified-file').Io} Io
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
 * @property {boolean} salvage keep records of corrupt blocks whose frames are whole
 * @property {OnProgress} [onprogress]
 */

/**
 * Copies a log so that every record keeps its offset.
 * @param {Extent} extent
 * @param {Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyInPlace (extent, target, { salvage, onprogress }) {
  const copied = nothingCopied()
  const { blockSize, start, end } = extent
  // what follows it up to the start is never written, so it takes no space
  if (start > 0) await target.write(0, holeOf(blockSize, true))
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      tally(copied.counts, block.buffer, block.end)
    }
    await target.write(offset, bytes)
    copied.size = offset + bytes.length
    if (onprogress) onprogress(copied.size - start, end - start)
  }
  return copied
}

/**
 * Copies the records of a log, without deleted ones and corrupt blocks, one right
 * after the other, so that those after the first gap get other offsets.
 * @param {Extent} extent
 * @param {Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyPacked (extent, target, { salvage, onprogress }) {
  const copied = nothingCopied()
  const packer = new Packer(target, extent.blockSize)
  // of large records whose deletion was interrupted, or that are lost in part
  let torn = 0
  let isBehindDeleted = false
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      const { buffer, end } = block
      for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
        if (layout.isDeleted(buffer, position)) {
          isBehindDeleted = true
          continue
        }
        const data = layout.dataAt(buffer, position)
        // it is deleted for as long as a deleted record is among its chunks
        if (isBehindDeleted && isContinuation(data, 0, data.length)) {
          packer.add(DELETED)
          torn++
        }
        isBehindDeleted = false
        const seq = packer.add(data)
        if (seq !== block.offset + position) copied.moved = true
      }
      tally(copied.counts, buffer, end)
    }
    await packer.write()
    if (onprogress) onprogress(offset + bytes.length - extent.start, extent.end - extent.start)
  }
  copied.size = await packer.end()
  Object.assign(copied.counts, { deleted: torn, deletedBytes: torn * DELETED.length, framing: (copied.counts.records + torn) * layout.FRAME_SIZE })
  return copied
}

/** @returns {Copied} */
function nothingCopied () {
  return { size: 0, counts: noCounts(), lost: [], salvaged: [], moved: false }
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

module.exports = { copyInPlace, copyPacked }
