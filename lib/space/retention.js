'use strict'

// Keeps a log within the limits of the option `retain`: looks at the block at its head when
// blocks have been filled or have become durable, and trims it if a limit allows that. What is not durable does
// not count as kept: a power cut would take it, and leave less than was asked for.

const { promised } = require('../callbacks')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { BlockTimes } = require('./block-times')
const { firstChunk } = require('../write/trimmer')

/** Blocks that are read before the log's start is moved. */
const MAX_BLOCKS = 64
const NO_CHUNK = { kind: chunk.PLAIN, index: 0 }

/**
 * @typedef {import('../format/block').Block} Block
 *
 * @typedef {object} Head the block at the head of the log, or one after it
 * @property {number} number
 * @property {number} end where it ends
 * @property {number} generation of the cache when it was read
 * @property {number} time of its last record; -Infinity if it has none; Infinity if it is not known yet
 * @property {boolean} isInside whether it starts with a chunk of a large record, and not the first one
 * @property {Pick<Head, 'end' | 'time'> | null} cut if that is the last one: the record is gone if the log starts with this block
 *
 * @typedef {object} Look at the blocks of which something is known
 * @property {number} start of the log then
 * @property {number} generation of the cache then
 * @property {Head} head the first block that may not go, as far as is known
 * @property {Head} first block that may be the log's first
 */

class Retention {
  /**
   * @param {import('../write/writer').Writer} writer
   * @param {import('./retain-options').RetainOptions} retain
   * @param {import('../record-codec').RecordCodec} codec
   * @param {'always' | 'interval' | 'never'} sync
   * @param {import('../clock').Clock} clock
   */
  constructor (writer, retain, codec, sync, clock) {
    this.writer = writer
    this.blocks = writer.blocks
    this.retain = retain
    this.codec = codec
    this.sync = sync
    this.clock = clock
    /** null: it has to be read. @type {Look | null} */
    this.look = null
    this.times = retain.time === undefined ? null : new BlockTimes(writer, retain.time, codec)
    /** Backups that are to find what they copy. */
    this.holds = 0
    this.isRunning = false
    this.mustRun = false
  }

  /** @returns {() => void} until it is called, nothing is trimmed, unless the disk is full */
  hold () {
    this.holds++
    return () => {
      if (--this.holds === 0) this.consider()
    }
  }

  /**
   * Blocks were filled, or are durable.
   * @param {boolean} [isFull] the disk is full
   */
  consider (isFull = false) {
    this.mustRun = true
    if (this.isRunning || (this.holds > 0 && !isFull) || this.mustStay) return
    this.isRunning = true
    // what it cannot read or trim now, it can when it is called again
    this.run().catch(() => {}).then(() => {
      this.isRunning = false
      if (this.mustRun && this.current !== null) this.consider()
    })
  }

  /** What was known the last time, if it still holds. */
  get current () {
    const { look, blocks } = this
    return look !== null && look.start === blocks.start && look.generation === blocks.generation ? look : null
  }

  /** Whether it is known that no block may go. */
  get mustStay () {
    const { current } = this
    if (current === null || current.head.generation !== this.blocks.generation) return false
    return !this.mayGo(current.head) && (current.first === current.head || !this.mayStartLog(current.head))
  }

  /**
   * @param {Head} head
   * @returns {boolean} whether the log may start with this block, since no large record loses some of its chunks
   */
  mayStartLog ({ isInside, cut }) {
    return !isInside || (cut !== null && this.mayGo(cut))
  }

  async run () {
    this.mustRun = false
    const { blocks, writer } = this
    if (this.overdue > MAX_BLOCKS) await this.trimTo(this.bytesStart, null)
    const look = this.look = this.current ?? await this.lookAtStart()
    // of one that was still being filled
    if (look.head.generation !== look.generation) look.head = await this.load(look.head.number)
    const most = look.start / blocks.blockSize + MAX_BLOCKS
    for (;;) {
      const { head } = look
      if (this.mayStartLog(head)) look.first = head
      if ((head.number >= most && !head.isInside) || !this.mayGo(head)) break
      look.head = await this.load(head.number + 1)
    }
    const { start, first } = look
    const wanted = first.number * blocks.blockSize
    if (wanted === start || writer.appender.refusal !== null) return
    await this.trimTo(first.cut === null ? wanted : wanted + 1, start)
    look.start = wanted
    this.mustRun = true
  }

  /** @returns {Promise<Look>} */
  async lookAtStart () {
    const { start, generation, blockSize } = this.blocks
    const head = await this.load(start / blockSize)
    return { start, generation, head, first: head }
  }

  /**
   * @param {number} start
   * @param {number | null} from where the log started when this was decided; null: it does not matter
   */
  trimTo (start, from) {
    return promised(cb => this.writer.trim(start, cb, from))
  }

  /** Where what is known to stay ends, whatever happens. */
  get keptEnd () {
    return this.sync === 'never' ? this.blocks.end : this.writer.durability.recoveryPoint
  }

  /** Where the log may start for `bytes`. */
  get bytesStart () {
    const { retain: { bytes = Infinity }, blocks: { blockSize } } = this
    return Math.floor((this.keptEnd - bytes) / blockSize) * blockSize
  }

  /** Blocks that may go for `bytes`. */
  get overdue () {
    return (this.bytesStart - this.blocks.start) / this.blocks.blockSize
  }

  /**
   * @param {Pick<Head, 'end' | 'time'>} head
   * @returns {boolean} whether a limit lets this block go, or its first record
   */
  mayGo ({ end, time }) {
    const { keptEnd, retain: { bytes = Infinity, age = Infinity } } = this
    return end < keptEnd && (keptEnd - end >= bytes || this.clock.date() - time > age)
  }

  /**
   * @param {number} number
   * @returns {Promise<Head>}
   */
  async load (number) {
    const { blocks } = this
    // one that is still being filled is read again
    const generation = number === blocks.tail.number ? -1 : blocks.generation
    const block = await blocks.read(number).catch(() => null)
    const time = this.times === null ? Infinity : await this.times.of(number, block)
    // a later one may tell
    const isUnknown = this.times !== null && time === Infinity
    const { kind, index } = this.codec.large && block !== null ? firstChunk(block) : NO_CHUNK
    const cut = index > 0 && kind === chunk.LAST ? await this.cutOf(/** @type {Block} */ (block), time) : null
    return { number, end: (number + 1) * blocks.blockSize, generation: isUnknown ? -1 : generation, time, isInside: index > 0, cut }
  }

  /**
   * @param {Block} block
   * @param {number} later time of the block
   * @returns {Promise<NonNullable<Head['cut']>>} its first record
   */
  async cutOf ({ number, buffer }, later) {
    const seq = number * this.blocks.blockSize
    const { times } = this
    const data = times === null ? null : await times.wholeRecord(layout.dataAt(buffer, 0), seq)
    const time = times === null || data === null ? null : times.ofRecord(data, seq)
    return { end: seq + layout.nextPosition(buffer, 0), time: time ?? later }
  }
}

/**
 * @param {import('../options').Settings} settings of a log
 * @param {import('../record-codec').RecordCodec} codec
 * @returns {((writer: import('../write/writer').Writer) => Retention) | null} null: it keeps everything
 */
function retentionOf ({ retain, sync }, codec) {
  return retain && (writer => new Retention(writer, retain, codec, sync, writer.clock))
}

module.exports = { retentionOf, Retention }
