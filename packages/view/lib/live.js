'use strict'

// New records, as this process or another appends them.

const { chunk, recordsOf } = require('flumelog-random-access-file/blocks')

/** Milliseconds between two looks at the end of the log. */
const INTERVAL = 250
/** The same between two reports of counters. */
const STATS_INTERVAL = 1000
/** The newest rows that are sent at a time. */
const MAX_ROWS = 50
/** Bytes that are counted record by record at a time; beyond them, the rest is estimated. */
const MAX_COUNTED = 16 * 1024 * 1024

/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('./events').EventStream} EventStream
 */

/**
 * @param {Rows} rows
 * @param {EventStream} events
 * @param {{ from: number, id: string | null, encoding: string | null }} query from: offset up to which the reader has seen the log; id: the
 *   log's then, null: now
 */
async function sendLive (rows, events, { from, id: seenId, encoding }) {
  const { log } = rows
  const { signal } = events
  let id = seenId ?? log.log.id
  let seen = Math.min(Math.max(from, log.start), log.end)
  let appended = 0
  let statsAt = Date.now()
  await sendStats(log, events, 0)
  while (!signal.aborted) {
    await log.ready()
    if (log.log.id !== id) {
      id = log.log.id
      seen = log.end
      await events.send('compacted', { id, start: log.start })
    }
    const { end } = log
    if (end > seen) {
      const count = await countFrom(log, seen, end, signal)
      const newest = await rows.list({ from: end - 1, count: MAX_ROWS, reverse: true, encoding })
      await events.send('append', { rows: newest.rows.filter(({ seq }) => seq >= seen).reverse(), count, end })
      appended += count
      seen = end
    }
    const now = Date.now()
    if (now - statsAt >= STATS_INTERVAL) {
      await sendStats(log, events, appended / (now - statsAt) * 1000)
      statsAt = now
      appended = 0
    }
    await pause(signal)
  }
}

/**
 * @param {import('./viewed-log').ViewedLog} log
 * @param {EventStream} events
 * @param {number} rate records per second
 */
async function sendStats (log, events, rate) {
  const { inFlight } = log.log.stats()
  const isFollower = log.isFollowing
  // what a writer has written and not acknowledged, or a reader has not seen yet
  const lag = isFollower ? Math.max(0, await log.fileSize() - log.limit) : inFlight.bytes
  await events.send('stats', { end: log.end, start: log.start, records: log.recordCount, rate: Math.round(rate * 10) / 10, lag })
}

/**
 * @param {import('./viewed-log').ViewedLog} log
 * @param {number} from offset
 * @param {number} end
 * @param {AbortSignal} signal
 * @returns {Promise<number>} records from there on, estimated if they are many
 */
async function countFrom (log, from, end, signal) {
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

/** @param {AbortSignal} signal */
function pause (signal) {
  return new Promise(resolve => {
    const timer = setTimeout(done, INTERVAL)
    signal.addEventListener('abort', done)

    function done () {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve(undefined)
    }
  })
}

module.exports = { sendLive }
