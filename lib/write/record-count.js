'use strict'

// The number of records in the log, deleted ones not counted, while it is open for writing. Kept
// with every write and deletion, not with every record. Pure.

const { tieOf } = require('../recovery/count-records')

/**
 * @typedef {import('../recovery/count-records').CountMark} CountMark
 * @typedef {import('../recovery/deletions').Deletion} Deletion
 */

const NO_TRIM = { start: -1, records: 0 }

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
    /** Deletions that the numbers do not count any more. @type {WeakSet<Deletion>} */
    this.removed = new WeakSet()
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
   * @param {Deletion} deletion of records that were there
   * @param {Buffer} block its bytes without them
   */
  remove (deletion, block) {
    this.removed.add(deletion)
    this.add(-recordsBefore(Infinity, deletion))
    for (const mark of new Set([this.durable, this.syncing])) {
      if (mark.records !== null) mark.records -= recordsBefore(mark.end, deletion)
      const position = mark.end - deletion.block
      if (position > 0 && position < this.blocks.blockSize) mark.tie = tieOf(block, position)
    }
  }

  /**
   * Blocks were trimmed.
   * @param {number | null} count of records in them; null: not known
   * @param {number} before where the log started
   * @param {number} start where it starts
   */
  trim (count, before, start) {
    const part = (start - before) / (this.blocks.end - before)
    if (count === null) this.records = null
    else if (this.records !== null) this.records -= count
    this.estimate = this.records ?? Math.round(this.estimate * (1 - part))
    for (const mark of new Set([this.durable, this.syncing])) {
      if (count === null || mark.end <= start) mark.records = null
      else if (mark.records !== null) mark.records -= count
    }
  }

  /**
   * For a recovery point with deletions, which recovery subtracts from the number in it.
   * @param {Deletion[]} deletions
   * @param {import('./trimmer').Proposed | null} [trim] that it also tells of
   * @returns {CountMark | undefined} undefined: the number is not known
   */
  markWithout (deletions, trim) {
    const { end, records, tie } = this.durable
    const { start, records: trimmed } = trim ?? NO_TRIM
    if (records === null || trimmed === null || end <= start) return
    const removed = deletions.filter(deletion => this.removed.has(deletion))
    return { end, tie, records: removed.reduce((sum, deletion) => sum + recordsBefore(end, deletion), records - trimmed) }
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

/**
 * @param {number} end
 * @param {Deletion} deletion
 * @returns {number} deleted records in front of it
 */
function recordsBefore (end, { records, whole }) {
  // the block lies in front of every mark: see `HoleMaker.canBecomeHole`
  if (whole !== undefined) return whole.live
  return records.filter(({ seq }) => seq < end).length
}

module.exports = { RecordCount }
