'use strict'

// What a log consists of, counted.

const { recordsOf } = require('flumelog-random-access-file/blocks')
const { countAll } = require('./scan-progress')

/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('../http/events').EventStream} EventStream
 */

/**
 * @param {Rows} rows
 * @param {EventStream} events
 */
async function sendNumbers (rows, events) {
  const { log } = rows
  let padding = 0
  const { counts, corrupt } = await countAll(log, events, ({ buffer, end, sealed, error }) => {
    if (sealed && error === null) padding += buffer.length - end
  })
  if (events.signal.aborted) return
  await events.send('numbers', {
    size: log.end,
    start: log.start,
    allocated: log.allocated,
    records: counts.records - counts.parts,
    parts: counts.parts,
    bytes: counts.bytes,
    deleted: counts.deleted - counts.freed,
    freed: counts.freed,
    deletedBytes: counts.deletedBytes,
    framing: counts.framing,
    padding,
    corrupt,
    smallest: counts.records === 0 ? null : counts.smallest,
    largest: counts.largest,
    histogram: histogramOf(counts.sizes),
    recoveryPoint: await log.writerState(),
    cursors: await cursorsOf(log)
  })
}

/**
 * @param {number[]} sizes
 * @returns {Array<{ from: number, to: number, count: number }>} from the smallest size that occurs to the largest
 */
function histogramOf (sizes) {
  const first = sizes.findIndex(count => count > 0)
  const last = sizes.findLastIndex(count => count > 0)
  return first === -1 ? [] : sizes.slice(first, last + 1).map((count, i) => ({ from: 2 ** (first + i), to: 2 ** (first + i + 1) - 1, count }))
}

/**
 * @param {import('./viewed-log').ViewedLog} log
 * @returns {Promise<Array<{ name: string, seq: number | null, held: boolean, lag: number | null }>>} lag: bytes that come after its record
 */
async function cursorsOf (log) {
  /** @type {import('flumelog-random-access-file').CursorInfo[]} */
  const cursors = await new Promise((resolve, reject) => log.log.cursors((err, list) => err ? reject(err) : resolve(list)))
  const list = []
  for (const { name, seq, held } of cursors) list.push({ name, seq, held, lag: await lagOf(log, seq) })
  return list
}

/**
 * @param {import('./viewed-log').ViewedLog} log
 * @param {number | null} seq that was committed last; -1: none
 * @returns {Promise<number | null>} null: that is not known
 */
async function lagOf (log, seq) {
  if (seq === null || seq >= log.end) return null
  if (seq < log.start) return log.end - log.start
  const block = await log.block(Math.floor(seq / log.blockSize))
  for (const { seq: own, next } of recordsOf(block)) if (own >= seq) return Math.max(0, log.end - next)
  return null
}

module.exports = { sendNumbers, cursorsOf }
