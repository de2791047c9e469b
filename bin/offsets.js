'use strict'

// Finds the offsets that `start` and `end` stand for: those of the first and the last record.

const { UserError } = require('./errors')

/**
 * @typedef {import('./open').Log} Log
 * @typedef {import('./arguments').Offset} Offset
 */

/**
 * @param {Log} log
 * @param {Offset} offset
 * @param {boolean} [skipCorrupt]
 * @returns {Promise<number | null>} null: the log has no records
 */
async function resolve (log, offset, skipCorrupt = false) {
  if (typeof offset === 'number') return offset
  return await seqAt(log, { reverse: offset === 'end', limit: 1, skipCorrupt })
}

/**
 * @param {Log} log
 * @param {string} file
 * @param {Offset} offset
 * @returns {Promise<number>} of a record, if one starts there
 */
async function mustResolve (log, file, offset) {
  const seq = await resolve(log, offset)
  if (seq === null) throw new UserError(`${file}: the log has no records`)
  return seq
}

/**
 * @param {Log} log
 * @param {{ gt?: Offset, gte?: Offset, lt?: Offset, lte?: Offset, live?: boolean, skipCorrupt?: boolean }} options
 * @returns {Promise<{ gt?: number, gte?: number, lt?: number, lte?: number }>} in an empty log, all new records are after `end`
 */
async function resolveBounds (log, { gt, gte, lt, lte, live, skipCorrupt }) {
  const resolved = async (/** @type {Offset | undefined} */ offset) =>
    offset === undefined ? undefined : await resolve(log, offset, skipCorrupt) ?? (offset === 'end' ? -1 : 0)
  return {
    gt: await resolved(gt),
    // no bound, so that corrupt blocks before the first record, or after the last one, are not left out
    gte: gte === 'start' ? undefined : await resolved(gte),
    lt: await resolved(lt),
    lte: lte === 'end' && !live ? undefined : await resolved(lte)
  }
}

/**
 * @param {Log} log
 * @param {import('../lib/read/options').StreamOptions} options
 * @returns {Promise<number | null>} the offset of the last record that a stream with these options yields; null if there is none
 */
async function seqAt (log, options) {
  return (await seqsOf(log, options)).last
}

/**
 * @param {Log} log
 * @param {import('../lib/read/options').StreamOptions} range
 * @param {number} count
 * @returns {Promise<number | undefined>} the offset of the first one of the last `count` records; undefined: there are fewer
 */
async function startOfTail (log, range, count) {
  const { last, found } = await seqsOf(log, { ...range, reverse: true, limit: count })
  return found < count ? undefined : last ?? undefined
}

/**
 * @param {Log} log
 * @param {import('../lib/read/options').StreamOptions} options
 * @returns {Promise<{ last: number | null, found: number }>} of what a stream with these options yields
 */
async function seqsOf (log, options) {
  // loaded lazily: most runs do not need it
  const { RecordIterator } = require('../lib/wrappers/iterator')
  /** @type {number | null} */
  let last = null
  let found = 0
  for await (const seqs of new RecordIterator(log.batches({ ...options, values: false, cache: false }))) {
    last = /** @type {any} */ (seqs).at(-1) ?? last
    found += /** @type {any} */ (seqs).length
  }
  return { last, found }
}

module.exports = { resolve, mustResolve, resolveBounds, seqAt, startOfTail }
