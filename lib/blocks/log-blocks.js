'use strict'

// The blocks of an open log as its readers see them, corrupt ones too.

const { promised } = require('../callbacks')
const errors = require('../errors')
const { format } = require('../format-value')
const { logBehind } = require('../log')
const { search } = require('../read/search')
const { readPoint } = require('../recovery/recovery-point')

/** Bytes that a scan reads at a time: few, since the log's writer may have the same event loop. */
const SCAN_BYTES = 512 * 1024

/**
 * @typedef {object} Block
 * @property {number} number counted from 0
 * @property {number} offset of its first byte
 * @property {number} blockSize bytes of a whole block
 * @property {Buffer} buffer its bytes; of the last block, those that readers see. Not to be changed
 * @property {number} end position after the last record; 0 if it is corrupt
 * @property {boolean} sealed whether it is whole: it ends with its padding
 * @property {(Error & { code?: string, reason?: string, offset?: number }) | null} error why its records are not available; `reason` says what is wrong, if it is corrupt
 *
 * @typedef {object} ScanRange
 * @property {number} from offset; the scan starts with its block, or in reverse with the last one if that is before it
 * @property {boolean} [reverse] toward the start of the log; default false
 * @property {AbortSignal} [signal] ends the scan early, without an error
 *
 * @typedef {object} WriterState of the process that writes the log
 * @property {number} offset up to which everything is durable
 * @property {number | null} acknowledged offset of what was acknowledged; null: not known
 * @property {boolean} held whether a process has the log open for writing
 * @property {number} deletions that are recorded
 */

class LogBlocks {
  #log

  /**
   * @param {any} members a log with callbacks or with promises
   * @throws flumelog:invalid
   */
  constructor (members) {
    const log = logBehind(members?.flumelog ?? members)
    if (log === undefined) throw errors.invalid(`the first argument must be a log that this package has opened; it is ${format(members)}`)
    this.#log = log
    /** The log with callbacks. @type {import('../types').FlumeLog<any, any>} */
    this.log = members?.flumelog ?? members
  }

  /** @returns {Promise<void>} resolves when readers can see all that is known to be in the log; rejects if it cannot be opened, or is closed */
  ready () {
    return promised(cb => this.#log.whenFresh(cb))
  }

  get #opened () {
    return /** @type {import('../opening').Opened} */ (this.#log.state.opened)
  }

  get #blocks () {
    return this.#opened.blocks
  }

  /** Bytes per block. This and what follows is known once `ready` has resolved. */
  get blockSize () {
    return this.#blocks.blockSize
  }

  /** Offset at which the log starts. */
  get start () {
    return this.#blocks.start
  }

  /** Offset at which it ends for readers. */
  get end () {
    return this.#blocks.end
  }

  /** Offset after the last block, which may be corrupt. */
  get limit () {
    const { tail, blockSize } = this.#blocks
    return tail.number * blockSize + (tail.error === null ? tail.end : tail.buffer.length)
  }

  /** Whether another process may write the log: this one has opened it read-only, or as a client of a shared log. */
  get isFollowing () {
    return this.#opened.follower !== null
  }

  /** The path of the file, absolute. */
  get path () {
    return this.#log.file.location.path
  }

  /** Bytes that the file occupies on the disk; null: not known. */
  get allocated () {
    return this.#log.file.allocated()
  }

  /** The codec that the log was opened with; null: its records are Buffers, or JSON, which is read as it is written. */
  get codec () {
    const { codec, settings } = this.#log
    return codec.isIdentity || codec.keepsNoText ? null : settings.codec
  }

  /** Whether large records are put together, which are stored in chunks. */
  get large () {
    return this.#log.settings.large
  }

  /** Whether checksums are verified. */
  get checksum () {
    return this.#blocks.checksum
  }

  /**
   * @param {number} number of a block that is not trimmed
   * @returns {Promise<Block>} rejects with `flumelog:closed`, or `flumelog:invalid`; other errors are in the block
   */
  async block (number) {
    if (!Number.isSafeInteger(number) || number < 0) throw errors.invalid(`a block has a number of 0 or more; it is ${format(number)}`)
    const blocks = this.#blocks
    const block = blocks.lookUp(number)
    if (block !== undefined) return this.#shown(block)
    return new Promise((resolve, reject) => blocks.loader.load(number, 1, { cacheShare: 1, isSingle: true }, ([block]) => {
      if (codeOf(block.error) === 'flumelog:closed') reject(block.error)
      else resolve(this.#shown(block))
    }))
  }

  /**
   * Reads all blocks from an offset on, from the file and not into the cache.
   * @param {ScanRange} range
   * @returns {AsyncGenerator<Block[], void, void>} several at a time, in the order of reading. Throws `flumelog:compacted` if the log is meanwhile
   */
  scan (range) {
    return this.#scan(range, this.#log.compacting.id)
  }

  /**
   * @param {ScanRange} range
   * @param {string | null} id of the log when the offset was given
   * @returns {AsyncGenerator<Block[], void, void>}
   */
  async * #scan ({ from, reverse = false, signal }, id) {
    if (typeof from !== 'number' || Number.isNaN(from)) throw errors.invalid(`a scan starts at an offset, \`from\`; it is ${format(from)}`)
    const { blockSize } = this
    let number = Math.floor(from / blockSize)
    const step = Math.max(1, Math.floor(SCAN_BYTES / blockSize))
    /** @type {{ number: number, blocks: Promise<Block[]> } | null} */
    let coming = null
    while (signal?.aborted !== true) {
      await this.ready()
      // all blocks have other numbers since
      if (this.#log.compacting.isCompactedSince(id)) throw errors.compacted(this.log.filename)
      const { tail } = this.#blocks
      const first = this.start / blockSize
      number = reverse ? Math.min(number, tail.number) : Math.max(number, first)
      if (reverse ? number < first : number * blockSize >= this.limit) return
      const count = number >= tail.number ? 1 : reverse ? Math.min(step, number - first + 1) : Math.min(step, tail.number - number)
      const lowest = reverse ? number - count + 1 : number
      const blocks = coming?.number === lowest ? await coming.blocks : await this.#load(lowest, count)
      number += reverse ? -count : count
      // the next ones are read while the caller has these
      coming = !reverse && number + step <= tail.number ? { number, blocks: this.#load(number, step) } : null
      yield reverse ? blocks.reverse() : blocks
      // others have their turn: the log's writer may have the same event loop
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /**
   * @param {number} first
   * @param {number} count at most those that are sealed, or the tail
   * @returns {Promise<Block[]>} without those that have been trimmed meanwhile
   */
  #load (first, count) {
    const blocks = this.#blocks
    const { tail } = blocks
    if (first === tail.number) return Promise.resolve([this.#shown(/** @type {import('../format/block').Block} */ (blocks.getCached(first)))])
    return new Promise(resolve => blocks.loader.load(first, count, { cacheShare: 0 }, loaded => {
      resolve(loaded.filter(({ error }) => codeOf(error) !== 'flumelog:trimmed').map(block => this.#shown(block)))
    }))
  }

  /**
   * @param {import('../format/block').Block} block
   * @returns {Block} what it is now: the tail grows
   */
  #shown ({ number, buffer, end, sealed, error }) {
    const { blockSize } = this
    return {
      number,
      offset: number * blockSize,
      blockSize,
      buffer: sealed || error !== null ? buffer : buffer.subarray(0, end),
      end: error === null ? end : 0,
      sealed,
      error
    }
  }

  /**
   * Binary search as `search` of the log, on the bytes of records, whichever codec the log has.
   * @param {(data: Buffer, seq: number) => number} compare
   * @returns {Promise<{ seq: number, data: Buffer } | null>} the first record for which `compare` is 0 or more; null: there is none
   */
  search (compare) {
    const blocks = this.#blocks
    const context = { blocks, decode: null, takesText: false, turn: this.#log.turn, whenOpen: (/** @type {any} */ cb) => this.#log.whenFresh(cb) }
    return new Promise((resolve, reject) => search(context, compare, (err, seq, data) => {
      if (!err) resolve({ seq, data })
      else if (codeOf(err) === 'flumelog:not-found') resolve(null)
      else reject(err)
    }))
  }

  /**
   * Appends records as they are stored: one of zeros is a deleted record, and no codec is applied.
   * @param {Uint8Array[]} records
   * @returns {Promise<number>} seq of the last one. Rejects, with nothing stored, with `flumelog:invalid` or `flumelog:too-large`
   */
  append (records) {
    return promised(cb => this.#log.appending.appendEncoded(records, cb))
  }

  /** @returns {Promise<number>} the size of the file in bytes */
  fileSize () {
    return this.#log.file.io.size()
  }

  /** @returns {Promise<WriterState | null>} null: the log was closed */
  async writerState () {
    const point = await readPoint(this.#log.file.io)
    if (point === null) return null
    const { offset, acknowledged, isHeld, deletions } = point
    return { offset, acknowledged, held: isHeld, deletions: deletions.length }
  }

  /** @returns {Promise<number>} bytes after the end of a log that no process writes: a write was interrupted */
  async tornBytes () {
    if (!this.isFollowing || (await this.writerState())?.held) return 0
    return Math.max(0, await this.fileSize() - this.limit)
  }
}

/** @param {unknown} err */
function codeOf (err) {
  return /** @type {{ code?: string } | null} */ (err)?.code
}

module.exports = { LogBlocks }
