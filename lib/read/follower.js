'use strict'

// Takes the writer's place in a read-only log: follows the file as another process appends to
// it, and shows readers what that process has acknowledged.

const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { storedChecksum } = require('../format/checksum')
const { detectBlockSize } = require('../format/block-size')
const { isHole } = require('../format/hole')
const layout = require('../format/layout')
const errors = require('../errors')
const { systemClock } = require('../clock')
const { callAll } = require('../callbacks')
const { Block } = require('../format/block')
const { boundsOf, visibleTail } = require('./visible-tail')
const { FollowedPoint, acknowledgedByPoint } = require('./followed-point')
const { applyPatches } = require('../format/deletions')
const { lastRecord } = require('../recovery/whole-records')

/** How often a block that is corrupt is read again, in case another process is rewriting it. */
const CORRUPT_RETRIES = 5
/** Milliseconds between these reads. */
const RETRY_DELAY = 5
/** How often a log that is being opened is read, while its writer keeps changing the recovery point. */
const MAX_READS = 100

/**
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 *
 * @typedef {object} Listeners
 * @property {(seq: number) => void} onadvance readers see more; the last record's seq is this
 * @property {(blockSize: number) => void} onblocksize the block size is this; until now it was a guess
 * @property {(map: import('../space/offset-map').OffsetMap, lastSeq: number) => void} [onmoved] the log was compacted
 * @property {(err: Error) => void} onfailure records that were shown have changed, or the file cannot be read
 *
 * @typedef {object} FollowerOptions
 * @property {number | undefined} blockSize what the caller asked for
 * @property {string} [id] of the log
 * @property {(follower: Follower, replaced: Error) => Promise<void>} [followCompaction] goes on in the file that has taken the log's place, or
 *   throws `replaced`; missing: always throw it
 * @property {(data: Buffer) => boolean} [isWhole] whether a record's data seems to be as it was appended
 * @property {typeof acknowledgedByPoint} [acknowledged]
 * @property {import('../clock').Clock} [clock]
 */

class Follower {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('../storage/promisified-file').Io} io
   * @param {import('./block-cache').BlockCache} blocks
   * @param {import('../recovery/find-end').Found} found where the log ended when it was opened
   * @param {RecoveryPoint | null} point that was there then
   * @param {Listeners & FollowerOptions} options
   */
  constructor (file, io, blocks, found, point, options) {
    this.file = file
    this.io = io
    this.blocks = blocks
    this.found = found
    this.lastSeq = found.lastSeq
    this.id = options.id ?? null
    this.options = options
    this.clock = options.clock ?? systemClock
    this.acknowledged = options.acknowledged ?? acknowledgedByPoint
    this.isWhole = options.isWhole ?? (() => true)
    this.point = new FollowedPoint(io, blocks, point, () => this.pointReplaced())
    /** How often the tail was corrupt when it was read. */
    this.corruptReads = 0
    /** @type {import('../clock').Timer | null} */
    this.retryTimer = null
    this.running = false
    this.again = false
    this.closed = false
    /** Blocks have all that is known to be in the log. */
    this.isFresh = true
    /** A poll was disturbed by the writer, and has to be repeated. */
    this.isDisturbed = false
    /** Called when a poll that began later is done. @type {Array<(err: Error | null) => void>} */
    this.waiting = []
    /** @type {import('../storage/watch').Watch | null} */
    this.watch = null
  }

  /** Reads the tail, and watches the file from now on. */
  async begin () {
    const { blocks, file } = this
    const { damagedTail } = this.found
    // a valid one is read again: it may have been read in the middle of a deletion
    blocks.tail = damagedTail === null ? new Block(blocks.tail.number, Buffer.alloc(0), 0, false) : this.corruptTail(damagedTail)
    blocks.followedPoint = this.point
    this.running = true
    this.watch = file.watch === null ? null : file.watch(() => this.poll())
    await this.advance()
    // a writer has changed the recovery point meanwhile: what was found must be there when the log is open
    for (let reads = 1; this.again && blocks.end < this.found.kept && reads < MAX_READS; reads++) {
      this.again = false
      await this.advance()
    }
    this.running = false
    if (this.again) this.poll()
  }

  /**
   * @param {Block} tail which is corrupt in its middle
   * @returns {Block} one of which nothing is shown
   */
  corruptTail ({ number, buffer, end }) {
    const block = new Block(number, buffer.subarray(0, end), 0, false)
    const position = endOfRecords(buffer, 0, end)
    const reason = /** @type {string} */ (frameProblem(buffer, position, end))
    block.error = errors.corrupt(this.file.filename, number, this.blocks.blockSize, position, reason)
    return block
  }

  get end () {
    return this.blocks.end
  }

  /** @param {(err: Error | null) => void} cb called at once, unless the log was trimmed further than it was read: it would seem empty */
  whenFresh (cb) {
    if (this.blocks.isOvertaken) this.catchUp(cb)
    else cb(null)
  }

  /** @param {(err: Error | null) => void} cb called when everything is shown that the writer has published by now */
  catchUp (cb) {
    if (this.closed) return cb(null)
    this.waiting.push(cb)
    this.poll()
  }

  /** Shows what was acknowledged since the last poll; one at a time. */
  poll () {
    if (this.closed) return
    this.again = true
    if (this.running) return
    this.running = true
    this.pollUntilQuiet().catch(err => {
      if (this.closed) return
      callAll(this.waiting.splice(0), err)
      this.close()
      process.nextTick(this.options.onfailure, err)
    })
  }

  async pollUntilQuiet () {
    while (this.again && !this.closed) {
      this.again = this.isDisturbed = false
      const { end } = this.blocks
      const { length } = this.waiting
      await this.advance()
      if (this.blocks.end !== end && !this.closed) process.nextTick(this.options.onadvance, this.lastSeq)
      // not when it is quiet: a writer may go on and on
      if (!this.isDisturbed && !(this.blocks.isOvertaken && (this.again || this.retryTimer !== null))) callAll(this.waiting.splice(0, length), null)
    }
    this.running = false
  }

  async advance () {
    const { blocks, io, file } = this
    await io.checkPath().catch(err => this.replaced(err))
    // before the size, which then includes everything that a live writer has acknowledged
    const point = await this.point.read()
    const size = await io.size()
    const acknowledged = this.acknowledged(point, blocks.end)
    const bounds = boundsOf(point, acknowledged, size, blocks.blockSize, this.found)
    if (size < blocks.end) throw errors.shrunk(file.filename, blocks.end, size)
    if (bounds.limit < blocks.end) throw this.changed(bounds.limit)
    try {
      while (!this.closed && await this.readTail(point, bounds));
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      // a writer has truncated the file since its size was read
      this.point.isTailOutdated = this.again = this.isDisturbed = true
    }
    if (this.acknowledged(this.point.current, blocks.end) !== acknowledged) this.again = true
  }

  /**
   * Shows what may be shown of the tail block.
   * @param {RecoveryPoint | null} point
   * @param {import('./visible-tail').Bounds} bounds
   * @returns {Promise<boolean>} whether to go on with the block that is the tail now
   */
  async readTail (point, bounds) {
    const { blocks } = this
    const { tail, blockSize, checksum } = blocks
    const start = tail.number * blockSize
    if (start < blocks.start) return this.leaveTrimmed(tail, bounds.limit)
    const available = Math.min(blockSize, bounds.limit - start)
    const isOutdated = this.point.isTailOutdated && tail.error === null
    if (available < tail.end || (available === tail.end && !(isOutdated && available > 0))) return false
    // before the read: it may become outdated again meanwhile
    if (isOutdated) this.point.isTailOutdated = false
    const bytes = await this.readStable(point, start, available)
    if (bytes === null) {
      if (isOutdated) this.point.isTailOutdated = true
      return false
    }
    if (start < blocks.start) return true
    const shown = { start, bytes, shownBytes: tail.buffer, shownEnd: tail.end }
    const isErased = (/** @type {number} */ position) => this.point.deleted.has(start + position)
    const { state, end, problem } = visibleTail(shown, bounds, { blockSize, checksum, isWhole: this.isWhole, isErased })
    const mayBeLonger = tail.number === 0 && state !== 'sealed' && end < available
    if (mayBeLonger && await this.correctBlockSize(bounds.limit)) return true
    if (state === 'changed') throw this.changed(start + end)
    if (state === 'corrupt') {
      if (isOutdated) this.point.isTailOutdated = true
      return this.retryCorrupt(tail, /** @type {import('../format/validation').Problem} */ (problem))
    }
    // a corrupt tail stays as it is until a writer goes on behind it
    if (tail.error !== null && state === 'open' && end < available) return false
    tail.error = null
    if (isOutdated || end !== tail.end) this.extend(tail, bytes, end)
    if (isOutdated) blocks.generation++
    if (state === 'sealed') this.startBlock(tail)
    return state === 'sealed'
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
    const { knownState } = this.point
    const bytes = await io.read(offset, size)
    // acknowledged, with a valid checksum, and without deletions that the file does not have yet, or had not when it was read:
    // nothing changes that. A hole may be all that is left of more blocks
    const isCertain = point !== null && point.isHeld && blocks.checksum && size === blocks.blockSize &&
      !blocks.overrides.has(offset / size) && !this.point.isTailOutdated &&
      storedChecksum(bytes) !== 0 && findProblem(bytes, true) === null && !isHole(bytes)
    if (isCertain) return bytes
    const after = await this.point.read()
    // between two looks at a log that is closed, a writer may have had it open, and its last write may have failed
    const mayBeAnother = after === null && this.point.knownState !== knownState
    if (after?.id !== point?.id || (mayBeAnother && !bytes.equals(await io.read(offset, size)))) {
      this.again = this.isDisturbed = true
      return null
    }
    return applyPatches(bytes, offset, this.point.patches)
  }

  /** The point is another file now, or is gone. */
  pointReplaced () {
    this.watch?.pointReplaced()
    // for what was published since it was read
    this.poll()
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
    const last = lastRecord(bytes, end, this.blocks.large)
    if (last !== -1) this.lastSeq = tail.number * this.blocks.blockSize + last
    tail.setBuffer(bytes)
    tail.end = end
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
      this.retryTimer ??= this.clock.setTimeout(() => {
        this.retryTimer = null
        this.poll()
      }, RETRY_DELAY)
      return false
    }
    tail.error = errors.corrupt(this.file.filename, tail.number, this.blocks.blockSize, position, reason)
    this.startBlock(tail)
    return true
  }

  /** @param {any} err why the path does not lead to the open file */
  async replaced (err) {
    const { followCompaction } = this.options
    if (err.code !== 'flumelog:replaced' || followCompaction === undefined) throw err
    await followCompaction(this, err)
  }

  /**
   * The log is another file now, and blocks have moved there.
   * @param {import('../recovery/find-end').Found} found where it ends
   * @param {RecoveryPoint | null} point that was there then
   * @param {import('./followed-point').OwnPatches} own what its file may not have yet
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moveTo (found, point, own, map) {
    const { blocks, io } = this
    this.id = map.id
    this.found = found
    this.lastSeq = found.lastSeq
    this.corruptReads = 0
    this.point = blocks.followedPoint = new FollowedPoint(io, blocks, point, () => this.pointReplaced())
    this.point.patch(point, own, blocks.blockSize)
    this.watch?.logReplaced()
    this.options.onmoved?.(map, found.lastSeq)
  }

  /** @param {number} offset from which on records that were shown have changed */
  changed (offset) {
    const { blockSize } = this.blocks
    const position = offset % blockSize
    return errors.corrupt(this.file.filename, (offset - position) / blockSize, blockSize, position,
      'records that were read before were overwritten or rolled back; open the log again')
  }

  close () {
    this.closed = true
    if (this.retryTimer !== null) this.clock.clearTimeout(this.retryTimer)
    this.watch?.stop()
    callAll(this.waiting.splice(0), errors.closed(this.file.filename))
  }
}

module.exports = { Follower }
