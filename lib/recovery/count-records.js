'use strict'

// How many records a log has when it is opened, deleted ones not counted. A small log is read. For others it has to be in FILE.meta.

const layout = require('../format/layout')
const { endOfRecords, findProblem } = require('../format/validation')

/** Bytes of a log that is read. */
const SMALL_LOG = 64 * 1024
/** Bytes read at a time. */
const READ_SIZE = 1024 * 1024

/**
 * @typedef {import('./find-end').Found} Found
 * @typedef {import('./find-end').Read} Read
 */

/**
 * @param {import('../storage/promisified-file').Io} io of a log that has been recovered
 * @param {Found} found
 * @param {number} blockSize in bytes
 * @param {import('../storage/metadata-text').Metadata | null} metadata of the log, from before it was recovered
 * @param {number} [smallLog] in bytes
 * @param {boolean} [mustCount] whether to read all of the log if the number is not on record
 * @returns {Promise<number | null>} null: not known
 */
async function countOnOpening (io, found, blockSize, metadata, smallLog = SMALL_LOG, mustCount = false) {
  const { start, kept } = found
  if (kept - start > smallLog) {
    const onRecord = await countOnRecord(io.read, found, blockSize, metadata)
    if (onRecord !== null || !mustCount) return onRecord
  }
  return countRecords(io.read, start, kept, blockSize)
}

/**
 * @param {Read} read
 * @param {Found} found
 * @param {number} blockSize
 * @param {import('../storage/metadata-text').Metadata | null} metadata
 * @returns {Promise<number | null>}
 */
async function countOnRecord (read, { kept, damagedTail }, blockSize, metadata) {
  if (metadata === null || metadata.records === null || damagedTail !== null) return null
  // another program has appended to it
  if (metadata.closed && metadata.end !== kept) return null
  const behind = await countRecords(read, metadata.end, kept, blockSize)
  return behind === null ? null : metadata.records + behind
}

/**
 * @param {Read} read
 * @param {number} from offset of a record, or of a block
 * @param {number} to the same
 * @param {number} blockSize
 * @returns {Promise<number | null>} records between them; null if a block is corrupt
 */
async function countRecords (read, from, to, blockSize) {
  const step = Math.max(blockSize, READ_SIZE - READ_SIZE % blockSize)
  let position = from % blockSize
  let records = 0
  for (let start = from - position; start < to; start += step) {
    const bytes = await read(start, Math.min(step, to - start))
    for (let at = 0; at < bytes.length; at += blockSize) {
      const block = bytes.subarray(at, at + blockSize)
      const isSealed = block.length === blockSize
      if (isSealed && findProblem(block, false) !== null) return null
      const end = isSealed ? layout.paddingStart(block) : block.length
      if (endOfRecords(block, position, end) !== end) return null
      for (; position < end; position = layout.nextPosition(block, position)) if (!layout.isDeleted(block, position)) records++
      position = 0
    }
  }
  return records
}

module.exports = { countOnOpening, countRecords }
