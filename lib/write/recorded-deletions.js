'use strict'

// Deletions that are recorded in FILE.meta, and which the log's file does not have yet: readers get the blocks patched, by `overrides` of the cache.
// The file gets the zeros when what is recorded is durable.

const { promised } = require('../callbacks')
const { patchesOf } = require('../format/deletions')
const { writePatch } = require('../recovery/free-blocks')

/** The most writes into one block; one of all of it takes about as long. */
const MAX_PATCHES = 8

/** @typedef {import('../format/deletions').Patch} Patch */

class RecordedDeletions {
  /**
   * @param {import('./writer').Writer} writer
   */
  constructor (writer) {
    this.writer = writer
    this.io = writer.file.io
    this.blocks = writer.blocks
  }

  /** Whether the log's file does not have some. */
  get hasPending () {
    return this.blocks.overrides.size > 0
  }

  /**
   * Readers of the file get the block patched from now on.
   * @param {number} number of a block in which a deletion was recorded
   */
  add (number) {
    this.override(number)
    this.blocks.invalidate(number)
  }

  /** @param {number} number of a block */
  override (number) {
    const { blocks: { blockSize, overrides }, writer } = this
    overrides.set(number, patchesOf(writer.metadata.pendingIn(number * blockSize), blockSize))
  }

  async makeDurable () {
    const { metadata, durability, written } = this.writer
    // the records that were deleted first: zeros in the place of one that is not durable would seem torn
    await promised(cb => durability.syncTo(written, cb))
    if (metadata.hasUnsynced) await Promise.all([metadata.sync(), promised(cb => durability.confirmPath(cb))])
  }

  /** Gives the log's file all that was deleted; it need not be durable there. */
  async flush () {
    await this.makeDurable()
    await this.writeZeros()
  }

  /** Moves the recovery point up to where the log ends, without what was recorded: that is durable in the log's file first. */
  async settle () {
    const { writer } = this
    const { metadata, durability } = writer
    await this.flush()
    if (metadata.hasUnsyncedZeros) await promised(cb => durability.syncAll(cb))
    durability.noteSynced()
    await metadata.move()
  }

  /** Few blocks: when much is listed, the list is emptied before more is added. */
  async writeZeros () {
    const written = await Promise.allSettled([...this.blocks.overrides].map(([number, patches]) => this.writeBlock(number, patches)))
    const failed = written.find(({ status }) => status === 'rejected')
    if (failed !== undefined) throw /** @type {PromiseRejectedResult} */ (failed).reason
  }

  /**
   * @param {number} number
   * @param {Patch[]} patches of this block
   */
  async writeBlock (number, patches) {
    const { blocks, io, writer } = this
    for (const patch of this.writesFor(number, patches)) await writePatch(io, patch, blocks.blockSize)
    writer.metadata.applied(number * blocks.blockSize, writer.durability.startedSync + 1)
    blocks.overrides.delete(number)
    // what is being read of it may be half old
    blocks.loader.invalidate(number)
  }

  /**
   * @param {number} number
   * @param {Patch[]} patches of this block
   * @returns {Patch[]}
   */
  writesFor (number, patches) {
    const { blocks } = this
    const isMany = patches.length > MAX_PATCHES && number !== blocks.tail.number
    // in memory, it is without these records already
    const block = isMany ? blocks.getCached(number) : undefined
    return block === undefined ? patches : [{ offset: number * blocks.blockSize, data: block.buffer }]
  }

  /**
   * Before packed blocks are written: a block is sealed with the checksum that it has without its deleted records.
   * @returns {boolean} whether `flush` must be called first
   */
  mustPrecede () {
    if (!this.hasPending) return false
    const number = Math.floor(this.writer.written / this.blocks.blockSize)
    return number < this.writer.packer.filling.number && this.blocks.overrides.has(number)
  }

  /** The log's file was truncated. */
  truncated () {
    const { blocks, writer } = this
    writer.metadata.truncated(writer.acknowledged)
    if (blocks.overrides.has(blocks.tail.number)) this.override(blocks.tail.number)
  }
}

module.exports = { RecordedDeletions }
