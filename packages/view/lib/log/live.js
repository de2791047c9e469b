'use strict'

// What has been appended since a reader looked last, by this process or another.

const { chunk, recordsOf } = require('flumelog-random-access-file/blocks')

/** Bytes that are counted record by record; beyond them, the rest is estimated. */
const MAX_COUNTED = 4 * 1024 * 1024

/** @typedef {import('./viewed-log').ViewedLog} ViewedLog */

/**
 * @typedef {object} News
 * @property {string} id of the log: another one when all offsets are others
 * @property {number} start offset
 * @property {number} end offset
 * @property {number} count records from `from` to `end`, estimated if they are many
 * @property {number} lag bytes that are written and cannot be read yet
 */

/**
 * @param {ViewedLog} log
 * @param {{ from: number, id: string | null }} seen offset up to which the reader knows the log, and the log's id then; null: now
 * @param {AbortSignal} signal
 * @returns {Promise<News>}
 */
async function newsSince (log, { from, id }, signal) {
  const { end } = log
  // offsets of before a compaction are not those of this log
  const count = id !== null && id !== log.id ? 0 : await countBetween(log, Math.max(from, log.start), end, signal)
  return { id: log.id, start: log.start, end, count, lag: await lagOf(log) }
}

/**
 * @param {ViewedLog} log
 * @returns {Promise<number>} what a writer has written and not acknowledged, or a reader has not seen yet
 */
async function lagOf (log) {
  return log.isFollowing ? Math.max(0, await log.fileSize() - log.limit) : log.log.stats().inFlight.bytes
}

/**
 * @param {ViewedLog} log
 * @param {number} from offset
 * @param {number} end
 * @param {AbortSignal} signal
 * @returns {Promise<number>} records from there on, estimated if they are many
 */
async function countBetween (log, from, end, signal) {
  if (from >= end) return 0
  let count = 0
  for await (const blocks of log.scan({ from, signal })) {
    let at = from
    for (const block of blocks) {
      for (const { seq, deleted, kind } of recordsOf(block)) if (seq >= from && seq < end && !deleted && kind !== chunk.PART) count++
      at = block.offset + block.buffer.length
    }
    if (at >= end) break
    if (at - from > MAX_COUNTED) return Math.round(count * (end - from) / (at - from))
  }
  return count
}

module.exports = { newsSince }
