'use strict'

// Follows a log that another process writes, and shows readers what that process has acknowledged: all of it is in the
// file and in the recovery point beside it. When to look there, a read-only log is told by the file system, and the client
// of a shared log by the owner: what is told late, twice or not at all changes when something is seen, never what.

const errors = require('../errors')
const { systemClock } = require('../clock')
const { callAll } = require('../callbacks')
const { Block } = require('../format/block')
const { boundsOf } = require('./visible-tail')
const { FollowedTail } = require('./followed-tail')
const { FollowedPoint, acknowledgedBy } = require('./followed-point')

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
    this.id = options.id ?? null
    this.options = options
    this.clock = options.clock ?? systemClock
    this.point = new FollowedPoint(io, blocks, point, this.id, () => this.pointReplaced())
    this.tail = new FollowedTail(this, found.lastSeq)
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
    blocks.tail = damagedTail === null ? new Block(blocks.tail.number, Buffer.alloc(0), 0, false) : this.tail.corrupt(damagedTail)
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

  /** The last record's, -1 if there is none. */
  get lastSeq () {
    return this.tail.lastSeq
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
    this.tail.lastSeq = Math.max(this.lastSeq, lastSeq)
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

  /** The writer has changed something while it was read. */
  repeat () {
    this.again = this.isDisturbed = true
  }

  pollEnded () {
    this.running = false
    this.onstopped?.()
  }

  async advance () {
    const { blocks, io, file } = this
    if (await this.tail.showTold()) return
    // before the size, which then includes everything that a live writer has acknowledged
    let point = await this.point.readGrown(blocks.end)
    if (point === null) {
      await io.checkPath().catch(err => this.replaced(err))
      point = await this.point.read()
    }
    const acknowledged = acknowledgedBy(point, blocks.end)
    // the point may be that of the file to which a compaction is about to move the log: then it is far behind this one
    const isInTail = acknowledged !== null && acknowledged < (blocks.tail.number + 1) * blocks.blockSize
    const size = isInTail ? Math.max(acknowledged, blocks.end) : await io.size()
    const bounds = boundsOf(point, acknowledged, size, blocks.blockSize, this.found)
    if (size < blocks.end) throw errors.shrunk(file.filename, blocks.end, size)
    if (bounds.limit < blocks.end) throw this.tail.changed(bounds.limit)
    try {
      while (!this.closed && !this.isStopped && await this.tail.read(point, bounds));
    } catch (err) {
      // a writer has truncated the file since its size was read
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EPARTIALREAD') throw err
      this.repeat()
    }
    if (acknowledgedBy(this.point.current, blocks.end) !== acknowledged) this.again = true
  }

  /** The point is another file now, or is gone. */
  pointReplaced () {
    this.watch?.pointReplaced()
    // for what was published since it was read
    this.poll()
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
    this.tail.moveTo(found.lastSeq)
    this.told = 0
    this.point = blocks.followedPoint = new FollowedPoint(io, blocks, point, map.id, () => this.pointReplaced())
    if (this.point.current !== null) this.point.patch(point, own, blocks.blockSize)
    this.watch?.logReplaced()
    this.options.onmoved?.(map, found.lastSeq)
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

module.exports = { Follower }
