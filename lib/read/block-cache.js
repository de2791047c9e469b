'use strict'

// Blocks by number: the tail, which is always in memory; recently read blocks, in an
// LRU cache; all others through the loader. Every block has been verified when it
// gets here, so readers never verify one again.

const { createLRU } = require('lru.min')
const { systemClock } = require('../clock')
const errors = require('../errors')
const { Block } = require('../format/block')
const { BlockLoader } = require('./block-loader')
const { PartChecksums } = require('./part-checksums')

/**
 * Bytes per buffer that a sequential read fills; one block, if blocks are larger. Smaller buffers
 * cost more per byte. Not larger: a single retained record pins the whole buffer.
 */
const BUFFER_SIZE = 64 * 1024
/**
 * The fraction of the cache that sequential reads may fill, and blocks that were only written. More would evict everything else, and be
 * evicted itself before it is read again; and the less memory a reader goes through, the more of it stays in the processor's cache.
 */
const SEQUENTIAL_SHARE = 1 / 4
/** Approximate bytes of memory per cached block besides its data; with tiny blocks, this is the larger part. */
const BLOCK_OVERHEAD = 400
/** The LRU cache allocates its index at once: for this many blocks at first, then for twice as many each time it is full. */
const FIRST_BLOCKS = 1024
/** Blocks in which something was deleted that are remembered for who copies the log; nobody may ask any more. */
const MAX_REWRITTEN = 4096

/**
 * @typedef {ReturnType<typeof createLRU<number, Block>>} LRU
 * @typedef {import('../storage/metadata-text').Generation} Generation
 */

class BlockCache {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {{ blockSize: number, checksum: boolean, cacheSize: number, large?: boolean, sequentialShare?: number, clock?: import('../clock').Clock }} options
   */
  constructor (file, { blockSize, checksum, cacheSize, large = false, sequentialShare = SEQUENTIAL_SHARE, clock = systemClock }) {
    this.file = file
    this.blockSize = blockSize
    this.checksum = checksum
    this.cacheSize = cacheSize
    this.clock = clock
    this.sequentialShare = sequentialShare
    /** Whether readers put large records together. */
    this.large = large
    this.blocksPerBuffer = Math.max(1, Math.floor(BUFFER_SIZE / blockSize))
    /** The block in which the log ends; it is always in memory. Readers take it by `getCached`, which marks it as read. */
    this.tail = new Block(0, Buffer.alloc(0), 0, false)
    /** Offset of the first block that is not trimmed. */
    this.start = 0
    /** No record since the last compaction is before this; 0 if there was none. */
    this.base = 0
    /** The log's, which changes with each compaction. */
    this.id = ''
    /** What holds offsets besides streams: they are mapped when the log moves to another file. @type {Set<{ move: (map: import('../space/offset-map').OffsetMap) => void }>} */
    this.cursors = new Set()
    /** Changes whenever a block changes other than by growing, so that a cursor notices. */
    this.generation = 0
    /** Blocks in which something was deleted since this was taken last; null: any of them. @type {Set<number> | null} */
    this.rewritten = null
    this.hits = 0
    this.misses = 0
    this.evictions = 0
    /** The file is being closed: no reads are started, and those in progress fail with `flumelog:closed`. */
    this.closed = false
    /** How many blocks the cache may hold. */
    this.maxBlocks = this.countBlocks()
    this.cache = this.createCache()
    this.partChecksums = new PartChecksums(this)
    this.loader = new BlockLoader(this)
    /** Set if another process writes the log: tells whether a block may have been rewritten. @type {import('./follower').Follower | null} */
    this.follower = null
    /**
     * What the file does not have yet of deletions, or not all of it, perhaps since the process that deletes was stopped.
     * @type {Map<number, import('../format/deletions').Patch[]>}
     */
    this.overrides = new Map()
  }

  /** @returns {number} */
  countBlocks () {
    return Math.floor(this.cacheSize / (this.blockSize + BLOCK_OVERHEAD))
  }

  /** @returns {LRU | null} */
  createCache () {
    return this.maxBlocks === 0 ? null : createLRU({ max: Math.min(this.maxBlocks, FIRST_BLOCKS) })
  }

  /**
   * Corrects a block size that had been a guess, made while the file had less than one block.
   * @param {number} blockSize
   */
  resize (blockSize) {
    this.blockSize = blockSize
    this.blocksPerBuffer = Math.max(1, Math.floor(BUFFER_SIZE / blockSize))
    this.maxBlocks = this.countBlocks()
    this.cache = this.createCache()
    this.partChecksums = new PartChecksums(this)
    this.generation++
  }

  /**
   * @param {number} offset before the start
   * @returns {Error} for who asks for what was there
   */
  trimmedAt (offset) {
    return errors.trimmed(this.file.filename, offset, this.start, this.base)
  }

  /** @returns {number} the offset after the last record that is visible to readers */
  get end () {
    return this.tail.number * this.blockSize + this.tail.end
  }

  /** Whether the cache can hold the whole log. */
  get fits () {
    return this.tail.number <= this.maxBlocks
  }

  /**
   * @param {number} number
   * @returns {Block | undefined} the block, if it is in memory
   */
  getCached (number) {
    if (number === this.tail.number) {
      this.tail.wasRead = true
      return this.tail
    }
    return this.cache === null ? undefined : this.cache.get(number)
  }

  /**
   * As `getCached`, and counts a hit or a miss: for callers that load the block if it is not in memory.
   * @param {number} number
   * @returns {Block | undefined}
   */
  lookUp (number) {
    const block = this.getCached(number)
    if (block === undefined) this.misses++
    else this.hits++
    return block
  }

  /**
   * @param {number} number
   * @returns {boolean} whether it is in the LRU cache
   */
  isCached (number) {
    return this.cache !== null && this.cache.has(number)
  }

  /**
   * One block, from memory or from the file.
   * @param {number} number at most the tail's
   * @param {boolean} useCache whether to add it to the cache
   * @param {(err: Error | null, block?: Block) => void} cb may be called at once
   */
  get (number, useCache, cb) {
    const give = (/** @type {Block} */ block) => block.error === null ? cb(null, block) : cb(block.error)
    const block = this.lookUp(number)
    if (block !== undefined) give(block)
    else this.loader.load(number, 1, { cacheShare: useCache ? 1 : 0, isSingle: true }, ([block]) => give(block))
  }

  /**
   * Reads a block that does not stay in memory.
   * @param {number} number at most the tail's
   * @returns {Promise<Block>} rejects if it cannot be read
   */
  read (number) {
    return new Promise((resolve, reject) => this.get(number, false, (err, block) => err ? reject(err) : resolve(/** @type {Block} */ (block))))
  }

  /**
   * Reads one record of a block that is not in memory: only the record's part of the block, if the block
   * was verified earlier and the part still has the same checksum; otherwise the whole block.
   * @param {number} number
   * @param {number} position at which the record should start
   * @param {(data: Buffer | null, block: Block | null) => void} cb given one of them; may be called at once
   */
  readRecord (number, position, cb) {
    const { partChecksums } = this
    const parts = partChecksums.find(number, position)
    const readBlock = () => this.loader.load(number, 1, { cacheShare: 1, isSingle: true }, ([block]) => cb(null, block))
    if (parts === null || this.closed) return readBlock()
    partChecksums.countRead(parts)
    const part = parts.partOf(position)
    this.file.readSmall(number * this.blockSize + parts.starts[part], parts.sizeOf(part), true, (err, bytes) => {
      // the block may have been rewritten meanwhile
      const isCurrent = !err && partChecksums.entries.get(number) === parts
      const data = isCurrent ? parts.recordIn(/** @type {Buffer} */ (bytes), part, position) : null
      if (data === null) readBlock()
      else cb(data, null)
    })
  }

  /**
   * Adds a verified, sealed block to the cache.
   * @param {Block} block
   * @param {number} [share] only if at most this fraction of the cache is full
   */
  add (block, share = 1) {
    const { cache } = this
    if (cache === null || !this.hasRoom(share)) return
    if (cache.available === 0 && !cache.has(block.number)) {
      if (cache.max < this.maxBlocks) cache.resize(Math.min(2 * cache.max, this.maxBlocks))
      else this.evictions++
    }
    cache.set(block.number, block)
  }

  /**
   * @param {number} share
   * @returns {boolean} whether at most this fraction of the cache is full
   */
  hasRoom (share) {
    return this.cache !== null && (share === 1 || this.cache.size < share * this.maxBlocks)
  }

  /**
   * Forgets a block that is about to be, or has been, rewritten in the file.
   * @param {number} number
   */
  invalidate (number) {
    this.generation++
    this.rewritten?.add(number)
    if (this.rewritten !== null && this.rewritten.size > MAX_REWRITTEN) this.rewritten = null
    if (this.cache !== null) this.cache.delete(number)
    this.partChecksums.delete(number)
    this.loader.invalidate(number)
  }

  /**
   * The log was opened.
   * @param {Block} tail
   * @param {number} start
   * @param {Generation} generation
   */
  open (tail, start, { id, base }) {
    this.tail = tail
    this.start = start
    this.id = id
    this.base = base
  }

  /**
   * This process writes the log from now on, and the file has all that was deleted. Readers that are in the block in which the log ended go on
   * from there.
   * @param {Block} tail
   * @param {number} start
   * @param {Generation} generation
   * @throws flumelog:shrunk
   */
  async takeOver (tail, start, generation) {
    const { tail: before, end: shown, blockSize, loader, file } = this
    this.start = start
    const end = tail.number * blockSize + tail.end
    if (end < shown) throw errors.shrunk(file.filename, shown, end)
    const { number } = before
    const completed = number === tail.number ? null : await file.io.read(number * blockSize, blockSize)
    // in one step: a reader finds either what it is to wait for, or all of the log
    this.follower = null
    this.overrides.clear()
    this.forget()
    if (completed === null) {
      before.setBuffer(tail.buffer)
      before.end = tail.end
    } else before.complete(loader.parse(number, completed, 0, false))
    this.open(completed === null ? before : tail, start, generation)
  }

  /**
   * The log is another file now, in which all blocks have other numbers than they had.
   * @param {Block} tail
   * @param {number} start
   * @param {Generation} generation
   */
  moveTo (tail, start, generation) {
    this.cache?.clear()
    this.partChecksums = new PartChecksums(this)
    this.overrides.clear()
    this.open(tail, start, generation)
  }

  /**
   * Blocks at the log's head are gone. Readers that are in one of them have what they have read of it.
   * @param {number} start offset of the first that is not
   */
  trim (start) {
    this.start = start
    const { cache, overrides, partChecksums } = this
    const first = start / this.blockSize
    for (const number of overrides.keys()) if (number < first) overrides.delete(number)
    if (cache !== null) for (const number of [...cache.keys()]) if (number < first) cache.delete(number)
    for (const number of [...partChecksums.entries.keys()]) if (number < first) partChecksums.delete(number)
  }

  /** Any block may have been rewritten in the file. */
  forget () {
    this.generation++
    this.rewritten = null
    this.cache?.clear()
    this.partChecksums = new PartChecksums(this)
    this.loader.invalidateAll()
  }

  /**
   * @param {number} count blocks that one call reads
   * @returns {number[]} the sizes of the buffers that hold them
   */
  bufferSizes (count) {
    const { blockSize, blocksPerBuffer } = this
    const sizes = []
    for (let left = count; left > 0; left -= blocksPerBuffer) sizes.push(Math.min(left, blocksPerBuffer) * blockSize)
    return sizes
  }
}

module.exports = { BlockCache }
