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
 * What takes turns, in this order. `write` comes last: after a step that is none of these, the first one is next.
 * @type {Step[]}
 */
const TURNS = ['operate', 'delete', 'trim', 'write']

/**
 * @typedef {'fail' | 'truncate' | 'delete' | 'trim' | 'operate' | 'write' | 'settle' | 'close' | 'rest'} Step
 *
 * @typedef {object} Work pending while the file is left alone
 * @property {Step} lastStep
 * @property {boolean} hasFailed
 * @property {boolean} isHeld a compaction has to catch up before more is appended or deleted
 * @property {boolean} isPartial of what is acknowledged together, a part is written: readers must not see it, so the log must not seem closed
 * @property {boolean} mustTruncate bytes of a failed write are still in the file
 * @property {boolean} hasOperations of others, which need the file for themselves
 * @property {boolean} hasDeletions requested, or to be made durable
 * @property {boolean} hasTrim blocks are to be trimmed
 * @property {boolean} hasUnacknowledged calls to append wait
 * @property {boolean} hasUnwritten records are packed and not written; if not, all that wait are empty batches, which may ask for a sync
 * @property {boolean} isClosing
 */

/**
 * What the writer does next. Operations, deletions, trims and writes take turns, so none of them starves another; the log closes when none is left.
 * @param {Work} work
 * @returns {Step}
 */
function nextStep (work) {
  if (work.hasFailed) return 'fail'
  const turn = nextTurn(work)
  if (turn === undefined) return work.isClosing && !work.isHeld ? 'close' : 'rest'
  if (turn !== 'write') return turn
  if (!work.hasUnwritten) return 'settle'
  return work.mustTruncate ? 'truncate' : 'write'
}

/**
 * @param {Work} work
 * @returns {Step | undefined} one of `TURNS`; undefined: nothing gets the file
 */
function nextTurn (work) {
  const first = TURNS.indexOf(work.lastStep) + 1
  for (let i = first; i < first + TURNS.length; i++) {
    const turn = TURNS[i % TURNS.length]
    if (isWanted(turn, work)) return turn
  }
}

/**
 * @param {Step} turn one of `TURNS`
 * @param {Work} work
 * @returns {boolean}
 */
function isWanted (turn, work) {
  switch (turn) {
    case 'operate': return work.hasOperations && !work.isPartial
    case 'delete': return work.hasDeletions && !work.isHeld
    case 'trim': return work.hasTrim && !work.isHeld && !work.isPartial
    default: return work.hasUnacknowledged && !work.isHeld
  }
}

module.exports = { TRANSITIONS, nextStep }
