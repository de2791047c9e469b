'use strict'

// Compaction while the log is open: copies the records that are not deleted into another file,
// which then takes the log's place.
//
//     copying     blocks are copied in rounds, each with what has come since the one before; records that were deleted
//                 after they were copied are deleted in the copy, too. Each round is fsynced
//     switching   an operation of the writer: while nothing is written, the rest is copied and made durable, and the file renamed;
//                 see switch-over.js
//
// Up to the rename the log is not changed by it; an error, an abort or a kill leaves it as it was, and the next compaction starts again.

const { randomUUID } = require('crypto')
const { CompactedFile } = require('./compacted-file')
const { closeQuietly } = require('../storage/directory')
const { MAX_WRITE } = require('../write/packer')
const { OffsetMapWriter } = require('./offset-map-writer')
const { PieceReader } = require('./piece-reader')
const { REPEAT_COST, repeatDeletions } = require('./repeat-deletions')
const { switchOver } = require('./switch-over')
const { settleMap } = require('./offset-map')
const { namesOf, removeUnfinished } = require('./unfinished-files')

// Work is measured in bytes that are copied; repeating the deletions of a block counts as REPEAT_COST. In each round, the writer may add
// a third of what is done, and half a step; then it is held until more is done. It adds a step at a time: a write, or the deletions in
// up to 64 blocks. So a round leaves at most a third of what the one before has left, and 1.5 steps: rounds shrink to less than 3 steps.

/**
 * Offsets for what is appended meanwhile: seqs from before the compaction are in front of all since. At least so many, or as many as the
 * log has bytes; if that is not enough, the compaction starts again with so many times as many.
 */
const MIN_HEADROOM = 4 * 1024 * 1024
const MORE_HEADROOM = 8

/** A round that leaves so many steps at most, and not less than this share of what the one before has left, is the last one. */
const MOST_STEPS = 3
const NO_LESS = 0.75

/** What is left of a block that was trimmed. */
const NOTHING = { buffer: Buffer.alloc(0), end: 0 }

/** @typedef {import('./types').Compacted} Compacted */

class Compaction {
  /** Bytes written between two fsyncs: with more, appends would wait when the system writes them back. */
  static syncStep = 32 * 1024 * 1024
  /** Milliseconds that the last fsync before the switch may take. */
  static quickSync = 10

  /**
   * @param {import('./compacting').Compacting} compacting
   * @param {import('../write/writer').Writer} writer
   * @param {{ onProgress?: (progress: import('./types').CompactProgress) => void, signal: AbortSignal }} options
   */
  constructor (compacting, writer, { onProgress, signal }) {
    const { file, blocks } = writer
    this.compacting = compacting
    this.writer = writer
    this.file = file
    this.blocks = blocks
    this.onProgress = onProgress
    this.signal = signal
    this.clock = writer.clock
    this.start = blocks.start
    this.reader = new PieceReader(blocks)
    /** The first block that is not copied, and the first one that is not known to be trimmed. */
    this.next = this.trimmed = 0
    /** Copied blocks of which records were deleted since. @type {Set<number>} */
    this.changed = new Set()
    /** Whether rounds are in progress. */
    this.isCopying = false
    /** Of this round: where the log ended when it started, the work that is done, and the work that deletions have added. */
    this.roundStart = this.done = this.added = 0
    /** The most work that the writer adds at a time. */
    this.step = Math.max(MAX_WRITE, blocks.blockSize)
    /** Whether the new file has taken the log's place. */
    this.isSwitched = false
    /** Bytes of the log that are copied. */
    this.copied = 0
    /** Open files that are to be closed if it fails. @type {number[]} */
    this.fds = []
    // see `create`
    this.base = 0
    this.map = /** @type {OffsetMapWriter} */ (/** @type {unknown} */ (null))
    this.target = /** @type {CompactedFile} */ (/** @type {unknown} */ (null))
  }

  /** @returns {Promise<Compacted>} */
  async run () {
    const { file, writer } = this
    const { path } = file.location
    await writer.clients.whenFollowed(this.signal)
    // after a failed fsync of the directory, another process may have the lock of the file that took the log's place
    this.throwIfStopped()
    try {
      for (let factor = 1; ; factor *= MORE_HEADROOM) {
        await this.create(path, factor)
        await this.copy()
        const compacted = await writer.exclusively(() => switchOver(this))
        if (compacted !== null) {
          // the next opening does it otherwise
          await settleMap(path, compacted.id).catch(() => {})
          return compacted
        }
        await this.undo(path)
        this.throwIfStopped()
      }
    } catch (err) {
      if (!this.isSwitched) await this.undo(path)
      throw err
    }
  }

  /**
   * @param {string} path
   * @param {number} factor of the headroom
   */
  async create (path, factor) {
    const { blocks, writer, file } = this
    // what the last one could not remove
    await removeUnfinished(path)
    await settleMap(path, String(this.compacting.id))
    const { blockSize, checksum } = blocks
    // two blocks, since a start behind a single one is not found again (see find-start.js)
    const headroom = factor * Math.max(MIN_HEADROOM, 2 * blockSize, blocks.end - blocks.start)
    const base = this.base = Math.ceil((writer.packer.end + headroom) / blockSize) * blockSize
    this.reader = new PieceReader(blocks)
    this.next = this.trimmed = blocks.start / blockSize
    this.changed.clear()
    this.copied = 0
    const { unfinished, unfinishedMap } = namesOf(path)
    this.map = await OffsetMapWriter.create(unfinishedMap, { id: randomUUID(), previousId: String(this.compacting.id), base }, file.status())
    this.fds.push(this.map.fd)
    this.target = await CompactedFile.create(unfinished, { blockSize, checksum, base }, this.map)
    this.fds.push(this.target.fd)
    file.prepareSuccessor(this.target.fd)
  }

  /** @param {string} path */
  async undo (path) {
    this.closeFiles()
    this.file.forgetSuccessor()
    await removeUnfinished(path)
    await settleMap(path, String(this.compacting.id))
  }

  closeFiles () {
    for (const fd of this.fds.splice(0)) closeQuietly(fd)
  }

  /** @param {number[]} numbers of blocks that were rewritten */
  rewritten (numbers) {
    for (const number of numbers) {
      if (number >= this.reader.requested || this.changed.has(number)) continue
      this.changed.add(number)
      this.added += REPEAT_COST
    }
  }

  /** Whether the writer has to wait: it has added more work in this round than it may. */
  get isBehind () {
    return this.isCopying && this.writer.written - this.roundStart + this.added > this.step / 2 + this.done / 3
  }

  /** @param {number} work */
  hasDone (work) {
    this.done += work
    this.writer.schedule()
  }

  /** Work that is left. */
  get left () {
    const { changed, next, blocks: { blockSize, tail } } = this
    return Math.max(0, tail.number - next) * blockSize + changed.size * REPEAT_COST
  }

  /** @throws if it has to end */
  throwIfStopped () {
    this.signal.throwIfAborted()
    if (this.writer.failure !== null) throw this.writer.failure
  }

  // Copying

  async copy () {
    const { clock, step, writer } = this
    this.isCopying = true
    for (let before = Infinity, isLast = false; !isLast;) {
      this.roundStart = writer.written
      this.done = this.added = 0
      writer.schedule()
      await this.catchUp()
      const startedAt = clock.now()
      await this.sync()
      const { left } = this
      const isShort = left <= step && clock.now() - startedAt <= Compaction.quickSync
      const isStable = left <= MOST_STEPS * step && left >= NO_LESS * before
      isLast = isShort || isStable || writer.acknowledged > this.base
      before = left
    }
    this.isCopying = false
  }

  /** Copies the full blocks that are acknowledged by now, and deletes what was deleted. */
  async catchUp () {
    await this.copyBlocks(this.blocks.tail.number)
    await repeatDeletions(this)
  }

  /** @returns {Promise<import('./offset-map').OffsetMap>} of what is copied, which is durable */
  async sync () {
    await this.target.flush()
    const map = await this.map.finish(this.target.end, this.blocks.start)
    await this.syncFiles()
    this.throwIfStopped()
    return map
  }

  async syncFiles () {
    // both have ended before one is closed
    for (const { reason } of /** @type {any[]} */ (await Promise.allSettled([this.target.sync(), this.map.sync()]))) if (reason !== undefined) throw reason
  }

  /** @param {number} to the first block that is not to be copied */
  async copyBlocks (to) {
    const { blocks, target } = this
    for await (const piece of this.reader.upTo(to)) {
      this.throwIfStopped()
      for (const block of piece) {
        const offset = block.number * blocks.blockSize
        this.next = block.number + 1
        if (offset < blocks.start) continue
        if (block.error !== null) throw block.error
        target.add(block.buffer, block.end, offset)
      }
      await this.write(piece.length * blocks.blockSize)
    }
    this.skipTrimmed()
  }

  /** Blocks that are trimmed meanwhile are not copied; of those that were, the copies are deleted. */
  skipTrimmed () {
    const first = this.blocks.start / this.blocks.blockSize
    for (; this.trimmed < Math.min(first, this.next); this.trimmed++) this.changed.add(this.trimmed)
    this.next = Math.max(this.next, first)
  }

  /** @param {number} bytes that were copied */
  async write (bytes) {
    const { target, map } = this
    await target.write()
    await map.write()
    if (target.unsynced >= Compaction.syncStep) await this.syncFiles()
    this.hasDone(bytes)
    this.copied += bytes
    if (this.onProgress !== undefined) this.onProgress({ bytes: this.copied, total: Math.max(this.copied, this.blocks.end - this.start) })
    this.throwIfStopped()
  }

  /**
   * @param {number} number
   * @returns {Promise<{ buffer: Buffer, end: number }>} the block as readers see it; nothing if it was trimmed
   */
  async block (number) {
    const { blocks } = this
    const isTrimmed = () => number * blocks.blockSize < blocks.start
    if (isTrimmed()) return NOTHING
    return blocks.read(number).catch((err) => {
      // while it was read
      if (isTrimmed()) return NOTHING
      throw err
    })
  }
}

module.exports = { Compaction }
