'use strict'

// Gives a stream or a scan one block after the other, in either direction, and reads
// ahead of it: first one block, then more and more as it goes on.

const { BufferPool } = require('./buffer-pool')
const { ReadaheadWindow } = require('./readahead-window')

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
    this.window = new ReadaheadWindow(this.step, blocks.blocksPerBuffer, useCache ? blocks.sequentialShare : 0, isSingle)
    this.pool = reuseMemory ? new BufferPool(this.step, blocks.blocksPerBuffer * blocks.blockSize) : null
    this.generation = blocks.generation
    /** Blocks that were read and not yet taken. @type {Map<number, Block>} */
    this.ready = new Map()
    /** Numbers of the blocks that are being read. @type {Set<number>} */
    this.pending = new Set()
    /** The block that the reader waits for. */
    this.wanted = -1
    /** @type {(() => void) | null} */
    this.onready = null
    this.onload = this.onload.bind(this)
    this.isCached = (/** @type {number} */ number) => blocks.isCached(number)
  }

  /**
   * @param {number} number
   * @param {number} last the furthest block of use
   * @param {() => void} onready if the block is not there yet: called once when it can be taken, after `take` has returned
   * @returns {Block | undefined} undefined: not there yet
   */
  take (number, last, onready) {
    const { blocks } = this
    this.onready = null
    if (this.pool !== null) this.pool.releaseBefore(number)
    if (this.generation !== blocks.generation) {
      this.generation = blocks.generation
      this.ready.clear()
    }
    if (!this.ready.has(number)) {
      const cached = blocks.getCached(number)
      if (cached !== undefined) {
        blocks.hits++
        return cached
      }
      if (!this.pending.has(number)) {
        this.ready.clear()
        this.window.restart(number)
      }
    }
    this.readAhead(number, Math.min(last, blocks.tail.number - 1))
    const block = this.ready.get(number)
    if (block === undefined) {
      this.wanted = number
      this.onready = onready
      return undefined
    }
    blocks.misses++
    this.ready.delete(number)
    return block
  }

  /**
   * @param {number} number
   * @param {number} last
   */
  readAhead (number, last) {
    for (const { low, high, cacheShare } of this.window.advance(number, last, this.isCached)) {
      for (let number = low; number <= high; number++) this.pending.add(number)
      if (this.pool !== null && !this.blocks.hasRoom(cacheShare)) this.readIntoPool(this.pool, low, high)
      else this.blocks.load(low, high - low + 1, { cacheShare, isSingle: this.isSingle }, this.onload)
    }
  }

  /**
   * @param {BufferPool} pool
   * @param {number} low
   * @param {number} high
   */
  readIntoPool (pool, low, high) {
    const count = high - low + 1
    const read = pool.acquire(this.blocks.bufferSizes(count), this.step === 1 ? high : low)
    this.blocks.load(low, count, { cacheShare: 0, buffers: read.buffers }, (loaded) => {
      read.isDone = true
      this.onload(loaded)
    })
  }

  /** @param {Block[]} loaded perhaps while `take` runs, if the storage answers at once */
  onload (loaded) {
    for (const block of loaded) {
      // a block that is not pending was requested before the reader stopped or jumped
      if (this.pending.delete(block.number)) this.ready.set(block.number, block)
    }
    if (this.onready === null || !this.ready.has(this.wanted)) return
    const { onready } = this
    this.onready = null
    onready()
  }

  /** Releases the blocks that were read, and ignores those that are still being read. */
  stop () {
    this.onready = null
    this.ready.clear()
    this.pending.clear()
  }
}

module.exports = { Readahead }
