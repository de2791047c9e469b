'use strict'

// Files of flumelog-offset. All integers are big-endian:
//
//     record := length:uint32  data  length:uint32  end
//     end    := offset in the file after the record, in 4, 6 or 8 bytes (32, 48 and 53 bits)
//
// A deleted record has zeros for data.

const { chunk, isZeros } = require('flumelog-random-access-file/blocks')
const { recordAt, BATCH } = require('./reader')

const { MAX_LENGTH } = chunk

/** Bytes of the lengths around data. */
const LENGTHS_SIZE = 8
/** Bytes of `end`, by the number of its bits. @type {Record<number, number>} */
const END_SIZES = { 32: 4, 48: 6, 53: 8 }

/** @typedef {import('./reader').Parser} Parser */

/** @implements {Parser} */
class OffsetParser {
  /**
   * @param {number} bits of `end`
   * @param {number} size of the file
   */
  constructor (bits, size) {
    this.endSize = END_SIZES[bits]
    this.size = size
    /** Bytes of a record besides its data. */
    this.frame = LENGTHS_SIZE + this.endSize
    this.problem = ''
  }

  /** @type {Parser['parse']} */
  parse (bytes, position, base, isLast, items) {
    const { frame } = this
    const end = bytes.length
    while (position + frame <= end && items.length < BATCH) {
      const length = bytes.readUInt32BE(position)
      const next = position + frame + length
      if (base + next > this.size) return this.fail(position, `record length ${length} runs past the end of the file`)
      if (length > MAX_LENGTH) return this.fail(position, `record length ${length}`)
      if (next > end) return position
      if (!this.isFramed(bytes, position, length, base)) return this.fail(position, this.reasonFor(bytes, position, length))
      const start = position + 4
      items.push(recordAt(bytes, start, start + length, base + position, length > 0 && bytes[start] === 0 && isZeros(bytes.subarray(start, start + length))))
      position = next
    }
    if (isLast && position < end && position + frame > end) return this.fail(position, `${end - position} bytes are left, too few for a record`)
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
   * @param {Buffer} bytes that have all of the record
   * @param {number} position of the record
   * @param {number} length of its data
   * @param {number} base offset of the first byte in the file
   * @returns {boolean} whether the length and the end after its data are right
   */
  isFramed (bytes, position, length, base) {
    const after = position + 4 + length
    return bytes.readUInt32BE(after) === length && endAt(bytes, after + 4, this.endSize) === base + position + this.frame + length
  }

  /**
   * @param {Buffer} bytes
   * @param {number} position
   * @param {number} length
   */
  reasonFor (bytes, position, length) {
    const again = bytes.readUInt32BE(position + 4 + length)
    if (again !== length) return `the length before the record is ${length}, after it ${again}`
    return 'the offset stored after the record is not that of its end'
  }

  /**
   * After a record that is not whole: each record ends with its own offset, so the next whole one can be found.
   * @type {NonNullable<Parser['resync']>}
   */
  async resync (file, offset) {
    const { frame, endSize, size } = this
    const step = 1024 * 1024
    for (let from = offset + 1; from + frame <= size; from += step) {
      // with the end of the first record that may start before `from`
      const bytes = await file.read(from, Math.min(step + frame, size - from))
      for (let position = endSize; position <= bytes.length; position++) {
        const end = from + position
        if (bytes.readUInt32BE(position - 4) !== end >>> 0) continue
        const start = await this.startOf(file, end, offset)
        if (start !== -1) return start
      }
    }
    return -1
  }

  /**
   * @param {import('./old-file').OldFile} file
   * @param {number} end of what may be a record
   * @param {number} least offset at which it may start
   * @returns {Promise<number>} where it starts; -1: it is none
   */
  async startOf (file, end, least) {
    const { frame, endSize } = this
    if (end - frame < least) return -1
    const length = (await file.read(end - endSize - 4, 4)).readUInt32BE()
    const start = end - frame - length
    if (length > MAX_LENGTH || start < least) return -1
    const bytes = await file.read(start, end - start)
    return bytes.readUInt32BE(0) === length && this.isFramed(bytes, 0, length, start) ? start : -1
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} size of the number, in bytes
 */
function endAt (bytes, position, size) {
  return size === 8 ? bytes.readUInt32BE(position) * 0x100000000 + bytes.readUInt32BE(position + 4) : bytes.readUIntBE(position, size)
}

module.exports = { OffsetParser, END_SIZES, LENGTHS_SIZE }
