'use strict'

// Lets a single record be read without its whole block. For blocks that were verified
// before, the checksum of each part is remembered: bytes that still have it are the bytes
// that were verified. Where a checksum differs or is unknown, the whole block is read.

const layout = require('../format/layout')
const { crc32 } = require('../format/crc32')

// looked up once: see layout.js
const { set } = Uint8Array.prototype

/** Bytes per part, about: a part is whole records. */
const PART_SIZE = 1024
/** Blocks of fewer parts have little to gain. */
const MIN_PARTS = 8
/** Memory for part checksums, as a fraction of the cache's size; it comes on top of that. */
const SHARE_OF_CACHE = 1 / 8
/** Approximate bytes per entry besides what it has in a table. */
const ENTRY_OVERHEAD = 120
/** Arrays for each block alone would take three times the memory. */
const ENTRIES_PER_TABLE = 64
/**
 * A block is read whole again, and cached, after this many partial reads. Reading it whole takes as long as some 20
 * partial reads, so this hardly slows down gets at random in a log much larger than the cache.
 */
const MAX_PARTIAL_READS = 1024
/** A partial read soon after another one in the same block counts as this many: the next ones are likely to follow. */
const RECENT_COUNT = 128
/** Soon: fewer partial reads ago than blocks fit into this fraction of the cache. */
const RECENT_SHARE_OF_CACHE = 1 / 64

/** What is remembered of one block: `Parts` of checksum.js, and how it is read. */
class BlockParts {
  /** @param {Pick<import('../format/checksum').Parts, 'starts' | 'checksums' | 'first' | 'count'>} place in a table */
  constructor ({ starts, checksums, first, count }) {
    this.starts = starts
    this.checksums = checksums
    this.first = first
    this.count = count
    this.partialReads = 0
    /** The block counts as recently read until this number of partial reads in the log. */
    this.recentUntil = 0
  }

  /**
   * @param {number} position in the block
   * @returns {number} index of the part that contains a record which starts there
   */
  partOf (position) {
    return this.first + Math.floor(position / PART_SIZE)
  }

  /**
   * @param {number} part
   * @returns {number} in bytes
   */
  sizeOf (part) {
    return this.starts[part + 1] - this.starts[part]
  }

  /**
   * @param {Buffer} bytes that were read where the part is; they may be longer
   * @param {number} part
   * @param {number} position in the block at which a record should start
   * @returns {Buffer | null} a copy of its data; null: the whole block has to be read
   */
  recordIn (bytes, part, position) {
    const { starts, checksums } = this
    const memory = bytes.buffer
    const memoryStart = bytes.byteOffset
    if (crc32(layout.view(memory, memoryStart, this.sizeOf(part)), checksums[part]) !== checksums[part + 1]) return null
    const wanted = position - starts[part]
    let start = 0
    while (start < wanted) start = layout.nextPosition(bytes, start)
    if (start !== wanted) return null
    const copy = Buffer.allocUnsafe(layout.readLength(bytes, start))
    set.call(copy, layout.view(memory, memoryStart + start + layout.LENGTH_SIZE, copy.length))
    return copy
  }
}

class PartChecksums {
  /** @param {{ blockSize: number, checksum: boolean, cacheSize: number }} options */
  constructor ({ blockSize, checksum, cacheSize }) {
    this.partsPerBlock = blockSize / PART_SIZE
    const isUseful = checksum && Number.isInteger(this.partsPerBlock) && this.partsPerBlock >= MIN_PARTS
    this.maxEntries = isUseful ? Math.floor(cacheSize * SHARE_OF_CACHE / (6 * (this.partsPerBlock + 1) + ENTRY_OVERHEAD)) : 0
    this.recentReads = Math.ceil(cacheSize * RECENT_SHARE_OF_CACHE / blockSize)
    /** By block number; the oldest first. @type {Map<number, BlockParts>} */
    this.entries = new Map()
    /** Unused places in tables. @type {BlockParts[]} */
    this.free = []
    this.partialReads = 0
  }

  /** @returns {BlockParts | null} to be filled when a block is verified, then passed to `add` or `release`; null: do not remember any */
  newParts () {
    if (this.maxEntries === 0) return null
    if (this.free.length === 0) this.addTable()
    return new BlockParts(/** @type {BlockParts} */ (this.free.pop()))
  }

  addTable () {
    const count = this.partsPerBlock
    const size = ENTRIES_PER_TABLE * (count + 1)
    const starts = new Uint16Array(size)
    const checksums = new Uint32Array(size)
    for (let first = 0; first < size; first += count + 1) this.free.push(new BlockParts({ starts, checksums, first, count }))
  }

  /** @param {BlockParts} parts that are not used any more */
  release (parts) {
    this.free.push(parts)
  }

  /**
   * @param {number} number of a block that is sealed and verified
   * @param {BlockParts} parts
   */
  add (number, parts) {
    this.delete(number)
    if (this.entries.size === this.maxEntries) this.delete(this.entries.keys().next().value ?? 0)
    this.entries.set(number, parts)
  }

  /** @param {number} number of a block that is rewritten */
  delete (number) {
    const parts = this.entries.get(number)
    if (parts === undefined) return
    this.entries.delete(number)
    this.release(parts)
  }

  /**
   * @param {number} number
   * @param {number} position at which a record should start
   * @returns {BlockParts | null} null: the whole block has to be read
   */
  find (number, position) {
    const parts = this.entries.get(number)
    if (parts === undefined || parts.partialReads >= MAX_PARTIAL_READS) return null
    const part = parts.partOf(position)
    if (position < parts.starts[part] || position >= parts.starts[part + 1]) return null
    return parts
  }

  /** @param {BlockParts} parts of a block that is read in part */
  countRead (parts) {
    parts.partialReads += this.partialReads < parts.recentUntil ? RECENT_COUNT : 1
    parts.recentUntil = ++this.partialReads + this.recentReads
  }
}

module.exports = { PartChecksums, PART_SIZE }
