'use strict'

// Trims a log: blocks at its head are gone for readers at once, all of them together, when FILE.meta says where the log starts.
// The file gets zeros for them later, when that is durable. Opening the log after a crash repeats that.
//
//     durable <= punched <= log.start        all of them offsets of blocks
//
//     durable      up to here the file has zeros (block 0: a hole), after a power cut, too
//     punched      up to here the file has zeros
//     log.start    here the log starts for readers
//
// What cannot be recorded is not trimmed. A caller that waits for the space is answered when all of it is durable.

const { promised } = require('../callbacks')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { punchHead } = require('../recovery/free-blocks')

/** Bytes that are freed at a time, so that appends do not wait long. */
const SLICE_SIZE = 16 * 1024 * 1024
/** Bytes for whose sake the file is changed, if nobody waits for it. */
const BATCH_SIZE = 1024 * 1024

/**
 * @typedef {import('../format/block').Block} Block
 * @typedef {(err: Error | null, start?: any) => void} Trimmed
 *
 * @typedef {{ start: number, from: number | null }} Request start: records before it may go. from: see `trim`
 */

class Trimmer {
  /** @param {import('./writer').Writer} writer */
  constructor (writer) {
    this.writer = writer
    this.io = writer.file.io
    this.blocks = writer.blocks
    this.punched = this.blocks.start
    /** `durable`, as it was when it was last known. */
    this.knownDurable = this.blocks.start
    /** Number of the fsync that makes durable what is punched. */
    this.coveredBy = 0
    /** Of trims that wait for their turn. @type {Set<Request>} */
    this.requests = new Set()
    /** All of it, while it is in progress. @type {Promise<void> | null} */
    this.freeing = null
    /** Whether less than a batch is worth it, too. */
    this.isUrgent = false
  }

  /** Whether a power cut may take zeros from the file. */
  get hasUnsynced () {
    return this.coveredBy > this.writer.durability.lastSync
  }

  /** Up to here the file has zeros after a power cut, too. */
  get durable () {
    if (!this.hasUnsynced) this.knownDurable = this.punched
    return this.knownDurable
  }

  /**
   * @param {number} start where the log is to start, at most: whole blocks are trimmed, and never the one with the last record
   * @param {number | null} [from] if it is given, nothing is trimmed unless the log still starts there, and blocks are freed later, when that is worth it
   * @returns {Promise<number>} where it starts, when the blocks before it are freed
   */
  async trim (start, from = null) {
    const { blocks, writer } = this
    const request = { start, from }
    this.requests.add(request)
    try {
      await writer.exclusively(() => this.advance(request))
    } finally {
      this.requests.delete(request)
    }
    if (from === null) await this.free()
    // should it fail, the next trim tries it again, and closing the log does
    else if (blocks.start - this.punched >= (this.isUrgent ? 1 : BATCH_SIZE)) this.free().catch(() => {})
    return blocks.start
  }

  /** The disk is full: what has been trimmed is freed at once, and what is trimmed next. */
  freeSoon () {
    this.isUrgent = true
    this.free().catch(() => {})
  }

  /** Frees the space of all that was trimmed, a part at a time. */
  free () {
    this.freeing ??= this.freeParts().finally(() => { this.freeing = null })
    return this.freeing
  }

  async freeParts () {
    const { blocks, writer } = this
    while (this.punched !== blocks.start) await writer.exclusively(() => this.punchSome())
  }

  // Readers

  /** @param {Request} request */
  async advance ({ start: wanted, from }) {
    const { blocks, writer } = this
    const { blockSize } = blocks
    // a trim or a compaction has come since
    if (from !== null && from !== blocks.start) return
    const { durability } = writer
    let start = Math.min(wanted, writer.appender.lastSeq)
    start -= start % blockSize
    // a log of which only the first block is a hole looks like one in which its records were deleted
    if (start <= Math.max(blocks.start, blockSize)) return
    // a log that a power cut shortens must not lose all that is left of it
    durability.noteSynced()
    if (durability.recoveryPoint <= start) await promised(cb => durability.syncTo(writer.acknowledged, cb))
    const block = await this.firstWhole(start, wanted)
    if (block !== null) await this.moveTo(block)
  }

  /**
   * @param {number} start
   * @param {number} lt
   * @returns {Promise<Block | null>} as `firstValid`, with all chunks of each large record that is not before `lt`
   */
  async firstWhole (start, lt) {
    const { blocks } = this
    let block = await this.firstValid(start)
    while (blocks.large && block !== null) {
      const { kind, index } = firstChunk(block)
      if (index === 0 || (kind === chunk.LAST && block.number * blocks.blockSize < lt)) break
      // the chunks between the first and the last fill a block each; if they do not, this goes back too far
      block = await this.firstValid((block.number - index) * blocks.blockSize)
    }
    return block
  }

  /**
   * The log is another file now, in which nothing is in front of `base`; what was trimmed after it had been copied is freed.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moveFile (map) {
    this.punched = this.knownDurable = map.base
    this.coveredBy = 0
    for (const request of this.requests) request.start = map.up(request.start)
    // should it fail, the next trim tries it again, and closing the log does
    this.free().catch(() => {})
  }

  /**
   * @param {number} start
   * @returns {Promise<Block | null>} the block that starts there, or the last valid one before it that is not trimmed; null: there is none
   */
  async firstValid (start) {
    const { blocks } = this
    const least = Math.max(blocks.start, blocks.blockSize) / blocks.blockSize
    for (let number = start / blocks.blockSize; number > least; number--) {
      const block = await blocks.read(number).catch(() => null)
      if (block !== null) return block
    }
    return null
  }

  /**
   * The log starts with this block.
   * @param {Block} block
   */
  async moveTo ({ number }) {
    const { blocks, writer } = this
    const start = number * blocks.blockSize
    await writer.metadata.trim(start)
    writer.deleter.trim(number)
  }

  // The log's file

  /** Frees blocks in front of the log's start: all of them, or as many as do not take long. */
  async punchSome () {
    const { blocks, io, punched, writer } = this
    const { durability } = writer
    if (punched === blocks.start) return
    await writer.metadata.sync()
    // clients that have the first block take it for a hole
    writer.clients.rewritten()
    const to = Math.min(blocks.start, punched + SLICE_SIZE - SLICE_SIZE % blocks.blockSize)
    this.knownDurable = this.durable
    await punchHead({ ...io, sync: () => promised(cb => durability.syncAll(cb)) }, punched, to, blocks.blockSize)
    this.punched = to
    if (to === blocks.start) this.isUrgent = false
    this.coveredBy = durability.startedSync + 1
  }

  /** The same, up to the log's start. */
  async flush () {
    while (this.punched < this.blocks.start) await this.punchSome()
  }
}

/**
 * @param {Block} block
 * @returns {{ kind: number, index: number }} of the chunk with which it starts; `index` is 0 if that is none, or a record's first
 */
function firstChunk ({ buffer, end }) {
  const data = end === 0 ? buffer.subarray(0, 0) : layout.dataAt(buffer, 0)
  const kind = chunk.kindOf(data)
  return { kind, index: kind === chunk.PART || kind === chunk.LAST ? chunk.indexAt(data, 0) : 0 }
}

module.exports = { Trimmer }
