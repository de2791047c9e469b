'use strict'

// Reads sealed blocks from the file and verifies each one, once. Concurrent requests
// for the same blocks share one read.

const { isHole } = require('../format/hole')
const layout = require('../format/layout')
const { storedChecksum } = require('../format/checksum')
const { findProblem } = require('../format/validation')
const errors = require('../errors')
const { applyPatches } = require('../format/deletions')
const { callAll } = require('../callbacks')
const { Block, unreadableBlock } = require('../format/block')

/**
 * @typedef {object} LoadOptions
 * @property {number} cacheShare the fraction of the cache that may be full for the blocks to be added to it; 0: never add them
 * @property {boolean} [isSingle] one block that a caller waits for: read as a small read, and `cb` may be called at once
 * @property {Buffer[] | null} [buffers] memory to read into, which nothing else uses; null: new memory
 *
 * @typedef {object} Load a read in progress
 * @property {string | symbol} key
 * @property {number} first
 * @property {number} count
 * @property {number} cacheShare
 * @property {boolean} isSingle
 * @property {Buffer[] | null} buffers
 * @property {boolean} isStale a block in it was rewritten meanwhile, so it has to be read again
 * @property {Array<(blocks: Block[]) => void>} callbacks
 */

class BlockLoader {
  /** @param {import('./block-cache').BlockCache} blocks which decides what is kept */
  constructor (blocks) {
    this.blocks = blocks
    /** @type {Map<string | symbol, Load>} */
    this.loads = new Map()
  }

  /**
   * Reads sealed blocks. If one is corrupt or unreadable, its `error` says so.
   * @param {number} first
   * @param {number} count
   * @param {LoadOptions} options
   * @param {(blocks: Block[]) => void} cb may be called at once
   */
  load (first, count, { cacheShare, isSingle = false, buffers = null }, cb) {
    const key = buffers === null ? `${first}+${count}` : Symbol('a read that is not shared')
    const pending = this.loads.get(key)
    if (pending !== undefined) {
      pending.cacheShare = Math.max(pending.cacheShare, cacheShare)
      pending.callbacks.push(cb)
      return
    }
    const load = { key, first, count, cacheShare, isSingle, buffers, isStale: false, callbacks: [cb] }
    this.loads.set(key, load)
    this.read(load)
  }

  /** @param {number} number of a block that was rewritten */
  invalidate (number) {
    for (const load of this.loads.values()) {
      if (number >= load.first && number < load.first + load.count) load.isStale = true
    }
  }

  invalidateAll () {
    for (const load of this.loads.values()) load.isStale = true
  }

  /** @param {Load} load */
  read (load) {
    const { blocks } = this
    const { follower } = blocks
    if (blocks.closed) return process.nextTick(() => this.fail(load, null))
    const state = follower === null ? '' : follower.log.state
    this.readBuffers(load, (err, buffers) => {
      if (load.isStale) {
        load.isStale = false
        return this.read(load)
      }
      if (err) return this.fail(load, err)
      const bytes = /** @type {Buffer[]} */ (buffers)
      const hadOverrides = blocks.overrides.size > 0
      const loaded = this.parseAll(load, bytes)
      if (follower === null || loaded.every(block => this.isSelfVerified(block))) {
        return this.finish(load, loaded)
      }
      // another process may have rewritten a block while it was read; FILE.meta tells
      follower.compare(state, (err, isSame) => {
        if (err) return this.fail(load, err)
        if (!isSame || load.isStale) {
          load.isStale = false
          this.read(load)
        } else this.finish(load, hadOverrides || blocks.overrides.size > 0 ? this.parseAll(load, bytes) : loaded)
      })
    })
  }

  /**
   * @param {Load} load
   * @param {(err: Error | null, buffers?: Buffer[]) => void} cb
   */
  readBuffers ({ first, count, isSingle, buffers }, cb) {
    const { blockSize, file } = this.blocks
    if (isSingle) {
      return file.readSmall(first * blockSize, blockSize, false, (err, data) => err ? cb(err) : cb(null, data && [data]))
    }
    file.readMany(first * blockSize, this.blocks.bufferSizes(count), buffers, cb)
  }

  /**
   * @param {Load} load
   * @param {Error | null} err null: the log is closed
   */
  fail (load, err) {
    const { blocks, blocks: { closed, file, blockSize, start } } = this
    // the file of a log that was compacted meanwhile may be closed
    const failureAt = (/** @type {number} */ offset) => err === null || closed ? errors.closed(file.filename) : offset < start ? blocks.trimmedAt(offset) : err
    this.finish(load, Array.from({ length: load.count }, (_, i) => unreadableBlock(load.first + i, failureAt((load.first + i) * blockSize))))
  }

  /**
   * @param {Load} load
   * @param {Block[]} loaded
   */
  finish (load, loaded) {
    this.loads.delete(load.key)
    for (const block of loaded) if (block.error === null) this.blocks.add(block, load.cacheShare)
    callAll(load.callbacks, loaded)
  }

  /**
   * @param {Load} load
   * @param {Buffer[]} buffers
   * @returns {Block[]}
   */
  parseAll ({ first, count, cacheShare }, buffers) {
    const { blocksPerBuffer, fits } = this.blocks
    // a block that is read for one record is likely to be read for another one later; if the log fits in the cache, it is there then
    const remembersParts = cacheShare === 1 && !fits
    return Array.from({ length: count }, (_, i) =>
      this.parse(first + i, buffers[Math.floor(i / blocksPerBuffer)], i % blocksPerBuffer, remembersParts))
  }

  /**
   * @param {number} number
   * @param {Buffer} data
   * @param {number} index of the block in `data`
   * @param {boolean} remembersParts whether to remember the checksums of its parts
   * @returns {Block}
   */
  parse (number, data, index, remembersParts) {
    const { blockSize, checksum, partChecksums, overrides, file, start } = this.blocks
    const parts = remembersParts ? partChecksums.newParts() : null
    const buffer = data.subarray(index * blockSize, (index + 1) * blockSize)
    const override = overrides.get(number)
    if (override !== undefined) applyPatches(buffer, number * blockSize, override)
    const problem = findProblem(buffer, checksum, parts)
    /** @type {Error | null} */
    let error = problem && errors.corrupt(file.filename, number, blockSize, problem.position, problem.reason)
    // read before or after it was trimmed
    if (number * blockSize < start) error = this.blocks.trimmedAt(number * blockSize)
    const block = new Block(number, buffer, error === null ? layout.paddingStart(buffer) : 0, true, error)
    if (parts !== null) {
      if (override === undefined && this.isSelfVerified(block)) partChecksums.add(number, parts)
      else partChecksums.release(parts)
    }
    return block
  }

  /**
   * @param {Block} block
   * @returns {boolean} whether its own checksum shows that it was not read in the middle of a rewrite; a hole in the first
   *   place may be all that is left of more blocks
   */
  isSelfVerified (block) {
    return block.error === null && this.blocks.checksum && storedChecksum(block.buffer) !== 0 && !(block.number === 0 && isHole(block.buffer))
  }
}

module.exports = { BlockLoader }
