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
 * @returns {Promise<number | null>} null: the log has no records
 */
async function resolve (log, offset) {
  if (typeof offset === 'number') return offset
  return await seqAt(log, { reverse: offset === 'end', limit: 1 })
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
 * @param {{ gt?: Offset, gte?: Offset, lt?: Offset, lte?: Offset }} bounds
 * @returns {Promise<{ gt?: number, gte?: number, lt?: number, lte?: number }>} in an empty log, all new records are after `end`
 */
async function resolveBounds (log, { gt, gte, lt, lte }) {
  const resolved = async (/** @type {Offset | undefined} */ offset) =>
    offset === undefined ? undefined : await resolve(log, offset) ?? (offset === 'end' ? -1 : 0)
  return { gt: await resolved(gt), gte: await resolved(gte), lt: await resolved(lt), lte: await resolved(lte) }
}

/**
 * @param {Log} log
 * @param {import('../lib/read/options').StreamOptions} options
 * @returns {Promise<number | null>} the offset of the last record that a stream with these options yields; null if there is none
 */
async function seqAt (log, options) {
  // loaded lazily: most runs do not need it
  const { RecordIterator } = require('../lib/wrappers/iterator')
  /** @type {number | null} */
  let last = null
  for await (const seqs of new RecordIterator(() => log.batches({ ...options, values: false, cache: false }))) {
    last = /** @type {any} */ (seqs).at(-1) ?? last
  }
  return last
}

module.exports = { mustResolve, resolveBounds, seqAt }
