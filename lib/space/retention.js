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
   */
  constructor (writer, retain, codec, sync) {
    this.writer = writer
    this.blocks = writer.blocks
    this.sync = sync
    this.bytes = retain.bytes ?? Infinity
    this.age = retain.age ?? Infinity
    this.times = retain.time === undefined ? null : new BlockTimes(writer, retain.time, codec)
    /** The next block to look at, and its time, if it is known; null: it has none. */
    this.next = 0
    /** @type {number | null | undefined} */
    this.time = undefined
    /** The blocks before this one may go. */
    this.first = 0
    this.isRunning = false
    this.mustRun = false
  }

  /** Blocks were filled, or are durable, or the disk is full. */
  consider () {
    this.mustRun = true
    if (this.isRunning || this.mustStay) return
    this.isRunning = true
    // what it cannot read or trim now, it can when more blocks may go
    this.run().catch(() => {}).then(() => {
      this.isRunning = false
      if (this.mustRun) this.consider()
    })
  }

  async run () {
    this.mustRun = false
    const { blocks: { start, blockSize }, times, writer } = this
    const head = start / blockSize
    // blocks were trimmed, or the log was compacted
    if (this.next < head) this.startAt(head)
    if (this.next < this.firstForBytes) this.startAt(this.firstForBytes)
    if (times !== null) await this.passOld(times)
    if (this.first > head && writer.appender.refusal === null) await promised(cb => writer.trim(this.first * blockSize, cb, start))
  }

  /**
   * Goes on to the first block that is young enough.
   * @param {BlockTimes} times
   */
  async passOld (times) {
    for (let count = 0; !this.mustStay; count++) {
      if (count === MAX_BLOCKS) {
        this.mustRun = true
        break
      }
      if (this.time === undefined) this.time = await times.of(this.next)
      else if (this.time === null) this.skip()
      else this.startAt(this.next + 1)
    }
    times.warn()
  }

  /** @param {number} number all blocks before this one may go */
  startAt (number) {
    this.next = this.first = number
    this.time = undefined
  }

  /** A block without a time goes with the next one that has one. */
  skip () {
    this.next++
    this.time = undefined
  }

  /** Whether it is known that the next block does not go now. */
  get mustStay () {
    const { blocks: { start, blockSize }, writer, next, times, time } = this
    if (next < start / blockSize || next < this.firstForBytes) return false
    if (times === null || (next + 1) * blockSize >= this.keptEnd) return true
    return typeof time === 'number' && writer.clock.date() - time <= this.age
  }

  /** Where what is known to stay ends, whatever happens. */
  get keptEnd () {
    return this.sync === 'never' ? this.blocks.end : this.writer.durability.recoveryPoint
  }

  /** The first block that `bytes` keeps. */
  get firstForBytes () {
    return Math.floor((this.keptEnd - this.bytes) / this.blocks.blockSize)
  }
}

module.exports = { Retention }
