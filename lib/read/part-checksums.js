'use strict'

// Lets a single record be read without its whole block. For blocks that were verified
// before, the checksum of each part is remembered: bytes that still have it are the bytes
// that were verified. Where a checksum differs or is unknown, the whole block is read.

const layout = require('../format/layout')
const { checksumOfPart } = require('../format/checksum')

/** Bytes per part. Smaller parts need more checksums and are not noticeably faster to read. */
const PART_SIZE = 2048
/** Blocks of fewer parts have little to gain. */
const MIN_PARTS = 4
/** Memory for part checksums, as a fraction of the cache's size; it comes on top of that. */
const SHARE_OF_CACHE = 1 / 8
/** Approximate bytes per entry besides its arrays' contents. */
const ENTRY_OVERHEAD = 300
/**
 * A block is read whole if it was read in part recently: fewer partial reads ago than blocks fit into this fraction
 * of the cache. For gets at random in a log ten times the size of the cache, reading whole blocks rarely pays: at 1/4,
 * they took a third longer.
 */
const RECENT_SHARE_OF_CACHE = 1 / 16

/**
 * @typedef {object} Entry about one block
 * @property {Uint32Array} checksums of its parts: see `checksumByParts`
 * @property {Uint16Array} firstRecordIn for each part: position of the first record that starts in it or after it
 * @property {number} end where the block's records end
 * @property {number} recentUntil the block counts as recently read until this number of partial reads
 *
 * @typedef {object} Parts the parts of a block that contain a record
 * @property {Entry} entry
 * @property {number} from position in the block at which the first part starts
 * @property {number} size in bytes, of whole parts
 */

class PartChecksums {
  /** @param {{ blockSize: number, checksum: boolean, cacheSize: number }} options */
  constructor ({ blockSize, checksum, cacheSize }) {
    this.partsPerBlock = blockSize / PART_SIZE
    const isUseful = checksum && Number.isInteger(this.partsPerBlock) && this.partsPerBlock >= MIN_PARTS
    this.maxEntries = isUseful ? Math.floor(cacheSize * SHARE_OF_CACHE / (6 * this.partsPerBlock + ENTRY_OVERHEAD)) : 0
    this.recentReads = Math.floor(cacheSize * RECENT_SHARE_OF_CACHE / blockSize)
    /** By block number; the oldest first. @type {Map<number, Entry>} */
    this.entries = new Map()
    this.partialReads = 0
  }

  /** @returns {Uint32Array | null} to be filled with the checksums of a block's parts; null: do not remember any */
  newChecksums () {
    return this.maxEntries === 0 ? null : new Uint32Array(this.partsPerBlock)
  }

  /**
   * @param {import('../format/block').Block} block sealed and verified
   * @param {Uint32Array} checksums of its parts
   */
  add ({ number, buffer, end }, checksums) {
    if (this.entries.size === this.maxEntries) this.entries.delete(this.entries.keys().next().value ?? 0)
    this.entries.set(number, { checksums, firstRecordIn: firstRecordInParts(buffer, end, this.partsPerBlock), end, recentUntil: 0 })
  }

  /** @param {number} number of a block that is rewritten */
  delete (number) {
    this.entries.delete(number)
  }

  /**
   * @param {number} number
   * @param {number} position at which a record should start
   * @returns {Parts | null} what to read; null: the whole block
   */
  partsOf (number, position) {
    const entry = this.entries.get(number)
    // a block that is read repeatedly belongs into the cache
    if (entry === undefined || this.partialReads < entry.recentUntil) return null
    const { firstRecordIn, end } = entry
    const part = Math.floor(position / PART_SIZE)
    if (position < firstRecordIn[part] || position >= end) return null
    entry.recentUntil = ++this.partialReads + this.recentReads
    // the last record that starts in the part ends where the next record starts
    const next = part + 1 < this.partsPerBlock ? firstRecordIn[part + 1] : end
    const from = part * PART_SIZE
    return { entry, from, size: Math.ceil((next - from) / PART_SIZE) * PART_SIZE }
  }

  /**
   * @param {number} number
   * @param {Parts} parts from `partsOf`
   * @param {Buffer} bytes what was read there
   * @param {number} position at which a record should start
   * @returns {Buffer | null} its data; null: the whole block has to be read
   */
  verifiedRecord (number, { entry, from }, bytes, position) {
    // the block was rewritten meanwhile
    if (this.entries.get(number) !== entry) return null
    const { checksums, firstRecordIn } = entry
    const wanted = position - from
    let part = from / PART_SIZE
    let verifiedUntil = 0

    /** @param {number} end */
    const verifyUntil = (end) => {
      for (; verifiedUntil < end; verifiedUntil += PART_SIZE, part++) {
        const isLast = part === this.partsPerBlock - 1
        const bytesOfPart = layout.view(bytes.buffer, bytes.byteOffset + verifiedUntil, PART_SIZE)
        if (checksumOfPart(bytesOfPart, isLast, part === 0 ? 0 : checksums[part - 1]) !== checksums[part]) return false
      }
      return true
    }

    let start = firstRecordIn[part] - from
    if (!verifyUntil(PART_SIZE)) return null
    while (start < wanted) start = layout.nextPosition(bytes, start)
    if (start !== wanted || !verifyUntil(start + layout.LENGTH_SIZE) || !verifyUntil(layout.nextPosition(bytes, start))) return null
    return layout.dataAt(bytes, start)
  }
}

/**
 * @param {Buffer} block
 * @param {number} end where its records end
 * @param {number} parts number of its parts
 * @returns {Uint16Array} for each part: position of the first record that starts in it or after it
 */
function firstRecordInParts (block, end, parts) {
  const firstRecordIn = new Uint16Array(parts)
  let part = 0
  for (let position = 0; position < end; position = layout.nextPosition(block, position)) {
    while (part * PART_SIZE <= position) firstRecordIn[part++] = position
  }
  return firstRecordIn.fill(end, part)
}

module.exports = { PartChecksums, PART_SIZE }
