'use strict'

// Blocks by number: from memory (the tail, the LRU cache) or from the file, where
// each is checked once, as it comes in. Readers never check again.

const { LRUCache } = require('lru-cache')
const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { callAll } = require('../callbacks')
const { PartChecksums } = require('./part-checksums')

/**
 * Bytes of one buffer, or a block, if that is more. Not smaller, since each costs its
 * while; not larger, since one record that a caller holds on to keeps all of it.
 */
const BUFFER_SIZE = 64 * 1024
/** About what a block in memory takes besides its bytes: with tiny blocks, the most. */
const BLOCK_OVERHEAD = 400

/** See `load`. */
const SINGLE = { isSingle: true }

/** A block in memory. Records end at `end`; in the tail block, that grows. */
class Block {
  /**
   * @param {number} number counted from 0
   * @param {Buffer} buffer
   * @param {number} end position after the last record that readers may see
   * @param {boolean} sealed false: it is the tail, and more may follow
   */
  constructor (number, buffer, end, sealed) {
    this.number = number
    this.buffer = buffer
    /** Where its bytes are, for `layout.view`. */
    this.memory = buffer.buffer
    this.memoryStart = buffer.byteOffset
    this.end = end
    this.sealed = sealed
    /** Why its records cannot be had: it is damaged, or could not be read. @type {Error | null} */
    this.error = null
    /** Where records start, a bit a position; made when asked for a second time. @type {Uint8Array | null} */
    this.starts = null
    this.wasAsked = false
    /** up to which position `starts` is made */
    this.indexed = 0
  }

  /** @param {Buffer} buffer its bytes from now on */
  hold (buffer) {
    this.buffer = buffer
    this.memory = buffer.buffer
    this.memoryStart = buffer.byteOffset
  }

  /**
   * @param {number} position where a record starts
   * @returns {Buffer} its data: a view, not a copy
   */
  dataAt (position) {
    // first, since this may have to be fetched from far away, and the rest can be done meanwhile
    const length = layout.readLength(this.buffer, position)
    return layout.view(this.memory, this.memoryStart + position + layout.LENGTH_SIZE, length)
  }

  /**
   * @param {number} position
   * @returns {boolean} whether a record that readers may see starts there
   */
  startsAt (position) {
    if (position >= this.end) return false
    if (!this.wasAsked) {
      this.wasAsked = true
      return this.isPassed(position)
    }
    if (this.starts === null || this.indexed < this.end) this.index()
    const starts = /** @type {Uint8Array} */ (this.starts)
    return (starts[position >>> 3] & (1 << (position & 7))) !== 0
  }

  /**
   * @param {number} position
   * @returns {boolean} whether a walk from the block's start comes by
   */
  isPassed (position) {
    let at = 0
    while (at < position) at = layout.nextPosition(this.buffer, at)
    return at === position
  }

  index () {
    this.starts ??= new Uint8Array((this.buffer.length >>> 3) + 1)
    const { buffer, end, starts } = this
    let position = this.indexed
    while (position < end) {
      starts[position >>> 3] |= 1 << (position & 7)
      position = layout.nextPosition(buffer, position)
    }
    this.indexed = position
  }
}

/**
 * @typedef {object} Load a read that is under way
 * @property {number} first
 * @property {number} count
 * @property {number} share how much of the cache may be full for its blocks to go there; 0: they do not
 * @property {boolean} isSingle see `load`
 * @property {Buffer[] | null} into see `load`
 * @property {boolean} stale a block in it was rewritten meanwhile, so it is read again
 * @property {Array<(blocks: Block[]) => void>} waiting
 */

class BlockCache {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {{ blockSize: number, checksum: boolean, cacheSize: number }} options
   */
  constructor (file, { blockSize, checksum, cacheSize }) {
    this.file = file
    this.blockSize = blockSize
    this.checksum = checksum
    this.blocksABuffer = Math.max(1, Math.floor(BUFFER_SIZE / blockSize))
    /** The block in which the log ends; it is always in memory. */
    this.tail = new Block(0, Buffer.alloc(0), 0, false)
    /** How often blocks changed, other than by growing, so that a reader who holds one notices. */
    this.rewrites = 0
    this.hits = 0
    this.misses = 0
    this.evictions = 0
    /** The file is being closed: what fails from now on fails for that. */
    this.closed = false
    this.cacheSize = cacheSize
    this.cache = this.makeCache()
    this.digests = new PartChecksums(this)
    /** @type {Map<string | symbol, Load>} */
    this.loads = new Map()
    /** Where another process may be rewriting blocks, who knows whether it was. @type {import('./follower').Follower | null} */
    this.follower = null
    /** What counts for blocks that are being rewritten in the file; if by another process, perhaps by one that stopped. @type {Map<number, Buffer>} */
    this.images = new Map()
  }

  /** @returns {LRUCache<number, Block> | null} */
  makeCache () {
    const size = this.blockSize + BLOCK_OVERHEAD
    if (this.cacheSize < size) return null
    const dispose = (/** @type {Block} */ _, /** @type {number} */ __, /** @type {string} */ why) => {
      if (why === 'evict') this.evictions++
    }
    // by size, not by number: for a number the cache takes all its memory at once
    return new LRUCache({ maxSize: this.cacheSize, sizeCalculation: () => size, dispose })
  }

  /**
   * The block size had been a guess, while the first block was all there was.
   * @param {number} blockSize
   */
  resize (blockSize) {
    this.blockSize = blockSize
    this.blocksABuffer = Math.max(1, Math.floor(BUFFER_SIZE / blockSize))
    this.cache = this.makeCache()
    this.digests = new PartChecksums(this)
    this.rewrites++
  }

  /** @returns {number} the offset after the last record that readers may see */
  get end () {
    return this.tail.number * this.blockSize + this.tail.end
  }

  /**
   * @param {number} number
   * @returns {Block | undefined} the block, if it is in memory
   */
  peek (number) {
    if (number === this.tail.number) return this.tail
    return this.cache === null ? undefined : this.cache.get(number)
  }

  /**
   * One block; perhaps at once.
   * @param {number} number at most the tail's
   * @param {boolean} keep whether to put it into the cache
   * @param {(err: Error | null, block?: Block) => void} cb
   */
  get (number, keep, cb) {
    const block = this.take(number)
    if (block !== undefined) return block.error === null ? cb(null, block) : cb(block.error)
    this.load(number, 1, keep ? 1 : 0, ([block]) => block.error === null ? cb(null, block) : cb(block.error), SINGLE)
  }

  /**
   * As `peek`, for one who would read it if it is not there.
   * @param {number} number
   * @returns {Block | undefined}
   */
  take (number) {
    const block = this.peek(number)
    if (block === undefined) this.misses++
    else this.hits++
    return block
  }

  /**
   * One record of a block that is not in memory: by itself, if the block was checked
   * before and the record is as it was then; or else the block.
   * @param {number} number
   * @param {number} position at which the record should start
   * @param {(data: Buffer | null, block: Block | null) => void} cb one of them; perhaps at once
   */
  getRecord (number, position, cb) {
    const { digests } = this
    const parts = digests.partsOf(number, position)
    const whole = () => this.load(number, 1, 1, ([block]) => cb(null, block), SINGLE)
    if (parts === null) return whole()
    this.file.readSmall(number * this.blockSize + parts.from, parts.size, true, (err, bytes) => {
      const found = err ? null : digests.record(number, parts, /** @type {Buffer} */ (bytes), position)
      if (found === null) whole()
      else cb(Buffer.from(found), null)
    })
  }

  /**
   * Takes a block that is whole and written into the cache.
   * @param {Block} block
   * @param {number} [share] only if no more of the cache than this is full
   */
  add (block, share = 1) {
    if (this.keeps(share)) /** @type {LRUCache<number, Block>} */ (this.cache).set(block.number, block)
  }

  /**
   * @param {number} share
   * @returns {boolean} whether no more of the cache than this is full
   */
  keeps (share) {
    return this.cache !== null && (share === 1 || this.cache.calculatedSize < share * this.cacheSize)
  }

  /**
   * A block is about to be, or has been, rewritten in the file.
   * @param {number} number
   */
  invalidate (number) {
    this.rewrites++
    if (this.cache !== null) this.cache.delete(number)
    this.digests.delete(number)
    for (const load of this.loads.values()) {
      if (number >= load.first && number < load.first + load.count) load.stale = true
    }
  }

  /**
   * Reads sealed blocks from the file. What is wrong with one is in its `error`.
   * @param {number} first
   * @param {number} count
   * @param {number} share see `Load`
   * @param {(blocks: Block[]) => void} cb
   * @param {{ isSingle?: boolean, into?: Buffer[] | null }} [how] isSingle: it is one block that somebody waits for,
   *   and `cb` may be called at once. into: the memory to read into, which is nobody else's
   */
  load (first, count, share, cb, { isSingle = false, into = null } = {}) {
    const key = into === null ? `${first}+${count}` : Symbol('a read that is not shared')
    const under = this.loads.get(key)
    if (under !== undefined) {
      under.share = Math.max(under.share, share)
      under.waiting.push(cb)
      return
    }
    const load = { first, count, share, isSingle, into, stale: false, waiting: [cb] }
    this.loads.set(key, load)
    this.read(load, key)
  }

  /**
   * @param {Load} load
   * @param {string | symbol} key
   */
  read (load, key) {
    const { first, count } = load
    const { follower } = this
    const point = follower?.point
    this.readBuffers(load, (err, buffers) => {
      if (load.stale) {
        load.stale = false
        return this.read(load, key)
      }
      if (err) {
        const failure = this.closed ? errors.closed(this.file.filename) : err
        return this.loaded(load, key, Array.from({ length: count }, (_, i) => unreadable(first + i, failure)))
      }
      const pieces = /** @type {Buffer[]} */ (buffers)
      const hadImages = this.images.size > 0
      const blocks = this.parseAll(load, pieces)
      if (follower === null || blocks.every(block => this.isCertain(block))) return this.loaded(load, key, blocks)
      follower.compare(point, (isSame) => {
        if (!isSame) this.read(load, key)
        else this.loaded(load, key, hadImages || this.images.size > 0 ? this.parseAll(load, pieces) : blocks)
      })
    })
  }

  /**
   * @param {Load} load
   * @param {(err: Error | null, buffers?: Buffer[]) => void} cb
   */
  readBuffers ({ first, count, isSingle, into }, cb) {
    const { blockSize, file } = this
    if (isSingle) {
      return file.readSmall(first * blockSize, blockSize, false, (err, data) => err ? cb(err) : cb(null, data && [data]))
    }
    file.readMany(first * blockSize, this.bufferSizes(count), into, cb)
  }

  /**
   * @param {number} count of blocks that are read at a time
   * @returns {number[]} the sizes of the buffers that hold them
   */
  bufferSizes (count) {
    const { blockSize, blocksABuffer } = this
    const sizes = []
    for (let left = count; left > 0; left -= blocksABuffer) sizes.push(Math.min(left, blocksABuffer) * blockSize)
    return sizes
  }

  /**
   * @param {Load} load
   * @param {string | symbol} key
   * @param {Block[]} blocks
   */
  loaded (load, key, blocks) {
    this.loads.delete(key)
    for (const block of blocks) if (block.error === null) this.add(block, load.share)
    callAll(load.waiting, blocks)
  }

  /**
   * @param {Load} load
   * @param {Buffer[]} buffers
   */
  parseAll ({ first, count, share }, buffers) {
    const { blocksABuffer } = this
    return Array.from({ length: count }, (_, i) => this.parse(first + i, buffers[Math.floor(i / blocksABuffer)], i % blocksABuffer, share === 1))
  }

  /**
   * @param {Block} block
   * @returns {boolean} whether it shows that it was not read while it was being rewritten
   */
  isCertain (block) {
    return block.error === null && this.checksum && storedChecksum(block.buffer) !== 0
  }

  /**
   * @param {number} number
   * @param {Buffer} data
   * @param {number} index which block of `data` it is
   * @param {boolean} isLookedUp by itself, so that a record of it may be later
   * @returns {Block}
   */
  parse (number, data, index, isLookedUp) {
    const { blockSize } = this
    const sums = isLookedUp ? this.digests.newSums() : null
    let buffer = data.subarray(index * blockSize, (index + 1) * blockSize)
    let problem = findProblem(buffer, this.checksum, sums)
    const image = this.images.get(number)
    if (image !== undefined && (problem !== null || storedChecksum(buffer) === 0)) {
      buffer = image
      problem = findProblem(buffer, this.checksum)
    }
    const block = new Block(number, buffer, 0, true)
    if (problem === null) {
      block.end = layout.paddingStart(buffer)
      if (sums !== null && image === undefined && storedChecksum(buffer) !== 0) this.digests.add(block, sums)
    } else block.error = errors.corrupt(this.file.filename, number, blockSize, problem.position, problem.reason)
    return block
  }
}

/**
 * @param {number} number
 * @param {Error} err
 */
function unreadable (number, err) {
  const block = new Block(number, Buffer.alloc(0), 0, true)
  block.error = err
  return block
}

module.exports = { Block, BlockCache }
