'use strict'

// The block in which a log ends that another process writes: shows of it what that process has acknowledged, and goes on to the next one.

const { storedChecksum } = require('../format/checksum')
const { detectBlockSize } = require('../format/block-size')
const { Block } = require('../format/block')
const { applyPatches } = require('../format/deletions')
const { isHole } = require('../format/hole')
const layout = require('../format/layout')
const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { promised } = require('../callbacks')
const errors = require('../errors')
const { lastRecord } = require('../recovery/whole-records')
const { visibleTail } = require('./visible-tail')

/** How often a block that is corrupt is read again, in case another process is rewriting it. */
const CORRUPT_RETRIES = 5
/** Milliseconds between these reads. */
const RETRY_DELAY = 5

/** @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint */

class FollowedTail {
  /**
   * @param {import('./follower').Follower} follower
   * @param {number} lastSeq the last record's, -1 if there is none
   */
  constructor (follower, lastSeq) {
    const { file, io, blocks, options } = follower
    this.follower = follower
    this.file = file
    this.io = io
    this.blocks = blocks
    this.options = options
    this.isWhole = options.isWhole ?? (() => true)
    this.lastSeq = lastSeq
    /** How often it was corrupt when it was read. */
    this.corruptReads = 0
  }

  /** What is known of FILE.meta. */
  get point () {
    return this.follower.point
  }

  /**
   * The log is another file now.
   * @param {number} lastSeq
   */
  moveTo (lastSeq) {
    this.lastSeq = lastSeq
    this.corruptReads = 0
  }

  /**
   * Shows what may be shown of the tail block.
   * @param {RecoveryPoint | null} point
   * @param {import('./visible-tail').Bounds} bounds
   * @returns {Promise<boolean>} whether to go on with the block that is the tail now
   */
  async read (point, bounds) {
    const { blocks } = this
    const { tail, blockSize, checksum } = blocks
    const start = tail.number * blockSize
    if (start < blocks.start) return this.leaveTrimmed(tail, bounds.limit)
    if (bounds.limit > start + blockSize && this.isCertain(bounds)) return this.skipFilled(tail, bounds.limit)
    const available = Math.min(blockSize, bounds.limit - start)
    const isOutdated = this.point.isTailOutdated && tail.error === null
    if (available < tail.end || (available === tail.end && !(isOutdated && available > 0))) return false
    // all that is new is of a live writer
    if (this.canExtend(tail) && this.isCertain(bounds) && available < blockSize) return this.extendTail(point, available)
    const followed = this.point
    // it may become outdated again while it is read
    const { tailChanges } = followed
    const bytes = await this.readStable(point, start, available)
    if (bytes === null) return false
    if (start < blocks.start) return true
    const shown = { start, bytes, shownBytes: tail.buffer, shownEnd: tail.end }
    const isErased = (/** @type {number} */ position) => this.point.deleted.has(start + position)
    const { state, end, problem } = visibleTail(shown, bounds, { blockSize, checksum, isWhole: this.isWhole, isErased })
    const mayBeLonger = tail.number === 0 && state !== 'sealed' && end < available
    if (mayBeLonger && await this.correctBlockSize(bounds.limit)) return true
    if (state === 'changed') throw this.changed(start + end)
    if (state === 'corrupt') return this.retryCorrupt(tail, /** @type {import('../format/validation').Problem} */ (problem))
    // a corrupt tail stays as it is until a writer goes on behind it
    if (tail.error !== null && state === 'open' && end < available) return false
    tail.error = null
    if (isOutdated || end !== tail.end) this.extend(tail, bytes, end)
    followed.shownTailChanges = tailChanges
    if (isOutdated) blocks.generation++
    if (state === 'sealed') this.startBlock(tail)
    return state === 'sealed'
  }

  /**
   * @param {Pick<import('./visible-tail').Bounds, 'limit' | 'complete'>} bounds
   * @returns {boolean} whether all that may be shown is acknowledged, or durable, and in blocks of a size that is no guess
   */
  isCertain ({ limit, complete }) {
    return limit <= complete && (this.blocks.tail.number > 0 || this.options.blockSize !== undefined)
  }

  /**
   * Readers that are in the tail find all of it. The blocks behind it are read when somebody wants to read them.
   * @param {Block} tail
   * @param {number} limit offset up to which the writer has acknowledged appends
   * @returns {Promise<boolean>} true: to go on with the last block
   */
  async skipFilled (tail, limit) {
    const { blocks, point } = this
    const { tailChanges } = point
    if (tail.wasRead) {
      const [block] = await new Promise(resolve => blocks.load(tail.number, 1, { cacheShare: 1, isSingle: true }, resolve))
      tail.complete(block)
    }
    point.shownTailChanges = tailChanges
    blocks.tail = new Block(Math.floor((limit - 1) / blocks.blockSize), Buffer.alloc(0), 0, false)
    this.corruptReads = 0
    return true
  }

  /**
   * What was acknowledged to this process is in the file. It is read first, so that one look at FILE.meta shows that it has not changed since.
   * @returns {Promise<boolean>} whether there is nothing else to be shown
   */
  async showTold () {
    const { blocks, point, follower: { told } } = this
    const { tail, blockSize } = blocks
    const start = tail.number * blockSize
    const isSimple = told > blocks.end && told < start + blockSize && start >= blocks.start && this.canExtend(tail) && point.current?.isHeld
    if (!isSimple || !this.isCertain({ limit: told, complete: told })) return false
    await this.readInto(tail, told - start)
    const now = await point.readGrown(blocks.end)
    if (now === null || Number(now.acknowledged) < told || !this.canExtend(tail) || start < blocks.start) return false
    this.showRead(tail, told - start)
    return now.acknowledged === told
  }

  /** @param {Block} tail */
  canExtend (tail) {
    return !this.point.isTailOutdated && tail.error === null
  }

  /**
   * Reads what a live writer has appended to the tail.
   * @param {RecoveryPoint | null} point that was there before
   * @param {number} end position up to which it has acknowledged appends
   * @returns {Promise<boolean>} false: nothing comes behind it
   */
  async extendTail (point, end) {
    const { blocks } = this
    const { tail, blockSize } = blocks
    await this.readInto(tail, end)
    // a deletion may have changed it while it was read
    const isStill = await this.point.isStill(point)
    if (isStill && !this.point.isTailOutdated && tail.number * blockSize + tail.end >= blocks.start) this.showRead(tail, end)
    else this.follower.repeat()
    return false
  }

  /**
   * Behind what readers see of the tail.
   * @param {Block} tail
   * @param {number} end position
   */
  async readInto (tail, end) {
    const { blocks: { blockSize }, file } = this
    const from = tail.end
    if (tail.buffer.length < blockSize) tail.setBuffer(withRoom(tail.buffer, blockSize))
    await promised(cb => file.readSmall(tail.number * blockSize + from, end - from, true, (err, bytes) => {
      // valid only until the next read
      bytes?.copy(tail.buffer, from, 0, end - from)
      cb(err)
    }))
  }

  /**
   * @param {Block} tail
   * @param {number} end position up to which it was read
   */
  showRead (tail, end) {
    const from = tail.end
    const start = tail.number * this.blocks.blockSize + from
    applyPatches(tail.buffer.subarray(from, end), start, this.point.patches).copy(tail.buffer, from)
    tail.end = endOfRecords(tail.buffer, from, end)
    this.noteLast(tail)
  }

  /**
   * Reads bytes that no other process changes meanwhile. A writer replaces the recovery point before
   * its first append, and records in it what it is going to delete.
   * @param {RecoveryPoint | null} point that was there before
   * @param {number} offset
   * @param {number} size
   * @returns {Promise<Buffer | null>} null: something was changed, so that all has to be read again
   */
  async readStable (point, offset, size) {
    const { blocks, io } = this
    const { knownState, tailChanges } = this.point
    const bytes = await io.read(offset, size)
    // acknowledged, with a valid checksum, and without deletions that the file does not have yet, or had not when it was read:
    // nothing changes that. A hole may be all that is left of more blocks
    const isCertain = point !== null && point.isHeld && blocks.checksum && size === blocks.blockSize &&
      !blocks.overrides.has(offset / size) && this.point.tailChanges === tailChanges &&
      storedChecksum(bytes) !== 0 && findProblem(bytes, true) === null && !isHole(bytes)
    if (isCertain) return bytes
    const after = await this.point.read()
    // between two looks at a log that is closed, a writer may have had it open, and its last write may have failed
    const mayBeAnother = after === null && this.point.knownState !== knownState
    if (after?.id !== point?.id || (mayBeAnother && !bytes.equals(await io.read(offset, size)))) {
      this.follower.repeat()
      return null
    }
    return applyPatches(bytes, offset, this.point.patches)
  }

  /**
   * With less than a block in the file its block size is a guess, until its first padding comes.
   * @param {number} size of what may be read, in bytes
   * @returns {Promise<boolean>} whether it was wrong
   */
  async correctBlockSize (size) {
    const { blocks, io, file, options } = this
    const found = detectBlockSize(await io.read(0, Math.min(size, 2 * layout.MAX_BLOCK_SIZE)))
    if (found === undefined || found === blocks.blockSize) return false
    if (options.blockSize !== undefined) {
      throw errors.blockSize(file.filename, options.blockSize, `the file has blocks of ${found} bytes`, found)
    }
    this.resizeBlocks(found)
    return true
  }

  /** @param {number} blockSize of the file; until now it was a guess */
  resizeBlocks (blockSize) {
    this.blocks.resize(blockSize)
    this.options.onblocksize(blockSize)
  }

  /**
   * @param {Block} tail
   * @param {Buffer} bytes
   * @param {number} end
   */
  extend (tail, bytes, end) {
    if (end === 0) return
    tail.setBuffer(bytes)
    tail.end = end
    this.noteLast(tail)
  }

  /** @param {Block} tail which has more records */
  noteLast ({ number, buffer, end }) {
    const { blockSize, large } = this.blocks
    const last = lastRecord(buffer, end, large)
    if (last !== -1) this.lastSeq = Math.max(this.lastSeq, number * blockSize + last)
  }

  /** @param {Block} tail which is complete: the next block is the tail */
  startBlock (tail) {
    const { blocks } = this
    tail.sealed = true
    if (tail.error === null) blocks.add(tail)
    blocks.tail = new Block(tail.number + 1, Buffer.alloc(0), 0, false)
    this.corruptReads = 0
  }

  /**
   * The tail was trimmed before all of it was shown.
   * @param {Block} tail
   * @param {number} size of what may be read, in bytes
   * @returns {Promise<boolean>} whether to go on with the first block that is there
   */
  async leaveTrimmed (tail, size) {
    const { blocks } = this
    const { start } = blocks
    if (tail.number === 0) await this.correctBlockSize(size)
    // the block size is a guess still: the first block is just being rewritten
    if (start % blocks.blockSize !== 0) return false
    tail.sealed = true
    tail.error = blocks.trimmedAt(tail.number * blocks.blockSize + tail.end)
    blocks.tail = new Block(start / blocks.blockSize, Buffer.alloc(0), 0, false)
    this.corruptReads = 0
    return true
  }

  /**
   * A complete block is invalid. It is read again, in case it is being rewritten; then it
   * counts as corrupt.
   * @param {Block} tail
   * @param {import('../format/validation').Problem} problem
   * @returns {boolean} whether to go on with the next block
   */
  retryCorrupt (tail, { position, reason }) {
    if (this.corruptReads++ < CORRUPT_RETRIES) {
      this.follower.pollIn(RETRY_DELAY)
      return false
    }
    tail.error = errors.corrupt(this.file.filename, tail.number, this.blocks.blockSize, position, reason)
    this.startBlock(tail)
    return true
  }

  /**
   * @param {Block} tail which is corrupt in its middle
   * @returns {Block} one of which nothing is shown
   */
  corrupt ({ number, buffer, end }) {
    const block = new Block(number, buffer.subarray(0, end), 0, false)
    const position = endOfRecords(buffer, 0, end)
    const reason = /** @type {string} */ (frameProblem(buffer, position, end))
    block.error = errors.corrupt(this.file.filename, number, this.blocks.blockSize, position, reason)
    return block
  }

  /** @param {number} offset from which on records that were shown have changed */
  changed (offset) {
    const { blockSize } = this.blocks
    const position = offset % blockSize
    return errors.corrupt(this.file.filename, (offset - position) / blockSize, blockSize, position,
      'records that were read before were overwritten or rolled back; open the log again')
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {Buffer} one of this size that starts with them
 */
function withRoom (bytes, size) {
  const whole = Buffer.allocUnsafeSlow(size)
  bytes.copy(whole)
  return whole
}

module.exports = { FollowedTail }
