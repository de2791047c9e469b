'use strict'

// Deletions that are recorded in FILE.meta, and which the log's file does not have yet: readers get the blocks patched. The file gets the zeros
// when what is recorded is durable.

const { promised } = require('../callbacks')
const { patchesOf } = require('../format/deletions')
const { writePatch } = require('../recovery/free-blocks')

/** The most writes into one block; one of all of it takes about as long. */
const MAX_PATCHES = 8

/** @typedef {import('../format/deletions').Deletion} Deletion */

class RecordedDeletions {
  /**
   * @param {import('./writer').Writer} writer
   */
  constructor (writer) {
    this.writer = writer
    this.io = writer.file.io
    this.blocks = writer.blocks
    /** By block. @type {Map<number, Deletion[]>} */
    this.pending = new Map()
    /** Number of the fsync that makes durable what the log's file has. */
    this.coveredBy = 0
  }

  /** Whether the log's file has zeros that are not durable. */
  get hasUnsyncedZeros () {
    return this.coveredBy > this.writer.durability.lastSync
  }

  /**
   * Readers of the file get the block patched from now on.
   * @param {number} number of a block
   * @param {Deletion} deletion in it
   */
  add (number, deletion) {
    const { blocks, pending } = this
    const deletions = pending.get(number) ?? []
    deletions.push(deletion)
    pending.set(number, deletions)
    blocks.overrides.set(number, patchesOf(deletions, blocks.blockSize))
    blocks.invalidate(number)
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
    if (this.hasUnsyncedZeros) await promised(cb => durability.syncAll(cb))
    durability.noteSynced()
    await metadata.move()
  }

  /** Few blocks: when much is listed, the list is emptied before more is added. */
  async writeZeros () {
    const written = await Promise.allSettled([...this.pending].map(([number, deletions]) => this.writeBlock(number, deletions)))
    const failed = written.find(({ status }) => status === 'rejected')
    if (failed !== undefined) throw /** @type {PromiseRejectedResult} */ (failed).reason
  }

  /**
   * @param {number} number
   * @param {Deletion[]} deletions in this block
   */
  async writeBlock (number, deletions) {
    const { blocks, io, writer } = this
    for (const patch of this.writesFor(number, deletions)) await writePatch(io, patch, blocks.blockSize)
    this.coveredBy = writer.durability.startedSync + 1
    writer.metadata.applied(deletions, this.coveredBy)
    this.pending.delete(number)
    blocks.overrides.delete(number)
    // what is being read of it may be half old
    blocks.loader.invalidate(number)
  }

  /**
   * @param {number} number
   * @param {Deletion[]} deletions in this block
   * @returns {import('../format/deletions').Patch[]}
   */
  writesFor (number, deletions) {
    const { blocks } = this
    const patches = patchesOf(deletions, blocks.blockSize)
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
    if (this.pending.size === 0) return false
    const number = Math.floor(this.writer.written / this.blocks.blockSize)
    return number < this.writer.packer.filling.number && this.pending.has(number)
  }

  /**
   * Blocks were trimmed: the log's file need not get their deletions.
   * @param {number} first number of the first that is not
   */
  trim (first) {
    for (const number of [...this.pending.keys()].filter(number => number < first)) {
      this.pending.delete(number)
      this.blocks.overrides.delete(number)
    }
  }

  /** The log's file was truncated. */
  truncated () {
    const { blocks, writer } = this
    writer.metadata.truncated(writer.acknowledged)
    const deletions = this.pending.get(blocks.tail.number)
    if (deletions !== undefined) blocks.overrides.set(blocks.tail.number, patchesOf(deletions, blocks.blockSize))
  }
}

module.exports = { RecordedDeletions }
