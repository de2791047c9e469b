'use strict'

// The number of records in the log, deleted ones not counted, while it is open for writing. Kept
// with every write and deletion, not with every record. Pure.

const { tieOf } = require('../recovery/count-records')

/**
 * @typedef {import('../recovery/count-records').CountMark} CountMark
 */

class RecordCount {
  /**
   * @param {import('../recovery/count-records').Counted} counted when the log was opened
   * @param {import('../read/block-cache').BlockCache} blocks where the log ends for readers
   */
  constructor ({ records, estimate }, blocks) {
    /** Null: not known. */
    this.records = records
    /** The same number, if it is known. */
    this.estimate = estimate
    this.blocks = blocks
    /** What is known to be durable. @type {CountMark} */
    this.durable = this.mark()
    /** What is, when the fsync in progress succeeds. */
    this.syncing = this.durable
  }

  /** @returns {CountMark} up to where the log ends now */
  mark () {
    const { records, blocks } = this
    return { end: blocks.end, records, tie: tieOf(blocks.tail.buffer, blocks.tail.end) }
  }

  /** @param {number} count of acknowledged records */
  add (count) {
    if (this.records !== null) this.records += count
    this.estimate += count
  }

  /**
   * Records of a block are deleted.
   * @param {number[]} seqs of those that were there
   * @param {number} start offset of the block
   * @param {Buffer} block its bytes without them
   */
  remove (seqs, start, block) {
    this.add(-seqs.length)
    for (const mark of new Set([this.durable, this.syncing])) {
      if (mark.records !== null) mark.records -= seqs.filter(seq => seq < mark.end).length
      const position = mark.end - start
      if (position > 0 && position < this.blocks.blockSize) mark.tie = tieOf(block, position)
    }
  }

  /** An fsync is started. */
  startSync () {
    this.syncing = this.mark()
  }

  /** It has succeeded. */
  endSync () {
    this.durable = this.syncing
  }

  /** All that is acknowledged is durable. */
  allSynced () {
    this.durable = this.syncing = this.mark()
  }
}

module.exports = { RecordCount }
