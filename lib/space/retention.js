'use strict'

// Keeps a log within the limits of the option `retain`: looks at the block at its head when
// blocks have been filled or have become durable, and trims it if a limit allows that. What is not durable does
// not count as kept: a power cut would take it, and leave less than was asked for.

const { promised } = require('../callbacks')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { BlockTimes } = require('./block-times')
const { RecordWindow } = require('./record-window')
const { firstChunk, recordsIn } = require('../write/trimmer')

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
 * @property {Block | null} block null: it cannot be read
 * @property {number} records in it that are not deleted
 * @property {number} time of its last record; -Infinity if it has none; Infinity if it is not known yet
 * @property {boolean} isInside whether it starts with a chunk of a large record, and not the first one
 * @property {Pick<Head, 'end' | 'records' | 'time'> | null} cut if that is the last one: the record is gone if the log starts with this block
 *
 * @typedef {object} Look at the blocks of which something is known
 * @property {number} start of the log then
 * @property {number} generation of the cache then
 * @property {Head} head the first block that may not go, as far as is known
 * @property {number} records in the blocks before it
 * @property {Head} first block that may be the log's first
 * @property {number} gone records in the blocks before that
 * @property {Head} last the block before the head; the head itself if that is the first one
 * @property {Head} lastGone the block before the first
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
    /** With large records, of which only their last chunks count. */
    this.window = retain.records !== undefined && codec.large ? new RecordWindow(writer.blocks, retain.records) : null
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

  /** @param {number} number of a block of which records are deleted */
  deleted (number) {
    this.window?.deleted(number)
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
    const { current, window } = this
    if (window !== null && !window.isCurrent(this.kept.end)) return false
    if (current === null || current.head.generation !== this.blocks.generation) return false
    return !this.mayGo(current.head, current.records) && (current.first === current.head || !this.mayStartLog(current))
  }

  /**
   * @param {Pick<Look, 'head' | 'records'>} look
   * @returns {boolean} whether the log may start with the block that was read last, since no large record loses some of its chunks
   */
  mayStartLog ({ head: { isInside, cut }, records }) {
    return !isInside || (cut !== null && this.mayGo(cut, records))
  }

  async run () {
    this.mustRun = false
    const { blocks, writer } = this
    if (this.overdue > MAX_BLOCKS) await this.trimTo(this.bytesStart, null)
    await this.window?.update(this.kept.end)
    const look = this.look = this.current ?? await this.lookAtStart()
    // of one that was still being filled
    if (look.head.generation !== look.generation) look.head = await this.load(look.head.number)
    const most = look.start / blocks.blockSize + MAX_BLOCKS
    for (;;) {
      const { head, records } = look
      if (this.mayStartLog(look)) Object.assign(look, { first: head, gone: records, lastGone: look.last })
      if ((head.number >= most && !head.isInside) || !this.mayGo(head, records)) break
      look.records += head.records
      look.last = head
      look.head = await this.load(head.number + 1)
    }
    const { start, first, gone: records, lastGone, generation } = look
    const wanted = first.number * blocks.blockSize
    if (wanted === start || writer.appender.refusal !== null) return
    const mayGo = () => this.mayGo(lastGone, records - lastGone.records) && this.mayStartLog({ head: first, records })
    await this.trimTo(first.cut === null ? wanted : wanted + 1, { block: first.block, from: start, records, generation, mayGo })
    Object.assign(look, { start: wanted, records: look.records - records, gone: 0 })
    this.mustRun = true
  }

  /** @returns {Promise<Look>} */
  async lookAtStart () {
    const { start, generation, blockSize } = this.blocks
    const head = await this.load(start / blockSize)
    return { start, generation, head, records: 0, first: head, gone: 0, last: head, lastGone: head }
  }

  /**
   * @param {number} start
   * @param {import('../write/trimmer').Known | null} known
   */
  trimTo (start, known) {
    return promised(cb => this.writer.trim(start, cb, known))
  }

  /** What is known to stay, whatever happens: where it ends, and how many records there are. */
  get kept () {
    const { recordCount } = this.writer
    return this.sync === 'never' ? recordCount.mark() : recordCount.durable
  }

  /** Where the log may start for `bytes`. */
  get bytesStart () {
    const { retain: { bytes = Infinity }, blocks: { blockSize } } = this
    return Math.floor((this.kept.end - bytes) / blockSize) * blockSize
  }

  /** Blocks that may go for `bytes`: too many to count their records. */
  get overdue () {
    return (this.bytesStart - this.blocks.start) / this.blocks.blockSize
  }

  /**
   * @param {Pick<Head, 'end' | 'records' | 'time'>} head
   * @param {number} before records in the blocks before it, which go, too
   * @returns {boolean} whether a limit lets this block go, or its first record
   */
  mayGo (head, before) {
    const { bytes = Infinity, records = Infinity, age = Infinity } = this.retain
    const { kept } = this
    if (head.end >= kept.end) return false
    return kept.end - head.end >= bytes ||
      this.recordsAfter(head, before) >= records ||
      this.clock.date() - head.time > age
  }

  /**
   * @param {Pick<Head, 'end' | 'records'>} head
   * @param {number} before records in the blocks before it
   * @returns {number} how many are known to stay if it goes
   */
  recordsAfter ({ end, records }, before) {
    const { window, kept, blocks: { blockSize } } = this
    if (window === null) return kept.records === null ? 0 : kept.records - before - records
    // not all of its block: only the first record goes
    const isCut = end % blockSize > 0
    return window.from(Math.floor(end / blockSize)) - (isCut ? 1 : 0)
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
    const records = block === null ? 0 : recordsIn(block)
    const time = this.times === null ? Infinity : await this.times.of(number, block)
    // a later one may tell
    const isUnknown = this.times !== null && time === Infinity
    const { kind, index } = this.codec.large && block !== null ? firstChunk(block) : NO_CHUNK
    const cut = index > 0 && kind === chunk.LAST ? await this.cutOf(/** @type {Block} */ (block), time) : null
    return { number, end: (number + 1) * blocks.blockSize, generation: isUnknown ? -1 : generation, block, records, time, isInside: index > 0, cut }
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
    return { end: seq + layout.nextPosition(buffer, 0), records: 1, time: time ?? later }
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
