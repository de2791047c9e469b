'use strict'

// The records that a filter lets pass, as they are found.

const { chunk, layout, recordsOf } = require('flumelog-random-access-file/blocks')
const { filterOf } = require('flumelog-random-access-file/json')
const { ScanProgress } = require('./scan-progress')

/** Hits after which a search pauses, to be continued by another request. */
const MAX_HITS = 1000
/** Bytes of a record that a filter looks at, and of one that is exported: more than any but large ones have. */
const MAX_READ = 16 * 1024 * 1024

/** @typedef {import('flumelog-random-access-file/blocks').Stored} Stored */
/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('../http/events').EventStream} EventStream
 */

/**
 * @typedef {object} Scanned what a filter has looked at
 * @property {number} records that are not deleted, large ones once
 * @property {number} corrupt blocks
 * @property {number} at offset to go on from
 * @property {string | null} missing path of the filter, if no record has a value there
 *
 * @typedef {object} FilterQuery
 * @property {string} q
 * @property {number} from offset
 * @property {number | null} [until] offset of which, and of what is after it, nothing is looked at; in reverse, nothing before it is
 * @property {boolean} [reverse]
 * @property {string | null} encoding
 * @property {AbortSignal} signal
 */

/**
 * The records that a filter lets pass.
 * @param {Rows} rows
 * @param {FilterQuery} query
 * @param {Scanned} scanned is kept up to date
 * @param {() => void | Promise<void>} [onBlocks] called now and then
 * @returns {AsyncGenerator<{ record: Stored, decoded: import('../decoding/decoder').Decoded, data: Buffer }, void, void>}
 */
async function * filtered (rows, { q, from, until = null, reverse = false, encoding, signal }, scanned, onBlocks = () => {}) {
  const { log } = rows
  const { blockSize } = log
  const filter = filterOf(q, encoding)
  // what is packed is not in the bytes
  const { mayMatch } = rows.decoder.packing !== null && encoding !== 'hex' ? { mayMatch: () => true } : filter
  scanned.missing = filter.missing()
  const low = reverse ? until ?? 0 : from
  const high = reverse ? from + 1 : until ?? Infinity
  for await (const blocks of log.scan({ from, reverse, signal })) {
    for (const block of blocks) {
      const { offset, buffer, end, sealed, error } = block
      if (reverse ? offset + blockSize <= low : offset >= high) return
      if (error !== null) scanned.corrupt++
      else if (offset >= low && offset + blockSize <= high && !mayMatch(buffer, end) && !buffer.includes(chunk.MAGIC)) scanned.records += countIn(block)
      else {
        const records = [...recordsOf(block)]
        for (const record of reverse ? records.reverse() : records) {
          if (signal.aborted) return
          if (record.deleted || record.kind === chunk.PART || record.seq < low || record.seq >= high) continue
          scanned.records++
          scanned.at = reverse ? record.seq - 1 : record.next
          if (record.kind === chunk.PLAIN && !mayMatch(buffer, record.position + layout.LENGTH_SIZE + record.size, record.position)) continue
          const { decoded, data } = record.kind === chunk.LAST ? await rows.read(record, MAX_READ, encoding) : rows.readPlain(record, encoding)
          const isHit = filter.matches(decoded, data)
          scanned.missing = filter.missing()
          if (isHit) yield { record, decoded, data }
        }
      }
      scanned.at = reverse ? offset - 1 : offset + (sealed || error !== null ? blockSize : end)
    }
    await onBlocks()
  }
}

/** @returns {Scanned} */
function nothingScanned () {
  return { records: 0, corrupt: 0, at: 0, missing: null }
}

/**
 * @param {import('flumelog-random-access-file/blocks').Block} block without large records
 * @returns {number} records that are not deleted
 */
function countIn ({ buffer, end }) {
  let count = 0
  for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
    if (buffer[position + layout.LENGTH_SIZE] !== 0 || !layout.isDeleted(buffer, position)) count++
  }
  return count
}

/**
 * @param {Rows} rows
 * @param {EventStream} events
 * @param {{ q: string, from: number, until: number | null, reverse: boolean, encoding: string | null, columns: string[][] }} query
 */
async function sendFiltered (rows, events, query) {
  const { log } = rows
  const { q, from, until, reverse, encoding, columns } = query
  const shown = { columns, filter: filterOf(q, encoding) }
  const progress = new ScanProgress(events, { from, to: until ?? (reverse ? log.start : log.limit) })
  const scanned = { ...nothingScanned(), at: from }
  let hits = 0
  const counts = () => ({ hits, scanned: scanned.records, corrupt: scanned.corrupt })
  const found = filtered(rows, { ...query, signal: events.signal }, scanned, () => progress.tell(scanned.at, counts()))
  for await (const { record, decoded, data } of found) {
    await events.send('hit', rows.rowFrom(record, decoded, data, shown))
    if (++hits === MAX_HITS) return await events.send('end', { at: scanned.at, next: scanned.at, ...counts(), missing: scanned.missing })
  }
  await events.send('end', { at: scanned.at, next: until === null ? null : reverse ? until - 1 : until, ...counts(), missing: scanned.missing })
}

module.exports = { MAX_READ, filtered, nothingScanned, sendFiltered }
