'use strict'

// Follows a log that another process writes, and shows readers what that process has acknowledged: all of it is in the
// file and in the recovery point beside it. When to look there, a read-only log is told by the file system, and the client
// of a shared log by the owner: what is told late, twice or not at all changes when something is seen, never what.

const { endOfRecords, findProblem, frameProblem } = require('../format/validation')
const { storedChecksum } = require('../format/checksum')
const { detectBlockSize } = require('../format/block-size')
const { isHole } = require('../format/hole')
const layout = require('../format/layout')
const errors = require('../errors')
const { systemClock } = require('../clock')
const { callAll, promised } = require('../callbacks')
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
/** Milliseconds after which a poll that has failed, for want of file descriptors for example, is repeated. */
const FAILURE_DELAY = 50
/** Milliseconds within which a poll shows what was appended, if nobody waits for it. */
const IDLE_DELAY = 10

/**
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 *
 * @typedef {object} Listeners
 * @property {(seq: number) => void} onadvance readers see more; the last record's seq is this
 * @property {(blockSize: number) => void} onblocksize the block size is this; until now it was a guess
 * @property {(map: import('../space/offset-map').OffsetMap, lastSeq: number) => void} [onmoved] the log was compacted
 * @property {() => void} [onfresh] `isFresh` has changed
 * @property {(err: Error) => void} onfailure records that were shown have changed, or the file cannot be read
 *
 * @typedef {object} FollowerOptions
 * @property {number | undefined} blockSize what the caller asked for
 * @property {string} [id] of the log
 * @property {(follower: Follower, replaced: Error) => Promise<void>} [followCompaction] goes on in the file that has taken the log's place, or
 *   throws `replaced`; missing: always throw it
 * @property {boolean} [isClient] whether this process may also write the log: it is told when to poll, and goes on if a poll fails that may
 *   succeed later. Default: false
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
    this.point = new FollowedPoint(io, blocks, point, this.id, () => this.pointReplaced())
    /** How often the tail was corrupt when it was read. */
    this.corruptReads = 0
    /** @type {import('../clock').Timer | null} */
    this.retryTimer = null
    this.running = false
    this.again = false
    this.closed = false
    /** This process may be about to write the log: nothing is read. */
    this.isStopped = false
    /** Called when no poll is in progress. @type {(() => void) | null} */
    this.onstopped = null
    /** Whether a reader waits for more. */
    this.isHeld = false
    /** Up to here this process was told that its own appends are acknowledged. */
    this.told = 0
    /** Whether `onfresh` was told that blocks have less. */
    this.wasFresh = true
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
    this.watch = file.watch === null || this.options.isClient ? null : file.watch(() => this.poll())
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

  /** Where the log ends, as far as this process knows. */
  get end () {
    return Math.max(this.blocks.end, this.told)
  }

  /** Whether blocks have what was acknowledged to this process. */
  get isFresh () {
    return this.blocks.end >= this.told
  }

  /**
   * What this process has appended is acknowledged. The file says so, too: it is read when a reader wants to read it.
   * @param {number} end of the last record
   * @param {number} lastSeq its seq
   */
  tell (end, lastSeq) {
    if (end <= this.told) return
    this.told = end
    this.lastSeq = Math.max(this.lastSeq, lastSeq)
    this.updateFresh()
    if (!this.isFresh && this.isHeld) this.poll()
  }

  updateFresh () {
    const { isFresh } = this
    if (isFresh === this.wasFresh) return
    this.wasFresh = isFresh
    this.options.onfresh?.()
  }

  /** @param {boolean} isHeld whether a reader waits for more */
  hold (isHeld) {
    this.isHeld = isHeld
    if (isHeld) this.watch?.hold()
    else this.watch?.release()
    if (isHeld && (!this.isFresh || this.retryTimer !== null)) this.poll()
  }

  /** @param {(err: Error | null) => void} cb called at once, unless blocks lack what was acknowledged to this process, or the log was trimmed
   *   further than it was read: it would seem empty */
  whenFresh (cb) {
    if (this.isFresh && !this.blocks.isOvertaken) cb(null)
    else this.catchUp(cb)
  }

  /** @param {(err: Error | null) => void} cb called when everything is shown that the writer has published by now */
  catchUp (cb) {
    if (this.closed) return cb(null)
    this.waiting.push(cb)
    this.poll()
  }

  /** Shows what was acknowledged since the last poll; one at a time, once for everybody who asks for it in this tick. */
  poll () {
    if (this.closed) return
    this.again = true
    if (this.running || this.isStopped) return
    this.running = true
    process.nextTick(() => this.pollUntilQuiet().catch(err => this.failed(err)))
  }

  /**
   * The owner of a shared log says that it has changed.
   * @param {boolean} isUrgent false: there is only more in it
   */
  pollSoon (isUrgent) {
    if (isUrgent || this.isHeld) this.poll()
    else if (!this.closed) this.pollIn(IDLE_DELAY)
  }

  /** @param {any} err why a poll has failed */
  failed (err) {
    this.pollEnded()
    if (this.closed) return
    callAll(this.waiting.splice(0), err)
    const mayPass = this.options.isClient && !String(err.code).startsWith('flumelog:')
    if (mayPass) return this.pollIn(FAILURE_DELAY)
    this.close()
    process.nextTick(this.options.onfailure, err)
  }

  /** @param {number} delay milliseconds */
  pollIn (delay) {
    this.retryTimer ??= this.clock.setTimeout(() => {
      this.retryTimer = null
      this.poll()
    }, delay)
    if (!this.isHeld && this.waiting.length === 0) this.retryTimer.unref()
  }

  async pollUntilQuiet () {
    while (this.again && !this.closed && !this.isStopped) {
      this.again = this.isDisturbed = false
      const { end } = this.blocks
      const { length } = this.waiting
      await this.advance()
      this.updateFresh()
      if (this.blocks.end !== end && !this.closed) process.nextTick(this.options.onadvance, this.lastSeq)
      // not when it is quiet: a writer may go on and on
      if (!this.isDisturbed && !this.isStopped && !(this.blocks.isOvertaken && (this.again || this.retryTimer !== null))) callAll(this.waiting.splice(0, length), null)
    }
    this.pollEnded()
  }

  pollEnded () {
    this.running = false
    this.onstopped?.()
  }

  async advance () {
    const { blocks, io, file } = this
    if (await this.showTold()) return
    // before the size, which then includes everything that a live writer has acknowledged
    let point = await this.point.readGrown(blocks.end)
    if (point === null) {
      await io.checkPath().catch(err => this.replaced(err))
      point = await this.point.read()
    }
    const acknowledged = this.acknowledged(point, blocks.end)
    // the point may be that of the file to which a compaction is about to move the log: then it is far behind this one
    const isInTail = acknowledged !== null && acknowledged < (blocks.tail.number + 1) * blocks.blockSize
    const size = isInTail ? Math.max(acknowledged, blocks.end) : await io.size()
    const bounds = boundsOf(point, acknowledged, size, blocks.blockSize, this.found)
    if (size < blocks.end) throw errors.shrunk(file.filename, blocks.end, size)
    if (bounds.limit < blocks.end) throw this.changed(bounds.limit)
    try {
      while (!this.closed && !this.isStopped && await this.readTail(point, bounds));
    } catch (err) {
      // a writer has truncated the file since its size was read
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      this.again = this.isDisturbed = true
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
    const { blocks, told, point } = this
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
    else this.again = this.isDisturbed = true
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
      this.pollIn(RETRY_DELAY)
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
    this.told = 0
    this.corruptReads = 0
    this.point = blocks.followedPoint = new FollowedPoint(io, blocks, point, map.id, () => this.pointReplaced())
    if (this.point.current !== null) this.point.patch(point, own, blocks.blockSize)
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

  // While this process becomes the writer

  /** @returns {Promise<void>} resolves when the file is not being read any more; readers that wait go on waiting */
  async stop () {
    this.isStopped = true
    if (this.running) await new Promise(resolve => { this.onstopped = () => resolve(null) })
    this.onstopped = null
  }

  /** It has not become the writer. */
  resume () {
    this.isStopped = false
    this.poll()
  }

  /** It is the writer: blocks have everything. */
  release () {
    this.finish(null)
  }

  close () {
    this.finish(errors.closed(this.file.filename))
  }

  /** @param {Error | null} err for those that wait */
  finish (err) {
    this.closed = true
    if (this.retryTimer !== null) this.clock.clearTimeout(this.retryTimer)
    this.watch?.stop()
    callAll(this.waiting.splice(0), err)
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

module.exports = { Follower }
