'use strict'

// What streams and scans read of a log: one block after the other, read before it is
// asked for.

const { BufferPool } = require('./buffer-pool')

/** How many buffers a stream that goes on and on reads at a time. */
const BUFFERS_A_PIECE = 8
/** How many pieces it has under way or ready. */
const MAX_READ_AHEAD = 4
/**
 * What a stream reads on and on may fill so much of the cache. More would push all
 * else out and be gone itself before it is read again; and the less memory a stream
 * goes through, the more of it the processor has at hand.
 */
const SHARE_OF_STREAMS = 1 / 4

/** @typedef {import('./block-cache').Block} Block */
/** @typedef {import('./block-cache').BlockCache} BlockCache */

/**
 * Hands out one block after the other to a stream, in either direction, reading
 * ahead of it: first one block, then more and more while the stream goes on.
 */
class Readahead {
  /**
   * @param {BlockCache} blocks
   * @param {boolean} reverse
   * @param {boolean} keep whether blocks go into the cache
   * @param {boolean} reuse whether the memory of blocks that the stream is done with may be used again
   */
  constructor (blocks, reverse, keep, reuse) {
    this.blocks = blocks
    /** @type {1 | -1} */
    this.step = reverse ? -1 : 1
    this.keep = keep
    this.pool = reuse ? new BufferPool(this.step, blocks.blocksABuffer * blocks.blockSize) : null
    this.rewrites = blocks.rewrites
    /** Blocks that were read and not yet taken. @type {Map<number, Block>} */
    this.ready = new Map()
    /** Numbers of blocks on their way. @type {Set<number>} */
    this.coming = new Set()
    /** How many blocks may be ready or on their way; doubles with each block taken. */
    this.depth = 1
    /** The next block to ask for. */
    this.frontier = 0
    /** The block that is waited for. */
    this.wanted = -1
    /** @type {(() => void) | null} */
    this.onready = null
  }

  /**
   * @param {number} number
   * @param {number} last the furthest block that will be of use
   * @param {() => void} onready called once when it can be taken, if it cannot be now
   * @returns {Block | undefined} undefined: not yet here
   */
  take (number, last, onready) {
    const { blocks } = this
    if (this.pool !== null) this.pool.goneTo(number)
    if (this.rewrites !== blocks.rewrites) {
      this.rewrites = blocks.rewrites
      this.ready.clear()
    }
    let block = this.ready.get(number)
    if (block === undefined) {
      block = blocks.peek(number)
      if (block !== undefined) {
        blocks.hits++
        return block
      }
      if (!this.coming.has(number)) {
        this.ready.clear()
        this.frontier = number
      }
      this.wanted = number
      this.onready = onready
    } else {
      blocks.misses++
      this.ready.delete(number)
    }
    this.topUp(number, Math.min(last, blocks.tail.number - 1))
    return block
  }

  /**
   * Starts reads until `depth` blocks from `number` on are ready or on their way.
   * @param {number} number
   * @param {number} last
   */
  topUp (number, last) {
    const { step } = this
    while ((this.frontier - number) * step < this.depth && (last - this.frontier) * step >= 0) {
      const edge = this.depth === 1 ? this.frontier : this.pieceEdge(this.frontier, last)
      this.request(Math.min(this.frontier, edge), Math.max(this.frontier, edge))
      this.frontier = edge + step
    }
    this.depth = Math.min(this.depth * 2, MAX_READ_AHEAD * this.blocks.blocksABuffer * BUFFERS_A_PIECE)
  }

  /**
   * @param {number} number
   * @param {number} last
   * @returns {number} the last block of the piece that begins with `number`
   */
  pieceEdge (number, last) {
    const blocksAPiece = this.blocks.blocksABuffer * BUFFERS_A_PIECE
    const start = number - number % blocksAPiece
    return this.step === 1 ? Math.min(start + blocksAPiece - 1, last) : Math.max(start, last)
  }

  /**
   * @param {number} low
   * @param {number} high
   */
  request (low, high) {
    while (low <= high && this.isCached(low)) low++
    while (low <= high && this.isCached(high)) high--
    if (low > high) return
    for (let number = low; number <= high; number++) this.coming.add(number)
    const share = !this.keep ? 0 : this.depth === 1 ? 1 : SHARE_OF_STREAMS
    if (this.pool !== null && !this.blocks.keeps(share)) this.requestAgain(this.pool, low, high)
    else this.blocks.load(low, high - low + 1, share, (loaded) => this.onload(loaded))
  }

  /**
   * Reads into memory that was read into before.
   * @param {BufferPool} pool
   * @param {number} low
   * @param {number} high
   */
  requestAgain (pool, low, high) {
    const count = high - low + 1
    const piece = pool.take(this.blocks.bufferSizes(count), this.step === 1 ? high : low)
    this.blocks.load(low, count, 0, (loaded) => {
      piece.isRead = true
      this.onload(loaded)
    }, { into: piece.buffers })
  }

  /** @param {number} number */
  isCached (number) {
    return this.blocks.cache !== null && this.blocks.cache.has(number)
  }

  /** @param {Block[]} loaded */
  onload (loaded) {
    for (const block of loaded) {
      // a block that was not on its way was read before a reader gave up on it
      if (this.coming.delete(block.number)) this.ready.set(block.number, block)
    }
    if (this.onready === null || !this.ready.has(this.wanted)) return
    const onready = this.onready
    this.onready = null
    onready()
  }

  /** Lets go of what was read, and of what comes in later. */
  stop () {
    this.onready = null
    this.ready.clear()
    this.coming.clear()
  }
}

module.exports = { Readahead }
