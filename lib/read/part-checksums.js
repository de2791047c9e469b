'use strict'

// What is remembered of blocks that were read and checked, so that later one record can
// be read without its whole block. Of each part of a block we keep the checksum: bytes
// that still have it are the bytes that were checked. Where anything differs, or is not
// known, the whole block has to be read again.

const layout = require('../format/layout')
const { checksumOfPart } = require('../format/checksum')

/** Bytes of a part. Of smaller ones more have to be remembered, and they are not read noticeably faster. */
const PART_SIZE = 2048
/** In blocks of fewer parts there is little to gain. */
const LEAST_PARTS = 4
/** Of the cache's size, what digests may take beside it. */
const SHARE_OF_CACHE = 1 / 8
/** About what a digest takes besides its numbers. */
const DIGEST_OVERHEAD = 300
/**
 * A block is read whole when it was read in part so recently that this much of the cache could hold the blocks since.
 * Where records are drawn over a log ten times larger than the cache, most of these are read whole in vain: at 1/4, gets took a third longer.
 */
const RECENT_SHARE_OF_CACHE = 1 / 16

/**
 * @typedef {object} Digest
 * @property {Uint32Array} sums a part's: see `checksumByParts` in block.js
 * @property {Uint16Array} firsts a part's: where the first record starts that starts in it, or after it
 * @property {number} end where the block's records end
 * @property {number} recentUntil as long as fewer blocks than this were read in part, it is recent that this one was
 *
 * @typedef {object} Parts where in the file to read, to have a record
 * @property {Digest} digest
 * @property {number} from position in the block, and the start of a part
 * @property {number} size in bytes, of whole parts
 */

class PartChecksums {
  /** @param {{ blockSize: number, checksum: boolean, cacheSize: number }} options */
  constructor ({ blockSize, checksum, cacheSize }) {
    this.parts = blockSize / PART_SIZE
    const isOfUse = checksum && Number.isInteger(this.parts) && this.parts >= LEAST_PARTS
    this.most = isOfUse ? Math.floor(cacheSize * SHARE_OF_CACHE / (6 * this.parts + DIGEST_OVERHEAD)) : 0
    this.mostRecent = Math.floor(cacheSize * RECENT_SHARE_OF_CACHE / blockSize)
    /** By the block's number; the oldest first. @type {Map<number, Digest>} */
    this.digests = new Map()
    /** how often a block was read in part */
    this.readings = 0
  }

  /** @returns {Uint32Array | null} for the checksums of a block's parts, if one is to be remembered */
  newSums () {
    return this.most === 0 ? null : new Uint32Array(this.parts)
  }

  /**
   * @param {import('./block-cache').Block} block that is sealed and sound
   * @param {Uint32Array} sums of its parts
   */
  add ({ number, buffer, end }, sums) {
    if (this.digests.size === this.most) this.digests.delete(this.digests.keys().next().value ?? 0)
    this.digests.set(number, { sums, firsts: firstsOf(buffer, end, this.parts), end, recentUntil: 0 })
  }

  /** @param {number} number of a block that is rewritten */
  delete (number) {
    this.digests.delete(number)
  }

  /**
   * @param {number} number
   * @param {number} position at which a record should start
   * @returns {Parts | null} null: read the whole block
   */
  partsOf (number, position) {
    const digest = this.digests.get(number)
    // one that is wanted again and again belongs into the cache
    if (digest === undefined || this.readings < digest.recentUntil) return null
    const { firsts, end } = digest
    const part = Math.floor(position / PART_SIZE)
    if (position < firsts[part] || position >= end) return null
    digest.recentUntil = ++this.readings + this.mostRecent
    // the last record that starts in the part ends where the next one starts
    const next = part + 1 < this.parts ? firsts[part + 1] : end
    const from = part * PART_SIZE
    return { digest, from, size: Math.ceil((next - from) / PART_SIZE) * PART_SIZE }
  }

  /**
   * @param {number} number
   * @param {Parts} parts as they were asked for
   * @param {Buffer} bytes what was read there
   * @param {number} position at which the record should start
   * @returns {Buffer | null} its data; null: read the whole block
   */
  record (number, { digest, from }, bytes, position) {
    // the block was rewritten meanwhile
    if (this.digests.get(number) !== digest) return null
    const { sums, firsts } = digest
    const wanted = position - from
    let part = from / PART_SIZE
    let checked = 0

    /** @param {number} end */
    const isAsChecked = (end) => {
      for (; checked < end; checked += PART_SIZE, part++) {
        const sum = checksumOfPart(layout.view(bytes.buffer, bytes.byteOffset + checked, PART_SIZE), part === this.parts - 1, part === 0 ? 0 : sums[part - 1])
        if (sum !== sums[part]) return false
      }
      return true
    }

    if (!isAsChecked(PART_SIZE)) return null
    let at = firsts[part - 1] - from
    while (at < wanted) at = layout.nextPosition(bytes, at)
    if (at !== wanted || !isAsChecked(at + layout.LENGTH_SIZE) || !isAsChecked(layout.nextPosition(bytes, at))) return null
    return layout.dataAt(bytes, at)
  }
}

/**
 * @param {Buffer} block
 * @param {number} end where its records end
 * @param {number} parts how many parts it has
 */
function firstsOf (block, end, parts) {
  const firsts = new Uint16Array(parts)
  let part = 0
  for (let position = 0; position < end; position = layout.nextPosition(block, position)) {
    while (part * PART_SIZE <= position) firsts[part++] = position
  }
  return firsts.fill(end, part)
}

module.exports = { PartChecksums, PART_SIZE }
