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
 * @property {boolean} compact whether deleted records and corrupt blocks are omitted; otherwise every record keeps its offset
 * @property {boolean} salvage keep records of corrupt blocks whose frames are whole
 * @property {OnProgress} [onprogress]
 */

/**
 * @param {Extent} extent
 * @param {Io} target open, and empty
 * @param {CopyOptions} options
 * @returns {Promise<Copied>}
 */
async function copyRecords (extent, target, { compact, salvage, onprogress }) {
  /** @type {Copied} */
  const copied = { size: 0, counts: noCounts(), lost: [], salvaged: [], moved: false }
  const { blockSize, start, end } = extent
  const packed = compact ? new PackedCopy(target, blockSize) : null
  // what follows it up to the start is never written, so it takes no space
  if (packed === null && start > 0) await target.write(0, holeOf(blockSize, true))
  for await (const { offset, bytes, blocks } of pieces(extent)) {
    for (const block of blocks) {
      if (block.problem !== null) mend(copied, block, salvage)
      packed?.add(block)
      tally(copied.counts, block.buffer, block.end)
    }
    copied.size = offset + bytes.length
    if (packed === null) await target.write(offset, bytes)
    else await packed.packer.write()
    if (onprogress) onprogress(copied.size - start, end - start)
  }
  if (packed !== null) await packed.finish(copied)
  return copied
}

/**
 * The records of a log, without deleted ones and corrupt blocks, one right after the other, so that those after the first gap get other
 * offsets.
 */
class PackedCopy {
  /**
   * @param {Io} target
   * @param {number} blockSize
   */
  constructor (target, blockSize) {
    this.packer = new Packer(target, blockSize)
    this.moved = false
    /** Large records whose deletion was interrupted, or that are lost in part. */
    this.torn = 0
    this.isBehindDeleted = false
  }

  /** @param {import('./blocks').ScannedBlock} block */
  add ({ buffer, end, offset }) {
    for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
      const isDeleted = layout.isDeleted(buffer, position)
      const data = layout.dataAt(buffer, position)
      // it is deleted for as long as a deleted record is among its chunks
      if (!isDeleted && this.isBehindDeleted && isContinuation(data, 0, data.length)) {
        this.packer.add(DELETED)
        this.torn++
      }
      this.isBehindDeleted = isDeleted
      if (!isDeleted && this.packer.add(data) !== offset + position) this.moved = true
    }
  }

  /** @param {Copied} copied is completed */
  async finish (copied) {
    const { torn } = this
    copied.size = await this.packer.end()
    copied.moved = this.moved
    Object.assign(copied.counts, { deleted: torn, deletedBytes: torn * DELETED.length, framing: (copied.counts.records + torn) * layout.FRAME_SIZE })
  }
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
