'use strict'

// Gives a stream or a scan one block after the other, in either direction, and reads
// ahead of it: first one block, then more and more as it goes on.

const { BufferPool } = require('./buffer-pool')

/** Buffers per read, once a reader has read sequentially for a while. */
const BUFFERS_PER_READ = 8
/** Reads of that size that are pending or ready at a time. */
const MAX_READS = 4

/** @typedef {import('../format/block').Block} Block */
/** @typedef {import('./block-cache').BlockCache} BlockCache */

class Readahead {
  /**
   * @param {BlockCache} blocks
   * @param {boolean} reverse
   * @param {boolean} useCache whether blocks go into the cache
   * @param {boolean} reuseMemory whether the memory of blocks that the reader has passed may be reused
   * @param {boolean} isSingle whether the reader wants one record: nothing is read ahead
   */
  constructor (blocks, reverse, useCache, reuseMemory, isSingle) {
    this.blocks = blocks
    this.isSingle = isSingle
    /** @type {1 | -1} */
    this.step = reverse ? -1 : 1
    /** See `LoadOptions`. */
    this.cacheShare = useCache ? blocks.sequentialShare : 0
    this.pool = reuseMemory ? new BufferPool(this.step, blocks.blocksPerBuffer * blocks.blockSize) : null
    this.blocksPerRead = blocks.blocksPerBuffer * BUFFERS_PER_READ
    this.maxDepth = isSingle ? 1 : MAX_READS * this.blocksPerRead
    /** The number of blocks that may be pending or ready; it doubles with each block that is taken. */
    this.depth = 1
    /** The next block to request. */
    this.frontier = 0
    this.generation = blocks.generation
    /** Blocks that were read and not yet taken; null: that are being read. @type {Map<number, Block | null>} */
    this.ahead = new Map()
    /** The block that the reader waits for. */
    this.wanted = -1
    /** @type {(() => void) | null} */
    this.onready = null
    this.onload = this.onload.bind(this)
  }

  /**
   * @param {number} number
   * @param {number} last the furthest block of use
   * @param {() => void} onready if the block is not there yet: called once when it can be taken, after `take` has returned
   * @returns {Block | undefined} undefined: not there yet
   */
  take (number, last, onready) {
    const { blocks, ahead } = this
    this.onready = null
    if (this.pool !== null) this.pool.releaseBefore(number)
    if (this.generation !== blocks.generation) {
      this.generation = blocks.generation
      for (const [number, block] of ahead) if (block !== null) ahead.delete(number)
    }
    if (!ahead.get(number)) {
      const cached = blocks.getCached(number)
      if (cached !== undefined) {
        blocks.hits++
        return cached
      }
      if (!ahead.has(number)) {
        ahead.clear()
        this.frontier = number
      }
    }
    this.readAhead(number, Math.min(last, blocks.tail.number - 1))
    const block = ahead.get(number)
    if (!block) {
      this.wanted = number
      this.onready = onready
      return undefined
    }
    blocks.misses++
    ahead.delete(number)
    return block
  }

  /**
   * Requests blocks in the order in which the reader comes to them, so that `depth` blocks are pending or ready.
   * @param {number} number to which the reader has come
   * @param {number} last the furthest block of use
   */
  readAhead (number, last) {
    const { step } = this
    while ((this.frontier - number) * step < this.depth && (last - this.frontier) * step >= 0) {
      // the first block comes alone: the reader waits for it, and may want no other
      const from = this.frontier
      const edge = this.depth === 1 ? from : this.edgeOfRead(last)
      this.frontier = edge + step
      this.read(Math.min(from, edge), Math.max(from, edge))
    }
    this.depth = Math.min(this.depth * 2, this.maxDepth)
  }

  /**
   * @param {number} last
   * @returns {number} the last block of the read that starts at the frontier; reads end at multiples of their size
   */
  edgeOfRead (last) {
    const start = this.frontier - this.frontier % this.blocksPerRead
    return this.step === 1 ? Math.min(start + this.blocksPerRead - 1, last) : Math.max(start, last)
  }

  /**
   * Requests blocks, without cached ones at both ends, by one call.
   * @param {number} low
   * @param {number} high inclusive
   */
  read (low, high) {
    const { blocks, pool } = this
    while (low <= high && blocks.isCached(low)) low++
    while (low <= high && blocks.isCached(high)) high--
    const count = high - low + 1
    if (count <= 0) return
    for (let number = low; number <= high; number++) this.ahead.set(number, null)
    const cacheShare = this.depth === 1 && this.cacheShare > 0 ? 1 : this.cacheShare
    if (pool === null || blocks.hasRoom(cacheShare)) return blocks.loader.load(low, count, { cacheShare, isSingle: this.isSingle }, this.onload)
    const read = pool.acquire(blocks.bufferSizes(count), this.step === 1 ? high : low)
    blocks.loader.load(low, count, { cacheShare: 0, buffers: read.buffers }, (loaded) => {
      read.isDone = true
      this.onload(loaded)
    })
  }

  /** @param {Block[]} loaded perhaps while `take` runs, if the storage answers at once */
  onload (loaded) {
    // a block that is not ahead was requested before the reader stopped or jumped
    for (const block of loaded) if (this.ahead.has(block.number)) this.ahead.set(block.number, block)
    if (this.onready === null || !this.ahead.get(this.wanted)) return
    const { onready } = this
    this.onready = null
    onready()
  }

  /** Releases the blocks that were read, and ignores those that are still being read. */
  stop () {
    this.onready = null
    this.ahead.clear()
  }
}

module.exports = { Readahead }
