'use strict'

// Keeps a log within the limits of the option `retain`: looks at the block at its head when
// blocks have been filled or have become durable, and trims it if a limit allows that. What is not durable does
// not count as kept: a power cut would take it, and leave less than was asked for.

const { promised } = require('../callbacks')
const chunk = require('../format/chunk')
const layout = require('../format/layout')
const { format } = require('../format-value')
const { readLarge } = require('../read/large-get')
const { recordsIn } = require('../write/trimmer')

/** Blocks that are read before the log's start is moved. */
const MAX_BLOCKS = 64

/**
 * @typedef {object} Head the block at the head of the log, or one after it
 * @property {number} number
 * @property {number} generation of the cache when it was read
 * @property {import('../format/block').Block | null} block null: it cannot be read
 * @property {number} records in it that are not deleted
 * @property {number} time of its last record; -Infinity if it has none. One that is not known counts as that of the block before
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
    /** null: it has to be read. @type {Head | null} */
    this.head = null
    /** Of the last block that told one. */
    this.lastTime = clock.date()
    /** The blocks from `after` up to this one do not tell a time, and count as having its. */
    this.later = { after: 0, number: 0, time: Infinity }
    this.isRunning = false
    this.mustRun = false
    this.hasWarned = false
  }

  /** Blocks were filled, or are durable. */
  consider () {
    this.mustRun = true
    if (this.isRunning || (this.isHeadCurrent && !this.mayGo(/** @type {Head} */ (this.head), 0))) return
    this.isRunning = true
    // what it cannot read or trim now, it can when it is called again
    this.run().catch(() => {}).then(() => {
      this.isRunning = false
      if (this.mustRun && this.isHeadCurrent) this.consider()
    })
  }

  get isHeadCurrent () {
    const { head, blocks } = this
    return head !== null && head.number * blocks.blockSize === blocks.start && head.generation === blocks.generation
  }

  async run () {
    this.mustRun = false
    const { blocks, writer } = this
    const { blockSize } = blocks
    if (this.overdue > MAX_BLOCKS) return this.trimTo(this.bytesStart, null)
    const { generation } = blocks
    const first = blocks.start / blockSize
    let head = this.isHeadCurrent ? /** @type {Head} */ (this.head) : await this.load(first)
    let records = 0
    while (head.number - first < MAX_BLOCKS && this.mayGo(head, records)) {
      records += head.records
      head = await this.load(head.number + 1)
    }
    this.head = head
    if (head.number === first || writer.appender.refusal !== null) return
    await this.trimTo(head.number * blockSize, { block: head.block, from: first * blockSize, records, generation })
    this.mustRun = true
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
   * @param {Head} head
   * @param {number} before records in the blocks before it, which go, too
   * @returns {boolean} whether a limit lets this block go
   */
  mayGo (head, before) {
    const { bytes = Infinity, records = Infinity, age = Infinity } = this.retain
    const { kept } = this
    const next = (head.number + 1) * this.blocks.blockSize
    if (next >= kept.end) return false
    return kept.end - next >= bytes ||
      (kept.records !== null && kept.records - before - head.records >= records) ||
      this.clock.date() - head.time > age
  }

  /**
   * @param {number} number
   * @returns {Promise<Head>}
   */
  async load (number) {
    const { blocks } = this
    // of one that is still being filled, the records are counted again
    const generation = number === blocks.tail.number ? -1 : blocks.generation
    const block = await new Promise(resolve => blocks.get(number, false, (err, block) => resolve(err ? null : block)))
    const records = block === null ? 0 : recordsIn(block)
    const told = this.retain.age === undefined ? Infinity : block === null ? null : await this.timeOf(block)
    // parts of a large record are as old as its last chunk
    const time = told ?? (this.codec.large ? await this.timeAfter(number) : this.lastTime)
    if (time !== -Infinity) this.lastTime = time
    return { number, generation, block, records, time }
  }

  /**
   * @param {number} number of a block that does not tell
   * @returns {Promise<number>} of the first one after it that does, if a large record may reach to that; otherwise of the one before it
   */
  async timeAfter (number) {
    const { blocks, later } = this
    // a large record may fill thousands of blocks
    if (number < later.number && number >= later.after) return later.time
    // nearly all of a block between the first chunk and the last is data, in the smallest more than a third
    const most = Math.ceil(chunk.MAX_LENGTH / (blocks.blockSize / 3))
    const last = Math.min(blocks.tail.number, number + most)
    let next = number
    let time = null
    while (time === null && next < last) {
      const block = await new Promise(resolve => blocks.get(++next, false, (err, block) => resolve(err ? null : block)))
      time = block === null ? null : await this.timeOf(block)
    }
    this.later = { after: number, number: next, time: time ?? this.lastTime }
    return this.later.time
  }

  /**
   * @param {import('../format/block').Block} block
   * @returns {Promise<number | null>} of the last record that has one; -Infinity if there is no record, null if it is not known
   */
  async timeOf ({ number, buffer, end }) {
    /** @type {number | null} */
    let time = -Infinity
    for (let position = end; position > 0;) {
      position = layout.previousPosition(buffer, position)
      if (layout.isDeleted(buffer, position)) continue
      const seq = number * this.blocks.blockSize + position
      const data = this.codec.large ? await this.wholeRecord(layout.dataAt(buffer, position), seq) : layout.dataAt(buffer, position)
      // of a large record, or one that cannot be read: what is before it may be much older
      if (data === null) return null
      time = this.timeOfRecord(data, seq)
      if (time !== null) break
    }
    return time
  }

  /**
   * @param {Buffer} data as it is stored
   * @param {number} seq
   * @returns {Promise<Buffer | null>} null: a part of a large record, which is as old as its last chunk, or one that cannot be read
   */
  wholeRecord (data, seq) {
    const kind = chunk.kindOf(data)
    if (kind !== chunk.LAST) return Promise.resolve(kind === chunk.PART ? null : chunk.unescape(data))
    return new Promise(resolve => readLarge(this.blocks, seq, (err, whole) => resolve(err ? null : /** @type {Buffer} */ (whole))))
  }

  /**
   * @param {Buffer} data
   * @param {number} seq
   * @returns {number | null}
   */
  timeOfRecord (data, seq) {
    const { codec } = this
    const { time } = /** @type {{ time: (value: any) => number | Date }} */ (this.retain)
    try {
      const encoded = codec.takesText && !codec.isIdentity ? layout.text(data, 0, data.length) : data
      const found = Number(time(codec.isIdentity ? data : codec.decode(encoded, seq)))
      return Number.isNaN(found) ? null : found
    } catch (err) {
      this.warn(seq, err)
      return null
    }
  }

  /**
   * Nobody waits for a trim that could get the error; without times, nothing is old enough.
   * @param {number} seq
   * @param {unknown} err what `time` has thrown, or decoding the record
   */
  warn (seq, err) {
    if (this.hasWarned) return
    this.hasWarned = true
    const reason = err instanceof Error ? err.message : format(err)
    process.emitWarning(`${this.writer.file.filename}: retain: the time of the record at offset ${seq} is not known, so it may be kept for longer than age: ${reason}`, { code: 'flumelog:retain' })
  }
}

/**
 * @param {import('../write/writer').Writer} writer of a log
 * @param {import('../options').Settings} settings of it
 * @param {import('../record-codec').RecordCodec} codec
 */
function retain (writer, { retain, sync }, codec) {
  if (retain !== null) writer.retention = new Retention(writer, retain, codec, sync, writer.clock)
}

module.exports = { retain }
