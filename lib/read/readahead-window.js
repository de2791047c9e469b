'use strict'

// Decides which blocks a sequential reader requests ahead of its position. Pure: the
// I/O is in readahead.js.

/** Buffers per read, once a reader has read sequentially for a while. */
const BUFFERS_PER_READ = 8
/** Reads of that size that are pending or ready at a time. */
const MAX_READS = 4
/**
 * @typedef {object} Request blocks to be read by one call
 * @property {number} low the first block's number
 * @property {number} high the last block's number, inclusive
 * @property {number} cacheShare see `LoadOptions`
 */

/** @type {readonly Request[]} */
const NO_REQUESTS = Object.freeze([])

class ReadaheadWindow {
  /**
   * @param {1 | -1} step the reader's direction over block numbers
   * @param {number} blocksPerBuffer
   * @param {number} cacheShare fraction of the cache that blocks may fill; 0: they do not go into it
   * @param {boolean} [isSingle] one block at a time
   */
  constructor (step, blocksPerBuffer, cacheShare, isSingle = false) {
    this.step = step
    this.blocksPerRead = blocksPerBuffer * BUFFERS_PER_READ
    this.maxDepth = isSingle ? 1 : MAX_READS * this.blocksPerRead
    this.cacheShare = cacheShare
    /** The number of blocks that may be pending or ready; it doubles with each block that is taken. */
    this.depth = 1
    /** The next block to request. */
    this.frontier = 0
  }

  /** @param {number} number the block from which on nothing is pending or ready: the reader starts, or has jumped */
  restart (number) {
    this.frontier = number
  }

  /**
   * The reader has come to a block: what to request, so that `depth` blocks from there on are pending or ready.
   * @param {number} number
   * @param {number} last the furthest block of use
   * @param {(number: number) => boolean} isCached
   * @returns {readonly Request[]} in the order in which the reader comes to them
   */
  advance (number, last, isCached) {
    const { step } = this
    /** @type {Request[] | null} */
    let requests = null
    while ((this.frontier - number) * step < this.depth && (last - this.frontier) * step >= 0) {
      // the first block comes alone: the reader waits for it, and may want no other
      const edge = this.depth === 1 ? this.frontier : this.edgeOfRead(last)
      const request = this.requestFor(Math.min(this.frontier, edge), Math.max(this.frontier, edge), isCached)
      if (request !== null) (requests ??= []).push(request)
      this.frontier = edge + step
    }
    this.depth = Math.min(this.depth * 2, this.maxDepth)
    return requests ?? NO_REQUESTS
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
   * @param {number} low
   * @param {number} high
   * @param {(number: number) => boolean} isCached
   * @returns {Request | null} null: all of these blocks are cached
   */
  requestFor (low, high, isCached) {
    while (low <= high && isCached(low)) low++
    while (low <= high && isCached(high)) high--
    if (low > high) return null
    return { low, high, cacheShare: this.cacheShare > 0 && this.depth === 1 ? 1 : this.cacheShare }
  }
}

module.exports = { ReadaheadWindow, BUFFERS_PER_READ, MAX_READS }
