'use strict'

// The states of the writer, and what it decides: pure, so that every decision can be
// tested without a file. What each state means stands at the top of writer.js.

/** What may follow each state. @type {Record<string, string[]>} */
const TRANSITIONS = {
  idle: ['preparing', 'writing', 'settling', 'rollingBack', 'operating', 'closing', 'failed'],
  preparing: ['writing', 'rollingBack', 'failed'],
  writing: ['completing', 'settling', 'idle', 'rollingBack', 'failed'],
  completing: ['settling', 'idle', 'rollingBack', 'failed'],
  settling: ['idle', 'failed'],
  rollingBack: ['idle', 'failed'],
  operating: ['idle', 'failed'],
  closing: ['closed'],
  failed: ['closing'],
  closed: []
}

/**
 * @typedef {'fail' | 'operate' | 'write' | 'settle' | 'close' | 'rest'} Step
 *
 * @typedef {object} Work pending while the file is left alone
 * @property {Step} lastStep
 * @property {boolean} hasFailed
 * @property {boolean} isHeld a compaction has to catch up before the file is changed
 * @property {boolean} isPartial of a group, a part is written: readers must not see it, so the log must not seem closed
 * @property {boolean} hasOperations deletions, trims and others, which need the file for themselves
 * @property {boolean} hasUnacknowledged calls to append wait
 * @property {boolean} hasUnwritten records are packed and not written; if not, all that wait are empty batches, which may ask for a sync
 * @property {boolean} isClosing
 */

/**
 * What the writer does next. Operations and writes alternate, so neither starves the other; the log closes when none is left.
 * @param {Work} work
 * @returns {Step}
 */
function nextStep ({ lastStep, hasFailed, isHeld, isPartial, hasOperations, hasUnacknowledged, hasUnwritten, isClosing }) {
  if (hasFailed) return 'fail'
  if (isHeld) return 'rest'
  if (hasOperations && !isPartial && !(lastStep === 'operate' && hasUnacknowledged)) return 'operate'
  if (!hasUnacknowledged) return isClosing ? 'close' : 'rest'
  return hasUnwritten ? 'write' : 'settle'
}

module.exports = { TRANSITIONS, nextStep }
