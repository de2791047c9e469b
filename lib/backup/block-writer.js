'use strict'

// Writes blocks into a backup. What is zeros in a block of which all is deleted is not written: it
// takes no space there either.

const { promisify } = require('util')
const { isHole } = require('../format/hole')

/** Bytes that a file system allocates at a time. */
const PAGE_SIZE = 4096
/** Bytes after which an fsync is started: the disk writes while more is copied. */
const SYNC_SIZE = 32 * 1024 * 1024

class BlockWriter {
  /** @param {import('../storage/path-file').LogFile} target */
  constructor (target) {
    this.writeMany = /** @type {(offset: number, buffers: Buffer[]) => Promise<void>} */ (promisify(target.writeMany))
    this.sync = promisify(target.sync)
    /** Bytes that were written. */
    this.written = 0
    this.unsynced = 0
    /** The fsync in progress. @type {Promise<void> | null} */
    this.syncing = null
    /** @type {unknown} */
    this.failure = null
  }

  /**
   * @param {import('./source-log').Piece} piece after which the target has no bytes yet
   */
  async write ({ offset, blocks }) {
    if (this.failure !== null) throw this.failure
    /** @type {Buffer[]} */
    let run = []
    let start = offset
    let at = offset
    for (const block of blocks) {
      if (isSparse(block)) {
        const last = block.length - PAGE_SIZE
        run.push(block.subarray(0, PAGE_SIZE))
        await this.writeRun(start, run)
        start = at + last
        run = [block.subarray(last)]
      } else add(run, block)
      at += block.length
    }
    await this.writeRun(start, run)
    if (this.unsynced >= SYNC_SIZE && this.syncing === null) this.startSync()
  }

  /**
   * @param {number} start
   * @param {Buffer[]} run
   */
  async writeRun (start, run) {
    await this.writeMany(start, run)
    for (const { length } of run) {
      this.written += length
      this.unsynced += length
    }
  }

  startSync () {
    this.unsynced = 0
    this.syncing = this.sync().catch((err) => { this.failure = err }).then(() => { this.syncing = null })
  }

  /** Makes durable what was written. */
  async finish () {
    await this.syncing
    if (this.failure !== null) throw this.failure
    this.unsynced = 0
    await this.sync()
  }
}

/** @param {Buffer} block full, or the records of the last one */
function isSparse (block) {
  return block.length > 2 * PAGE_SIZE && isHole(block)
}

/**
 * Small blocks that were read together are written as one buffer.
 * @param {Buffer[]} run
 * @param {Buffer} block
 */
function add (run, block) {
  const before = run.at(-1)
  if (before === undefined || before.buffer !== block.buffer || before.byteOffset + before.length !== block.byteOffset) run.push(block)
  else run[run.length - 1] = Buffer.from(block.buffer, before.byteOffset, before.length + block.length)
}

module.exports = { BlockWriter }
