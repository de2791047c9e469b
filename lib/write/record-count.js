'use strict'

// The number of records in the log, deleted ones not counted, while it is open for writing. Kept
// with every write and deletion, not with every record. Pure.

const { deletedBefore } = require('../format/deletions')

/**
 * @typedef {import('../format/deletions').Deletion} Deletion
 *
 * @typedef {object} CountMark
 * @property {number} end offset
 * @property {number | null} records in front of it; null: not known
 */

class RecordCount {
  /**
   * @param {number | null} records when the log was opened; null: not known
   * @param {import('../read/block-cache').BlockCache} blocks where the log ends for readers
   */
  constructor (records, blocks) {
    /** Null: not known. */
    this.records = records
    this.blocks = blocks
    /** What is known to be durable. @type {CountMark} */
    this.durable = this.mark()
    /** What is, when the fsync in progress succeeds. */
    this.syncing = this.durable
  }

  /** @returns {CountMark} up to where the log ends now */
  mark () {
    return { end: this.blocks.end, records: this.records }
  }

  /** @param {number} count of acknowledged records */
  add (count) {
    if (this.records !== null) this.records += count
  }

  /** @param {Deletion} deletion of records that were there */
  remove (deletion) {
    this.change(deletion, -1)
  }

  /** @param {Deletion} deletion that is taken back */
  restore (deletion) {
    this.change(deletion, 1)
  }

  /**
   * @param {Deletion} deletion
   * @param {1 | -1} sign
   */
  change (deletion, sign) {
    this.add(sign * deletedBefore(deletion, Infinity))
    for (const mark of new Set([this.durable, this.syncing])) {
      if (mark.records !== null) mark.records += sign * deletedBefore(deletion, mark.end)
    }
  }

  /**
   * Blocks were trimmed.
   * @param {number | null} count of records in them; null: not known
   * @param {number} start where it starts
   */
  trim (count, start) {
    if (count === null) this.records = null
    else if (this.records !== null) this.records -= count
    for (const mark of new Set([this.durable, this.syncing])) {
      if (count === null || mark.end <= start) mark.records = null
      else if (mark.records !== null) mark.records -= count
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
