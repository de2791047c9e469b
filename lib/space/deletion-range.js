'use strict'

// The range of a deletion, as callers give it.

const errors = require('../errors')
const { optionNames, pick } = require('../option-names')
const { rangeOf, refuseOldBounds } = require('../read/options')

const NAMES = ['gt', 'gte', 'lt', 'lte']
const checkNames = optionNames('del', NAMES)

/** @typedef {import('./types').DeletionRange} DeletionRange */

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
 * @param {Pick<import('../write/writer').Writer, 'deleteRange'>} writer
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

module.exports = { deleteRange, deletionRangeOf, isDeletionRange, readRange }
