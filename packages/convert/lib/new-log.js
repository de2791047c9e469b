'use strict'

// The log that an import makes: appends what is read, and tells the map where it goes.

const { blocksOf, chunk, layout } = require('flumelog-random-access-file/blocks')
const { open } = require('flumelog-random-access-file/promises')
const { Digest } = require('./digest')

/** Bytes that are appended together. */
const BATCH_SIZE = 256 * 1024

class NewLog {
  /**
   * @param {string} filename
   * @param {{ blockSize: number, large: boolean }} options
   * @param {number} frame bytes of a record of the old file besides its data
   * @param {(old: number, seq: number) => void} onmapped called with each record that the one before it does not lead to
   */
  static async open (filename, { blockSize, large }, frame, onmapped) {
    const log = await open(filename, { blockSize, large, sync: 'never', cacheSize: 0, blocking: false })
    return new NewLog(log, { blockSize, large }, frame, onmapped)
  }

  /**
   * @param {import('flumelog-random-access-file/promises').FlumeLog} log
   * @param {{ blockSize: number, large: boolean }} options
   * @param {number} frame bytes of a record of the old file besides its data
   * @param {(old: number, seq: number) => void} onmapped called with each record that the one before it does not lead to
   */
  constructor (log, { blockSize, large }, frame, onmapped) {
    this.log = log
    this.blocks = blocksOf(log)
    this.blockSize = blockSize
    this.large = large
    this.frame = frame
    this.onmapped = onmapped
    /** Bytes of the largest record that fits into a block. */
    this.most = layout.maxRecordSize(blockSize, true)
    /** Bytes of the largest record that can be stored. */
    this.mostInAll = large ? chunk.MAX_LENGTH : this.most
    /** How many records do not fit into a block. */
    this.largeRecords = 0
    this.digest = new Digest()
    /** Where the next record starts, if it fits into the block. */
    this.end = 0
    /** Offset in the old file at which the next record starts, if nothing is between; -1: it has to be mapped. */
    this.expected = -1
    /** Records that are not appended yet. @type {Buffer[]} */
    this.batch = []
    /** seq of the last of these. */
    this.lastSeq = -1
    /** Bytes of these. */
    this.bytes = 0
    /** Appends, one after the other. */
    this.appended = Promise.resolve()
  }

  /**
   * @param {Buffer} data that can be stored; it may be all zeros, which is a deleted record
   * @param {number} old its offset in the old file
   * @returns {Promise<void> | null} null: the next record can be added at once
   */
  add (data, old) {
    this.digest.add(data)
    const stored = this.large ? chunk.escape(data) : data
    if (stored.length > this.most) return this.addLarge(stored, old)
    if (!layout.fits(this.blockSize, true, this.end % this.blockSize, stored.length)) {
      this.end += this.blockSize - this.end % this.blockSize
      this.expected = -1
    }
    if (old !== this.expected) this.onmapped(old, this.end)
    this.expected = stored !== data ? -1 : old + data.length + this.frame
    this.batch.push(stored)
    this.bytes += stored.length
    this.lastSeq = this.end
    this.end += stored.length + layout.FRAME_SIZE
    return this.bytes < BATCH_SIZE ? null : this.flush()
  }

  /**
   * A record that becomes chunks.
   * @param {Buffer} stored
   * @param {number} old
   */
  async addLarge (stored, old) {
    await this.flush()
    await this.appended
    const seq = await this.append([stored])
    this.onmapped(old, seq)
    this.expected = -1
    this.largeRecords++
    this.end = this.log.stats().size
  }

  /** @returns {Promise<void>} what was added is packed, and all that was packed before it is written */
  async flush () {
    const { batch, lastSeq, appended } = this
    if (batch.length === 0) return appended
    this.batch = []
    this.bytes = 0
    this.appended = this.append(batch).then((seq) => {
      if (seq !== lastSeq) throw new Error(`a record is at ${seq} instead of ${lastSeq}`)
    })
    // it is awaited by the next call
    this.appended.catch(() => {})
    await appended
  }

  /**
   * Past the codec, which takes no deleted records.
   * @param {Buffer[]} records
   * @returns {Promise<number>} seq of the last one
   */
  append (records) {
    return this.blocks.append(records)
  }

  /** @returns {Promise<void>} all is durable, and the log is closed */
  async finish () {
    await this.flush()
    await this.appended
    await this.log.close()
  }

  /** Closes it if it is open. */
  async stop () {
    await this.log.close().catch(() => {})
  }
}

module.exports = { NewLog }
