'use strict'

// Files of async-append-only-log. Integers are little-endian:
//
//     log   := block*                    each of blockSize bytes, 65536 unless its option says otherwise
//     block := record+ zeros             at least two zeros
//     record := length:uint16  data
//
// A deleted record has zeros for data.

const { isZeros } = require('flumelog-random-access-file/blocks')
const { recordAt, BATCH } = require('./reader')

const BLOCK_SIZE = 65536
const LENGTH_SIZE = 2

/** @typedef {import('./reader').Parser} Parser */

/** @implements {Parser} */
class AsyncAppendOnlyLogParser {
  /** @param {number} blockSize */
  constructor (blockSize) {
    this.blockSize = blockSize
    this.problem = ''
  }

  /** @type {Parser['parse']} */
  parse (bytes, position, base, isLast, items) {
    const { blockSize } = this
    const end = bytes.length
    while (position < end && items.length < BATCH) {
      const inBlock = (base + position) % blockSize
      const blockEnd = position - inBlock + blockSize
      if (blockEnd > end && !isLast) break
      const limit = Math.min(blockEnd, end)
      if (position + LENGTH_SIZE > limit) return this.fail(position, `${limit - position} bytes are left in the block, too few for its end`)
      const length = bytes[position] | bytes[position + 1] << 8
      if (length === 0) {
        if (inBlock === 0) return this.fail(position, 'the block is empty')
        if (!isZeros(bytes.subarray(position, limit))) return this.fail(position, 'the end of a block is followed by other bytes than zeros')
        if (limit < blockEnd) return this.fail(position, `the last block has ${limit - position + inBlock} bytes instead of ${blockSize}`)
        position = blockEnd
        continue
      }
      const start = position + LENGTH_SIZE
      const after = start + length
      if (after > limit) return this.fail(position, `record length ${length} runs past the end of the ${limit < blockEnd ? 'file' : 'block'}`)
      items.push(recordAt(bytes, start, after, base + position, bytes[start] === 0 && isZeros(bytes.subarray(start, after))))
      position = after
    }
    return position
  }

  /**
   * @param {number} position
   * @param {string} problem
   */
  fail (position, problem) {
    this.problem = problem
    return position
  }

  /**
   * Lengths stand only before records, so nothing after a broken one can be found in its block.
   * @type {NonNullable<Parser['resync']>}
   */
  async resync (file, offset) {
    const { blockSize } = this
    for (let next = offset - offset % blockSize + blockSize; next + LENGTH_SIZE < file.size; next += blockSize) {
      if ((await file.read(next, LENGTH_SIZE)).readUInt16LE() !== 0) return next
    }
    return -1
  }
}

module.exports = { AsyncAppendOnlyLogParser, BLOCK_SIZE, LENGTH_SIZE }
