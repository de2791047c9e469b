'use strict'

// Blocks as a map shows them, and one block byte by byte.

const { checksumOf, chunk, endOfRecords, findProblem, frameProblem, isHole, layout, noCounts, recordsOf, storedChecksum, tally } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

/** Characters of a record in a block. */
const MAX_LINE = 100

/**
 * @typedef {import('flumelog-random-access-file/blocks').Block} ShownBlock
 * @typedef {import('./viewed-log').ViewedLog} ViewedLog
 *
 * @typedef {object} BlockSummary
 * @property {number} fill share of the block that records take which are not deleted, with their lengths
 * @property {'records' | 'deleted' | 'hole' | 'tail' | 'corrupt' | 'trimmed'} kind
 * @property {number} deleted records
 * @property {number} records
 * @property {boolean | null} checksum whether it is right; null: there is none
 */

/** @type {BlockSummary} */
const TRIMMED = { fill: 0, kind: 'trimmed', deleted: 0, records: 0, checksum: null }

/**
 * @param {ViewedLog} log
 * @param {number} from number of the first
 * @param {number} count
 * @param {AbortSignal} signal
 * @returns {Promise<BlockSummary[]>} fewer at the end of the log
 */
async function summaries (log, from, count, signal) {
  const first = log.start / log.blockSize
  const found = Array.from({ length: Math.max(0, Math.min(count, first - from)) }, () => TRIMMED)
  if (found.length === count) return found
  for await (const blocks of log.scan({ from: Math.max(from, first) * log.blockSize, signal })) {
    for (const block of blocks) {
      found.push(summary(block, log.blockSize))
      if (found.length === count) return found
    }
  }
  return found
}

/**
 * @param {ShownBlock} block
 * @param {number} blockSize
 * @returns {BlockSummary}
 */
function summary (block, blockSize) {
  const { buffer, end, sealed, error } = block
  if (error !== null) return { fill: 0, kind: 'corrupt', deleted: 0, records: 0, checksum: sealed && buffer.length === blockSize && storedChecksum(buffer) !== 0 ? isRight(buffer) : null }
  const counts = noCounts()
  tally(counts, buffer, end)
  const { records, deleted, bytes } = counts
  const kind = !sealed ? 'tail' : records > 0 ? 'records' : isHole(buffer) ? 'hole' : 'deleted'
  // it was verified when it was read
  return { fill: (bytes + records * layout.FRAME_SIZE) / blockSize, kind, deleted, records, checksum: sealed && storedChecksum(buffer) !== 0 ? true : null }
}

/** @param {Buffer} buffer of a whole block */
function isRight (buffer) {
  return storedChecksum(buffer) === checksumOf(buffer)
}

/**
 * @param {import('./rows').Rows} rows
 * @param {number} number
 * @param {string | null} [encoding]
 * @returns {Promise<object>} all of one block
 * @throws flumelog:trimmed, flumelog:not-found
 */
async function wholeBlock (rows, number, encoding) {
  const { log } = rows
  const { blockSize } = log
  const offset = number * blockSize
  if (offset < log.start) throw errors.trimmed(log.log.filename, offset, log.start)
  if (offset >= log.limit) throw errors.notFound(log.log.filename, offset, `no block ${number}: the log ends at ${log.limit}`)
  const block = await log.block(number)
  const { buffer, sealed, error } = block
  const isWhole = sealed && buffer.length === blockSize
  const stored = isWhole ? storedChecksum(buffer) : 0
  // of a corrupt block, what can be followed
  const end = error === null ? block.end : endOfRecords(buffer, 0, isWhole ? Math.min(layout.paddingStart(buffer), buffer.length) : buffer.length)
  const records = []
  for (const record of recordsOf({ ...block, end })) {
    const line = record.deleted ? '' : record.kind === chunk.PART ? 'part of a large record' : (await rows.rowOf(record, { encoding })).line
    records.push({ position: record.position, length: layout.readLength(buffer, record.position), deleted: record.deleted, line: line.slice(0, MAX_LINE) })
  }
  return {
    number,
    start: offset,
    end: offset + buffer.length,
    kind: summary(block, blockSize).kind,
    checksum: stored === 0 ? null : { stored, computed: checksumOf(buffer) },
    padding: isWhole ? { position: end, length: blockSize - end, pointer: layout.paddingStart(buffer) } : null,
    problem: error === null ? null : problemOf(log, block, error, isWhole),
    records,
    bytes: buffer.toString('base64')
  }
}

/**
 * @param {ViewedLog} log
 * @param {ShownBlock} block
 * @param {Error} error
 * @param {boolean} isWhole
 * @returns {{ position: number, reason: string }} why it is corrupt
 */
function problemOf (log, { buffer }, error, isWhole) {
  if (isWhole) return findProblem(buffer, true) ?? { position: 0, reason: log.messageOf(error) }
  const position = endOfRecords(buffer, 0, buffer.length)
  return { position, reason: (position < buffer.length && frameProblem(buffer, position, buffer.length)) || log.messageOf(error) }
}

module.exports = { summaries, wholeBlock }
