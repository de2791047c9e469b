'use strict'

// A log that is backed up, up to where it ended when the backup was started. Its blocks come through the readers of the
// log: they are verified, and as they are without deleted records, also while they are being rewritten.

const { deletedPart, isHole } = require('../format/hole')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { PieceReader } = require('../space/piece-reader')

/** Bytes at the end of a block: its checksum, and where its padding starts. */
const SUMMARY_SIZE = 8

/**
 * @typedef {object} Piece blocks that follow each other
 * @property {number} offset of the first one
 * @property {Buffer[]} blocks valid until the next piece is asked for. In the last one, the block may be shorter, if the log ends in it
 *
 * @typedef {object} Summary of a full block
 * @property {number} checksum as stored; 0 if the block has none
 * @property {number} start of its padding
 */

class SourceLog {
  /**
   * @param {import('../read/block-cache').BlockCache} blocks of a log that is open
   * @param {import('../storage/path-file').LogFile} file
   */
  constructor (blocks, file) {
    this.blocks = blocks
    this.file = file
    this.filename = file.filename
    this.blockSize = blocks.blockSize
    /** Of the generation of the log in which all of it is. */
    this.base = blocks.base
    /** Offset of the first block; it moves if the log is trimmed while it is backed up. */
    this.start = blocks.start
    this.end = blocks.end
    /** Now: a log that is closed meanwhile has none. */
    this.status = file.status()
  }

  /**
   * @param {number} from offset of a block
   * @returns {AsyncGenerator<Piece, void, void>} the next piece is read while the caller has one
   */
  async * pieces (from) {
    const { blocks, blockSize, end } = this
    const fullBlocks = Math.floor(end / blockSize)
    let next = from / blockSize
    for await (const piece of new PieceReader(blocks, next).upTo(fullBlocks)) {
      const trimmed = piece.find(({ error }) => error !== null && /** @type {NodeJS.ErrnoException} */ (error).code === 'flumelog:trimmed')
      if (trimmed !== undefined || piece[0].number > next) this.skipTrimmed(trimmed?.error ?? blocks.trimmedAt(next * blockSize))
      next = piece[piece.length - 1].number + 1
      const kept = piece.filter(({ number }) => number * blockSize >= this.start)
      if (kept.length > 0) yield { offset: kept[0].number * blockSize, blocks: kept.map(block => this.verified(block)) }
    }
    if (next < fullBlocks) this.skipTrimmed(blocks.trimmedAt(next * blockSize))
    if (end % blockSize > 0) yield { offset: fullBlocks * blockSize, blocks: [await this.lastPart()] }
  }

  /**
   * @param {any} err
   * @returns {null} the log was trimmed, and goes on at `start`
   * @throws any other error, and if nothing is left of the log as it was
   */
  skipTrimmed (err) {
    const { start } = this.blocks
    if (err.code !== 'flumelog:trimmed' || start >= this.end) throw err
    this.start = start
    return null
  }

  /**
   * @param {number} number of a full block
   * @returns {Promise<Buffer>}
   */
  async block (number) {
    if ((number + 1) * this.blockSize > this.end) return this.lastPart()
    return this.fullBlock(number)
  }

  /**
   * @param {number} number
   * @returns {Promise<Buffer>} its bytes
   */
  async fullBlock (number) {
    return this.verified(await new Promise(resolve => this.blocks.loader.load(number, 1, { cacheShare: 0 }, ([block]) => resolve(block))))
  }

  /**
   * @param {import('../format/block').Block} block
   * @returns {Buffer}
   */
  verified ({ number, buffer, error }) {
    if (error !== null) throw error
    // a log that is opened without checksums does not look at them; a backup does
    const problem = this.blocks.checksum ? null : findProblem(buffer, true)
    if (problem !== null) throw errors.corrupt(this.filename, number, this.blockSize, problem.position, problem.reason)
    return buffer
  }

  /** @returns {Promise<Buffer>} the records of the last block, which is not full */
  async lastPart () {
    const { blocks, blockSize, end } = this
    const number = Math.floor(end / blockSize)
    const { tail } = blocks
    if (tail.number !== number) {
      const block = await this.fullBlock(number)
      // full by now, and made one deleted record, which does not end where the log did
      return isHole(block) ? deletedPart(end % blockSize) : block.subarray(0, end % blockSize)
    }
    if (tail.error !== null) throw tail.error
    // more may be packed into it, and its memory may be used again
    return Buffer.from(tail.buffer.subarray(0, end % blockSize))
  }

  /**
   * @param {number} number of a full block
   * @returns {Promise<Summary | null>} null: the file may not have all that was deleted in it
   */
  summary (number) {
    if (this.blocks.overrides.has(number)) return Promise.resolve(null)
    return readSummary(this.file, (number + 1) * this.blockSize)
  }
}

/**
 * @param {import('../storage/path-file').LogFile} file
 * @param {number} end offset of the end of a block
 * @returns {Promise<Summary>}
 */
function readSummary (file, end) {
  return new Promise((resolve, reject) => {
    file.readSmall(end - SUMMARY_SIZE, SUMMARY_SIZE, true, (err, bytes) => {
      if (err || bytes === undefined) reject(err)
      else resolve({ checksum: bytes.readUInt32LE(0), start: bytes.readUInt32LE(4) })
    })
  })
}

module.exports = { SourceLog, readSummary }
