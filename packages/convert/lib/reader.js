'use strict'

// Reads a file from front to back as an async iterable of arrays of items: records, and what is there instead of some. Parsers know the formats.

const { chunk, layout } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')

const { MAX_LENGTH } = chunk

/** Bytes read at a time. */
const PIECE_SIZE = 1024 * 1024
/** Items that are parsed at a time. */
const BATCH = 1024
/** Bytes at the end of a file that are taken for a torn write. */
const MAX_TORN = 1024 * 1024

/**
 * @typedef {object} Item a record, unless `problem`, `corrupt` or `torn` says why it is none
 * @property {number} offset in the file
 * @property {number} size in bytes of the data, or of what is corrupt or torn
 * @property {Buffer} data empty if it is corrupt or torn
 * @property {boolean} isDeleted
 * @property {string} [problem] it cannot be a record of a log, such as a line that is not JSON
 * @property {string} [corrupt] the file has no whole records there
 * @property {string} [torn] the same at the end of the file, as an interrupted write leaves it
 *
 * @typedef {object} Torn what an interrupted write left at the end of a file
 * @property {number} offset of its first byte
 * @property {number} bytes up to the end of the file
 * @property {string} reason what is wrong there
 *
 * @typedef {object} Parser
 * @property {(bytes: Buffer, position: number, base: number, isLast: boolean, items: Item[]) => number} parse adds items to an empty array, up to
 *   BATCH, and returns where it stopped. `base`: offset in the file of the first of the bytes; `isLast`: the file ends with them
 * @property {string} problem why it cannot continue at all; empty if it can, perhaps with more bytes
 * @property {(file: import('./old-file').OldFile, offset: number) => Promise<number>} [resync] finds the next whole record after a broken one;
 *   -1: there is none, as is always so where the method is missing
 */

const NOTHING = Buffer.alloc(0)

/**
 * @param {import('./old-file').OldFile} file
 * @param {Parser} parser
 * @param {number} [start] offset of the first record
 * @returns {AsyncGenerator<Item[], void, void>}
 */
async function * itemsIn (file, parser, start = 0) {
  let base = start
  /** @type {Buffer} */
  let bytes = NOTHING
  let position = 0
  for (;;) {
    /** @type {Item[]} */
    const items = []
    const isLast = base + bytes.length >= file.size
    position = parser.parse(bytes, position, base, isLast, items)
    if (items.length > 0) yield items
    if (parser.problem !== '') {
      const reason = parser.problem
      parser.problem = ''
      const offset = base + position
      const next = parser.resync ? await parser.resync(file, offset) : -1
      yield [next === -1 ? restAt(offset, file.size, reason) : corruptAt(offset, next, reason)]
      if (next === -1) return
      base = next
      bytes = NOTHING
      position = 0
    } else if (items.length < BATCH) {
      if (isLast) return
      const rest = bytes.subarray(position)
      if (rest.length > MAX_LENGTH + PIECE_SIZE) throw errors.notARecord(file.filename, base + position, `it has more than ${MAX_LENGTH} bytes`)
      base += position
      position = 0
      bytes = await readOn(file, rest, base)
    }
  }
}

/**
 * @param {import('./old-file').OldFile} file
 * @param {Buffer} rest that could not be parsed without more
 * @param {number} base its offset
 * @returns {Promise<Buffer>} the rest, with what follows it: as much again, so that a large record is not read too often
 */
async function readOn (file, rest, base) {
  const size = Math.min(rest.length + Math.max(PIECE_SIZE, rest.length), file.size - base)
  // memory of its own: whoever reads records may keep them
  const bytes = Buffer.allocUnsafeSlow(size)
  rest.copy(bytes)
  await file.readInto(bytes.subarray(rest.length), base + rest.length)
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {number} start of the data
 * @param {number} end of it
 * @param {number} offset of the record
 * @param {boolean} [isDeleted]
 * @param {string} [problem]
 * @returns {Item}
 */
function recordAt (bytes, start, end, offset, isDeleted = false, problem) {
  return { offset, size: end - start, data: layout.view(bytes.buffer, bytes.byteOffset + start, end - start), isDeleted, problem }
}

/**
 * @param {number} offset
 * @param {number} end
 * @param {string} reason
 * @returns {Item}
 */
function corruptAt (offset, end, reason) {
  return { offset, size: end - offset, data: NOTHING, isDeleted: false, corrupt: reason }
}

/**
 * @param {number} offset up to which there are whole records
 * @param {number} end of the file
 * @param {string} reason
 * @returns {Item} corrupt, if it is more than a write leaves
 */
function restAt (offset, end, reason) {
  if (end - offset > MAX_TORN) return corruptAt(offset, end, reason)
  return { offset, size: end - offset, data: NOTHING, isDeleted: false, torn: reason }
}

module.exports = { itemsIn, recordAt, corruptAt, restAt, BATCH }
