'use strict'

// `log.del`: checks what a caller gives.

const errors = require('../errors')
const { optional } = require('../callbacks')
const { optionNames, pick } = require('../option-names')
const { problemOf } = require('../read/get')
const { rangeOf, refuseOldBounds } = require('../read/options')

const NAMES = ['gt', 'gte', 'lt', 'lte']
const checkNames = optionNames('del', NAMES)

/**
 * @typedef {import('../opening').Opened} Opened
 * @typedef {import('../types').Done} Done
 * @typedef {import('../write/writer').Writer} Writer
 * @typedef {import('./types').DeletionRange} DeletionRange
 */

/**
 * @param {import('../log').Log} log
 * @param {number | readonly number[] | DeletionRange} what
 * @param {Done} [callback]
 */
function del (log, what, callback) {
  const cb = optional(callback) ?? (() => {})
  const { id } = log.compacting
  // copies: their caller may change them before the log is open
  const range = isDeletionRange(what) ? readRange(what) : null
  const seqs = /** @type {number[]} */ (Array.isArray(what) ? [...what] : [what])
  const last = range !== null ? Infinity : seqs.reduce((last, seq) => typeof seq === 'number' && seq > last ? seq : last, -1)
  log.whenFresh((err) => {
    if (err) return cb(err)
    if (log.compacting.isCompactedSince(id)) return process.nextTick(cb, errors.compacted(log.filename))
    const { writer, blocks } = /** @type {Opened} */ (log.state.opened)
    if (writer === null) process.nextTick(cb, errors.readOnly(log.filename, 'delete'))
    else if (range !== null) deleteRange(log.largeDeletion ?? writer, range, blocks, cb)
    else deleteRecords(log, seqs, writer, cb)
  }, last)
}

/**
 * @param {unknown} what the first argument of `del`
 * @returns {what is DeletionRange}
 */
function isDeletionRange (what) {
  return Object.prototype.toString.call(what) === '[object Object]'
}

/**
 * @param {DeletionRange} range
 * @param {number} end of the log
 * @returns {{ min: number, max: number }} the least seq and the greatest; none if `min` is greater
 * @throws flumelog:invalid
 */
function deletionRangeOf (range, end) {
  checkNames(range)
  // bounds that are undefined by mistake must not delete everything
  if (NAMES.every(name => (/** @type {any} */ (range)[name] ?? null) === null)) {
    throw errors.invalid('a range to be deleted needs at least one bound: gt, gte, lt or lte; { gte: 0 } deletes everything')
  }
  const { min, max } = rangeOf(range)
  return { min: Math.max(min, 0), max: Math.min(max, end - 1) }
}

/**
 * @param {DeletionRange} given
 * @returns {{ range: DeletionRange, problem: Error | null }} a copy, since the caller may change what is given; problem: what is wrong with it
 */
function readRange (given) {
  try {
    checkNames(given)
    return { range: pick(given, NAMES), problem: null }
  } catch (thrown) {
    return { range: {}, problem: errors.thrown('a bound', thrown) }
  }
}

/**
 * @param {import('../log').Log} log
 * @param {number[]} seqs if one of them is refused, none is deleted
 * @param {NonNullable<Opened['writer']>} writer
 * @param {Done} cb called later
 */
function deleteRecords (log, seqs, writer, cb) {
  const { blocks } = /** @type {Opened} */ (log.state.opened)
  const refused = seqs.findIndex(seq => problemOf(blocks, seq) !== null)
  const problem = refused === -1 ? null : problemOf(blocks, seqs[refused])
  // the writer answers once the trim is recorded, so that no crash brings the record back; without an error, if the log is compacted meanwhile
  if (problem?.code === 'flumelog:trimmed') return writer.delete(seqs[refused], (err) => cb(err ?? problem))
  if (problem !== null || seqs.length === 0) return process.nextTick(cb, problem)
  const deleter = log.largeDeletion ?? writer
  let left = seqs.length
  /** @type {Error | null} */
  let first = null
  for (const seq of seqs) {
    deleter.delete(seq, (err) => {
      first ??= err ?? null
      if (--left === 0) cb(first)
    })
  }
}

/**
 * @param {Pick<Writer, 'deleteRange'>} writer
 * @param {ReturnType<typeof readRange>} read
 * @param {import('../read/block-cache').BlockCache} blocks
 * @param {import('../types').Done} cb called later
 */
function deleteRange (writer, { range, problem }, blocks, cb) {
  if (problem !== null) return process.nextTick(cb, problem)
  let bounds
  try {
    bounds = deletionRangeOf(range, blocks.end)
    refuseOldBounds(range, blocks)
  } catch (err) {
    return process.nextTick(cb, err)
  }
  if (bounds.min > bounds.max) process.nextTick(cb, null)
  else writer.deleteRange(bounds.min, bounds.max, (err) => cb(/** @type {any} */ (err ?? null)))
}

module.exports = { del, deletionRangeOf }
