'use strict'

// The states of the writer, and what it decides: pure, so that every decision can be
// tested without a file. What each state means stands at the top of writer.js.

/** What may follow each state. @type {Record<string, string[]>} */
const TRANSITIONS = {
  idle: ['preparing', 'writing', 'settling', 'rollingBack', 'deleting', 'trimming', 'operating', 'closing', 'failed'],
  preparing: ['writing', 'rollingBack', 'failed'],
  writing: ['completing', 'settling', 'idle', 'rollingBack', 'failed'],
  completing: ['settling', 'idle', 'rollingBack', 'failed'],
  settling: ['idle', 'failed'],
  rollingBack: ['idle', 'failed'],
  deleting: ['idle', 'failed'],
  operating: ['idle', 'failed'],
  trimming: ['idle', 'failed'],
  closing: ['closed'],
  failed: ['closing'],
  closed: []
}

/**
 * @typedef {object} Work what there is to do when the file is left alone
 * @property {boolean} hasFailed
 * @property {boolean} mustTruncate bytes of a failed write are still in the file
 * @property {boolean} hasDeletions they were asked for, or are to be made durable
 * @property {boolean} hasJustDeleted the last operation was a deletion
 * @property {boolean} hasOperations of others, which need the file for themselves
 * @property {boolean} isHeld a compaction has to catch up before more is appended or deleted
 * @property {boolean} hasTrim blocks are to be trimmed
 * @property {boolean} hasJustTrimmed blocks were, since the last write
 * @property {boolean} isPartial of what is acknowledged together, a part is written: readers must not see it, so the log must not seem closed
 * @property {boolean} hasUnwritten records are packed and not written
 * @property {boolean} hasUnacknowledged calls wait, though all is written: an empty batch, which may ask for a sync
 * @property {boolean} isClosing
 */

/**
 * What the writer does next. Deletions, trims and writes take turns; the log closes when
 * nothing else is left to do.
 * @param {Work} work
 * @returns {'fail' | 'truncate' | 'delete' | 'trim' | 'operate' | 'write' | 'settle' | 'close' | 'rest'}
 */
function nextStep (work) {
  if (work.hasFailed) return 'fail'
  if (work.hasOperations && !work.isPartial && !(work.hasDeletions && !work.hasJustDeleted)) return 'operate'
  if (work.isHeld) return 'rest'
  if (work.hasDeletions && !(work.hasUnwritten && work.hasJustDeleted)) return 'delete'
  if (work.hasTrim && !work.isPartial && !(work.hasUnwritten && work.hasJustTrimmed)) return 'trim'
  if (work.hasUnwritten) return work.mustTruncate ? 'truncate' : 'write'
  if (work.hasUnacknowledged) return 'settle'
  return work.isClosing ? 'close' : 'rest'
}

module.exports = { TRANSITIONS, nextStep }
