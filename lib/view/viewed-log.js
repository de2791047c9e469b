'use strict'

// The log behind a view: its blocks as readers see them, corrupt ones too.

const path = require('path')
const errors = require('../errors')
const { format } = require('../format-value')
const { logBehind } = require('../log')

/** Blocks that a scan reads at a time: little, since the log's writer may have the same event loop. */
const SCAN_BYTES = 512 * 1024

/**
 * @typedef {object} ShownBlock
 * @property {number} number
 * @property {number} offset
 * @property {Buffer} buffer its bytes; of the tail, those that readers see
 * @property {number} end position after the last record; 0 if it is corrupt
 * @property {boolean} sealed
 * @property {Error | null} error why its records are not available
 *
 * @typedef {object} ScanRange
 * @property {number} from offset; the scan starts with its block
 * @property {boolean} [reverse]
 * @property {AbortSignal} [signal]
 */

class ViewedLog {
  /**
   * @param {any} members a log with callbacks or with promises
   * @throws flumelog:invalid
   */
  constructor (members) {
    const log = logBehind(members?.flumelog ?? members)
    if (log === undefined) throw errors.invalid(`the first argument must be a log that this package has opened; it is ${format(members)}`)
    this.log = log
    this.members = members?.flumelog ?? members
  }

  /** @returns {Promise<void>} resolves when readers can see all that is known to be in the log */
  ready () {
    return new Promise((resolve, reject) => this.log.whenFresh(err => err ? reject(err) : resolve()))
  }

  get opened () {
    return /** @type {import('../opening').Opened} */ (this.log.state.opened)
  }

  get blocks () {
    return this.opened.blocks
  }

  get blockSize () {
    return this.blocks.blockSize
  }

  get start () {
    return this.blocks.start
  }

  /** Where the log ends for readers. */
  get end () {
    return this.blocks.end
  }

  /** @returns {number | null} null: it is not known without counting, or counts the chunks of large records */
  get recordCount () {
    return this.blocks.large ? null : this.members.stats().records
  }

  /** Offset after the last block, which may be corrupt. */
  get limit () {
    const { tail, blockSize } = this.blocks
    return tail.number * blockSize + (tail.error === null ? tail.end : tail.buffer.length)
  }

  /**
   * @param {number} number of a block that is not trimmed
   * @returns {Promise<ShownBlock>}
   */
  block (number) {
    const { blocks } = this
    const block = blocks.lookUp(number)
    if (block !== undefined) return Promise.resolve(this.shown(block))
    return new Promise((resolve, reject) => blocks.load(number, 1, { cacheShare: 1, isSingle: true }, ([block]) => {
      if (codeOf(block.error) === 'flumelog:closed') reject(block.error)
      else resolve(this.shown(block))
    }))
  }

  /**
   * Reads all blocks from an offset on, from the file and not into the cache.
   * @param {ScanRange} range
   * @returns {AsyncGenerator<ShownBlock[], void, void>} several at a time, in the order of reading. It ends early if it is aborted
   */
  async * scan ({ from, reverse = false, signal }) {
    let number = Math.floor(from / this.blockSize)
    const { id } = this.log.compacting
    const step = Math.max(1, Math.floor(SCAN_BYTES / this.blockSize))
    /** @type {{ number: number, blocks: Promise<ShownBlock[]> } | null} */
    let coming = null
    while (signal?.aborted !== true) {
      await this.ready()
      // all blocks have other numbers since
      if (id !== this.log.compacting.id) throw errors.compacted(this.log.filename)
      const { tail } = this.blocks
      const first = this.start / this.blockSize
      if (!reverse && number < first) number = first
      if (reverse ? number < first : number * this.blockSize >= this.limit) return
      const count = number >= tail.number ? 1 : reverse ? Math.min(step, number - first + 1) : Math.min(step, tail.number - number)
      const lowest = reverse ? number - count + 1 : number
      const blocks = coming?.number === lowest ? await coming.blocks : await this.load(lowest, count)
      number += reverse ? -count : count
      // the next ones are read while the caller has these
      coming = !reverse && number + step <= tail.number ? { number, blocks: this.load(number, step) } : null
      yield reverse ? blocks.reverse() : blocks
      // others have their turn: the log's writer may have the same event loop
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /**
   * @param {number} first
   * @param {number} count at most those that are sealed, or the tail
   * @returns {Promise<ShownBlock[]>} without those that have been trimmed meanwhile
   */
  load (first, count) {
    const { blocks } = this
    const { tail } = blocks
    if (first === tail.number) return Promise.resolve([this.shown(/** @type {import('../format/block').Block} */ (blocks.getCached(first)))])
    return new Promise(resolve => blocks.load(first, count, { cacheShare: 0 }, loaded => {
      resolve(loaded.filter(({ error }) => codeOf(error) !== 'flumelog:trimmed').map(block => this.shown(block)))
    }))
  }

  /**
   * @param {import('../format/block').Block} block
   * @returns {ShownBlock} what it is now: the tail grows
   */
  shown ({ number, buffer, end, sealed, error }) {
    return {
      number,
      offset: number * this.blockSize,
      buffer: sealed || error !== null ? buffer : buffer.subarray(0, end),
      end: error === null ? end : 0,
      sealed,
      error
    }
  }

  /**
   * @param {unknown} err
   * @returns {string} its message without the path of the log, which concerns nobody who looks at it
   */
  messageOf (err) {
    const { filename, location } = this.log.file
    let message = err instanceof Error ? err.message : String(err)
    for (const name of [location?.path, filename]) if (name) message = message.replaceAll(name, this.name)
    return message
  }

  /** The base name of the file. */
  get name () {
    return path.basename(this.log.filename ?? 'log')
  }

  /** @returns {Promise<number>} the size of the file in bytes */
  fileSize () {
    return new Promise((resolve, reject) => this.log.file.size((err, bytes) => err ? reject(err) : resolve(bytes ?? 0)))
  }
}

/** @param {unknown} err */
function codeOf (err) {
  return /** @type {{ code?: string } | null} */ (err)?.code
}

module.exports = { ViewedLog, codeOf }
