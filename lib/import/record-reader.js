'use strict'

// The records of an old file, piece by piece: a parser for its format is given the pieces, and tells a handler of each record.

const { promisify } = require('util')
const fs = require('fs')
const errors = require('../errors')
const { PieceReader } = require('./piece-reader')

const readAt = /** @type {(fd: number, buffer: Buffer, offset: number, length: number, position: number) => Promise<{ bytesRead: number }>} */ (
  promisify(fs.read))

/** Bytes at the end of a file that are taken for a torn write. */
const MAX_TORN = 1024 * 1024

/**
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 *
 * @typedef {object} Handler
 * @property {(bytes: Buffer, start: number, end: number, offset: number, isDeleted: boolean) => boolean} record is given the bounds of a
 *   record's data, which are valid only during the call, and the record's offset in the file; returns true to be asked before the next one
 * @property {(bytes: Buffer, start: number, end: number, offset: number, reason: string) => boolean} problem the same for what is a
 *   record but cannot be one of a log, such as a line that is not JSON
 * @property {(offset: number, size: number, reason: string) => void} corrupt a part of the file without whole records, which is no torn write
 *
 * @typedef {object} Parser
 * @property {(bytes: Buffer, position: number, end: number, base: number, isLast: boolean, handler: Handler) => number} parse tells the
 *   handler of the whole records from `position` to `end`, and returns where it stopped. `base`: offset in the file of the first of the bytes
 * @property {number} needed bytes from there, without which it cannot continue
 * @property {string} problem why it cannot continue at all; empty if it can
 * @property {number} frame bytes of a record besides its data
 * @property {(read: Read, offset: number) => Promise<number>} resync where the next whole record starts after a broken one; -1: there is none
 */

/**
 * @typedef {object} Torn what an interrupted write left at the end of a file
 * @property {number} offset of its first byte
 * @property {number} bytes up to the end of the file
 * @property {string} reason what is wrong there
 */

class RecordReader {
  /**
   * @param {{ fd: number, filename: string, size: number }} file open
   * @param {Parser} parser
   * @param {number} [offset] of the record to start with
   * @param {Buffer} [memory] see `PieceReader`
   */
  constructor ({ fd, filename, size }, parser, offset = 0, memory) {
    this.fd = fd
    this.filename = filename
    this.size = size
    /** Where the file's first record is. */
    this.start = 0
    this.parser = parser
    this.pieces = new PieceReader(fd, filename, size, offset, memory)
    /** @type {Torn | null} */
    this.torn = null
  }

  /** Offset of what comes next. */
  get offset () {
    return this.pieces.base + this.pieces.position
  }

  /**
   * Tells the handler of records until it wants to be asked, or a piece is parsed.
   * @param {Handler} handler
   * @returns {Promise<boolean>} false: the file has ended
   */
  async next (handler) {
    const { pieces, parser } = this
    if (pieces.position < pieces.end) {
      const before = pieces.position
      pieces.position = parser.parse(pieces.bytes, before, pieces.end, pieces.base, pieces.isLast, handler)
      if (parser.problem !== '') return this.stepOver(handler)
      if (pieces.position > before) return true
    }
    if (pieces.isLast) return false
    await pieces.more(parser.needed)
    return true
  }

  /**
   * @param {Handler} handler
   * @returns {Promise<boolean>}
   */
  async stepOver (handler) {
    const { parser, offset } = this
    const reason = parser.problem
    parser.problem = ''
    const next = await parser.resync((at, size) => this.read(at, size), offset)
    if (next === -1) {
      this.torn = tornUnlessCorrupt(handler, offset, this.size, reason)
      return false
    }
    handler.corrupt(offset, next - offset, reason)
    await this.pieces.seek(next)
    return true
  }

  /** @type {Read} */
  async read (offset, size) {
    const bytes = Buffer.allocUnsafe(size)
    const { bytesRead } = await readAt(this.fd, bytes, 0, size, offset)
    if (bytesRead < size) throw errors.shrunk(this.filename, this.size, offset + bytesRead)
    return bytes
  }

  stop () {
    return this.pieces.stop()
  }
}

/**
 * @param {Handler} handler
 * @param {number} offset up to which there are whole records
 * @param {number} size of the file
 * @param {string} reason
 * @returns {Torn | null} null: there is more than a write leaves, and the handler was told that it is corrupt
 */
function tornUnlessCorrupt (handler, offset, size, reason) {
  const bytes = size - offset
  if (bytes <= MAX_TORN) return { offset, bytes, reason }
  handler.corrupt(offset, bytes, reason)
  return null
}

module.exports = { RecordReader, tornUnlessCorrupt }
