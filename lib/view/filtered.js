'use strict'

// The records that a filter lets pass, as they are found.

const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { filterOf } = require('./filter')
const { recordsOf } = require('./records')
const { ScanProgress } = require('./scan-progress')

/** Hits after which a search pauses, to be continued by another request. */
const MAX_HITS = 1000
/** Bytes of a record that a filter looks at: more than any but large ones have. */
const MAX_READ = 16 * 1024 * 1024

/** @typedef {import('./records').Stored} Stored */
/**
 * @typedef {import('./rows').Rows} Rows
 * @typedef {import('./events').EventStream} EventStream
 */

/**
 * The records that a filter lets pass.
 * @param {Rows} rows
 * @param {{ q: string, from: number, reverse?: boolean, encoding: string | null, signal: AbortSignal, most?: number }} query most: bytes of a record that are read
 * @param {(at: number, scanned: number) => void | Promise<void>} onBlocks told how far it is
 * @returns {AsyncGenerator<{ record: Stored, decoded: import('./decoder').Decoded, data: Buffer }, void, void>}
 */
async function * filtered (rows, { q, from, reverse = false, encoding, signal, most = MAX_READ }, onBlocks) {
  const { log } = rows
  const filter = filterOf(q, encoding)
  let scanned = 0
  for await (const blocks of log.scan({ from, reverse, signal })) {
    for (const block of blocks) {
      if (block.error !== null) continue
      if (!filter.mayMatch(block.buffer, block.end) && !block.buffer.includes(chunk.MAGIC)) {
        scanned += countIn(block)
        continue
      }
      const records = [...recordsOf(block, log.blockSize)]
      scanned += records.length
      for (const record of reverse ? records.reverse() : records) {
        if (signal.aborted) return
        if (record.deleted || record.kind === chunk.PART || (reverse ? record.seq > from : record.seq < from)) continue
        if (record.kind === chunk.PLAIN && !filter.mayMatch(block.buffer, record.position + layout.LENGTH_SIZE + record.size, record.position)) continue
        const { decoded, data } = record.kind === chunk.LAST ? await rows.read(record, most, encoding) : rows.readPlain(record, encoding)
        if (filter.matches(decoded, data)) yield { record, decoded, data }
      }
    }
    await onBlocks(blocks[blocks.length - 1]?.offset ?? from, scanned)
  }
}

/** @param {import('./viewed-log').ShownBlock} block */
function countIn ({ buffer, end }) {
  let count = 0
  for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) count++
  return count
}

/**
 * @param {Rows} rows
 * @param {EventStream} events
 * @param {{ q: string, from: number, reverse: boolean, encoding: string | null }} query
 */
async function sendFiltered (rows, events, query) {
  const { log } = rows
  const progress = new ScanProgress(events, { from: query.from, to: query.reverse ? log.start : log.limit })
  let hits = 0
  let scanned = 0
  const onBlocks = (/** @type {number} */ at, /** @type {number} */ count) => {
    scanned = count
    return progress.tell(at, { hits, scanned })
  }
  for await (const { record } of filtered(rows, { ...query, signal: events.signal }, onBlocks)) {
    await events.send('hit', await rows.rowOf(record, query.encoding))
    if (++hits === MAX_HITS) return await events.send('end', { next: query.reverse ? record.seq - 1 : record.next, hits, scanned })
  }
  await events.send('end', { next: null, hits, scanned })
}

module.exports = { filtered, sendFiltered }
