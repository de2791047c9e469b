'use strict'

// Keeps a log within the limits of the option `retain`: looks at the blocks at its head when
// blocks have been filled or have become durable, and trims those that a limit lets go. What is not durable does
// not count as kept: a power cut would take it, and leave less than was asked for.

const { promised } = require('../callbacks')
const { BlockTimes } = require('./block-times')

/** Blocks that are looked at before the log's start is moved. */
const MAX_BLOCKS = 64

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
    this.sync = sync
    this.clock = clock
    this.bytes = retain.bytes ?? Infinity
    this.age = retain.age ?? Infinity
    this.times = retain.time === undefined ? null : new BlockTimes(writer, retain.time, codec)
    /** The next block to look at, and its time, if it is known; null: it has none. */
    this.next = 0
    /** @type {number | null | undefined} */
    this.time = undefined
    /** The blocks before this one may go. */
    this.first = 0
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
    // what it cannot read or trim now, it can when more blocks may go
    this.run().catch(() => {}).then(() => {
      this.isRunning = false
      if (this.mustRun) this.consider()
    })
  }

  async run () {
    this.mustRun = false
    const { blocks, times, writer } = this
    if (this.overdue > MAX_BLOCKS) await this.trimTo(this.bytesStart, null)
    const { start, blockSize } = blocks
    const head = start / blockSize
    // blocks were trimmed, or the log was compacted
    if (this.next < head) {
      this.next = this.first = head
      this.time = undefined
    }
    for (let count = 0; !this.mustStay; count++) {
      if (count === MAX_BLOCKS) {
        this.mustRun = true
        break
      }
      if (this.time === undefined && times !== null && !this.isBeyondBytes) this.time = await times.of(this.next)
      else {
        // a block without a time goes with the next one that has one
        if (this.isBeyondBytes || this.time !== null) this.first = this.next + 1
        this.next++
        this.time = undefined
      }
    }
    times?.warn()
    if (this.first > head && writer.appender.refusal === null) await this.trimTo(this.first * blockSize, start)
  }

  /** Whether it is known that the next block does not go now. */
  get mustStay () {
    const { blocks, clock, next, times, time } = this
    if (next < blocks.start / blocks.blockSize) return false
    if ((next + 1) * blocks.blockSize >= this.keptEnd) return true
    return !this.isBeyondBytes && (times === null || (typeof time === 'number' && clock.date() - time <= this.age))
  }

  /** Whether the next block exceeds `bytes`. */
  get isBeyondBytes () {
    return this.keptEnd - (this.next + 1) * this.blocks.blockSize >= this.bytes
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
    const { bytes, blocks: { blockSize } } = this
    return Math.floor((this.keptEnd - bytes) / blockSize) * blockSize
  }

  /** Blocks that may go for `bytes`. */
  get overdue () {
    return (this.bytesStart - this.blocks.start) / this.blocks.blockSize
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
