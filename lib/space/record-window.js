'use strict'

// The last blocks of a log, as few as have the records that are to stay. With the option `large`: there the number
// of records that the writer keeps does not tell how many of them are parts of large ones.

const chunk = require('../format/chunk')
const layout = require('../format/layout')

/** Blocks that are read at a time, going back. */
const MAX_BLOCKS = 64

class RecordWindow {
  /**
   * @param {import('../read/block-cache').BlockCache} blocks
   * @param {number} records that it is to have, if the log has so many
   */
  constructor (blocks, records) {
    this.blocks = blocks
    this.records = records
    /** Number of its first block, and of the one after its last. */
    this.first = this.end = 0
    /** Records in it, and in each of its blocks: neither deleted nor parts of a large one. */
    this.total = 0
    /** @type {Map<number, number>} */
    this.counts = new Map()
    /** Blocks of which records were deleted since. @type {Set<number>} */
    this.changed = new Set()
  }

  /** @param {number} number of a block of which records are deleted */
  deleted (number) {
    this.changed.add(number)
  }

  /**
   * @param {number} end offset up to which records count
   * @returns {boolean} whether nothing has to be read
   */
  isCurrent (end) {
    const { blocks, first, changed, total, records } = this
    const start = this.startBlock
    return this.end === Math.floor(end / blocks.blockSize) && changed.size === 0 && first >= start && (total >= records || first === start)
  }

  get startBlock () {
    return this.blocks.start / this.blocks.blockSize
  }

  /** @param {number} end offset up to which records count: whole blocks do */
  async update (end) {
    const { records, changed, blocks } = this
    const last = Math.floor(end / blocks.blockSize)
    while (this.first < this.end && this.first < this.startBlock) this.drop()
    // another file, or just opened
    if (this.end < this.startBlock || this.first === this.end) this.first = this.end = last
    for (; this.end < last; this.end++) await this.count(this.end)
    for (let read = 0; read < MAX_BLOCKS && this.total < records && this.first > this.startBlock; read++) {
      await this.count(this.first - 1)
      this.first--
    }
    for (const number of changed) {
      changed.delete(number)
      if (this.counts.has(number)) await this.count(number)
    }
    while (this.first < this.end && this.total - (this.counts.get(this.first) ?? 0) >= records) this.drop()
  }

  /** @param {number} number of a block; one that cannot be read has no records */
  async count (number) {
    const { blocks, counts } = this
    const block = await blocks.read(number).catch(() => null)
    const count = block === null ? 0 : wholeRecordsIn(block)
    this.total += count - (counts.get(number) ?? 0)
    counts.set(number, count)
  }

  drop () {
    this.total -= this.counts.get(this.first) ?? 0
    this.counts.delete(this.first++)
  }

  /**
   * @param {number} number of a block
   * @returns {number} how many records are known to be in it, and in the blocks after it
   */
  from (number) {
    const { first, total, counts, changed } = this
    if (changed.size > 0) return 0
    if (number <= first) return total
    return number === first + 1 ? total - (counts.get(first) ?? 0) : 0
  }
}

/**
 * @param {import('../format/block').Block} block
 * @returns {number} records that are neither deleted nor parts of a large one
 */
function wholeRecordsIn ({ buffer, end }) {
  let records = 0
  for (let position = 0; position < end; position = layout.nextPosition(buffer, position)) {
    if (!layout.isDeleted(buffer, position) && chunk.kindOf(layout.dataAt(buffer, position)) !== chunk.PART) records++
  }
  return records
}

module.exports = { RecordWindow }
