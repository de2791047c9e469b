'use strict'

// Follows a log that another process writes, and shows readers what that process has acknowledged: all of it is in the
// file and in FILE.meta. When to poll them, a read-only log is told by the file system, and the client of a shared log by
// the owner: a message that is late, repeated or lost changes when something is seen, never what.

const errors = require('../errors')
const { SingleTimer, systemClock } = require('../clock')
const { callAll } = require('../callbacks')
const { generationOf } = require('../recovery/recovery-point')
const { FollowedLog } = require('./followed-log')

/** Milliseconds after which a poll that has failed, for want of file descriptors for example, is repeated. */
const FAILURE_DELAY = 50
/** Milliseconds within which a poll shows what has changed, if nobody waits for it. */
const IDLE_DELAY = 10

/**
 * @typedef {import('./followed-log').FollowedEnd} FollowedEnd
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
 * @property {(follower: Follower, replaced: Error) => Promise<void>} [followCompaction] goes on in the file that has taken the log's place, or
 *   throws `replaced`; missing: always throw it
 * @property {boolean} [isClient] whether this process may also write the log: it is told when to poll, and goes on if a poll fails that may
 *   succeed later. Default: false
 * @property {(data: Buffer) => boolean} isWhole whether a record's data seems to be as it was appended
 * @property {import('../clock').Clock} [clock]
 */

class Follower {
  /**
   * @param {import('../storage/path-file').LogFile} file
   * @param {import('./block-cache').BlockCache} blocks
   * @param {Listeners & FollowerOptions} options
   */
  constructor (file, blocks, options) {
    this.file = file
    this.io = file.io
    this.blocks = blocks
    this.options = options
    this.log = new FollowedLog(this)
    this.retryTimer = new SingleTimer(options.clock ?? systemClock, () => this.poll())
    this.running = false
    this.again = false
    this.closed = false
    /** Why nothing more can be shown. @type {Error | null} */
    this.failure = null
    /** This process may be about to write the log: nothing is read. */
    this.isStopped = false
    /** Called when no poll is in progress. @type {Array<() => void>} */
    this.stopping = []
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
    /** @type {import('../storage/watch').FileWatch | null} */
    this.watch = null
  }

  /**
   * Watches the file from now on.
   * @param {FollowedEnd} end where the log ended when it was opened
   */
  async begin (end) {
    const { blocks, file, io } = this
    blocks.open(this.log.tailOf(end.found), end.found.start, generationOf(end.own?.metadata))
    blocks.follower = this
    this.running = true
    this.watch = this.options.isClient ? null : file.watch(() => this.poll())
    this.log.override(end.point)
    this.log.show(end, blocks.tail)
    // FILE.meta may have been that of another file already
    await io.checkPath()
    await this.advance()
    this.running = false
    if (this.again) this.poll()
  }

  /** The last record's, -1 if there is none. */
  get lastSeq () {
    return this.log.lastSeq
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
    this.log.lastSeq = Math.max(this.lastSeq, lastSeq)
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
    this.watch?.hold(isHeld)
    const isDue = this.retryTimer.isRunning
    // now, or it would go on keeping the process alive, or not
    this.retryTimer.stop()
    if (isDue || (isHeld && !this.isFresh)) this.poll()
  }

  /**
   * @param {(err: Error | null) => void} cb called at once, unless blocks lack what was acknowledged to this process
   * @param {number} [seq] of a record that may have been acknowledged to another process
   */
  whenFresh (cb, seq = -1) {
    if (this.isFresh && seq < this.blocks.end) cb(null)
    else this.catchUp(cb)
  }

  /** @param {(err: Error | null) => void} cb called when everything is shown that the writer has published by now */
  catchUp (cb) {
    if (this.closed) return cb(this.failure)
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

  /** The owner of a shared log says that it has changed. */
  pollSoon () {
    if (this.isHeld) this.poll()
    else if (!this.closed) this.pollIn(IDLE_DELAY)
  }

  /** @param {any} err why a poll has failed */
  failed (err) {
    this.pollEnded()
    if (this.closed) return
    callAll(this.waiting.splice(0), err)
    const mayPass = this.options.isClient && !String(err.code).startsWith('flumelog:')
    if (mayPass) return this.pollIn(FAILURE_DELAY)
    this.failure = err
    this.close()
    process.nextTick(this.options.onfailure, err)
  }

  /** @param {number} delay milliseconds */
  pollIn (delay) {
    this.retryTimer.start(delay, this.isHeld || this.waiting.length > 0)
  }

  async pollUntilQuiet () {
    while (this.again && !this.isOver) {
      this.again = this.isDisturbed = false
      const { end } = this.blocks
      const { length } = this.waiting
      await this.advance()
      this.updateFresh()
      if (this.blocks.end !== end && !this.closed) process.nextTick(this.options.onadvance, this.lastSeq)
      // not when it is quiet: a writer may go on and on
      if (!this.isDisturbed && !this.isStopped) callAll(this.waiting.splice(0, length), null)
    }
    this.pollEnded()
  }

  /** The writer has changed something while it was read. */
  repeat () {
    this.again = this.isDisturbed = true
  }

  pollEnded () {
    this.running = false
    callAll(this.stopping.splice(0), null)
  }

  async advance () {
    if (await this.log.grow()) return
    await this.io.checkPath().catch(err => this.replaced(err))
    if (!await this.log.isUpToDate()) await this.log.reopen()
  }

  /**
   * For blocks that were read when the log had a state.
   * @param {string} state
   * @param {(err: Error | null, isSame: boolean) => void} cb whether it has that still, so that nothing was rewritten in between; otherwise, called when
   *   the change is known. err: it cannot be known
   */
  compare (state, cb) {
    const { blocks, log } = this
    const answer = (/** @type {Error | null} */ err, /** @type {boolean} */ isSame) => process.nextTick(() => {
      // not if this process writes the log by now, or has closed it
      const isOver = blocks.follower !== this || blocks.closed
      cb(isOver ? null : err, isSame && !isOver)
    })
    if (log.state !== state) return answer(null, false)
    log.isUnchanged(state).then((isUnchanged) => {
      if (isUnchanged || log.state !== state) answer(null, log.state === state)
      else this.catchUp((err) => answer(err, false))
    }, (err) => answer(err, false))
  }

  /** FILE.meta is another file now, or is gone. */
  metadataReplaced () {
    this.watch?.metadataReplaced()
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
   * @param {FollowedEnd} end where it ends
   * @param {import('../space/offset-map').OffsetMap} map
   */
  moveTo (end, map) {
    this.told = 0
    this.log.moveTo(end)
    this.watch?.logReplaced()
    this.options.onmoved?.(map, this.lastSeq)
  }

  /** Nothing is shown any more. */
  get isOver () {
    return this.closed || this.isStopped
  }

  // While this process becomes the writer

  /** @returns {Promise<void>} resolves when the file is not being read any more; readers that wait go on waiting */
  async stop () {
    this.isStopped = true
    if (this.running) await new Promise(resolve => this.stopping.push(() => resolve(null)))
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
    this.retryTimer.stop()
    this.watch?.stop()
    callAll(this.waiting.splice(0), err)
  }
}

module.exports = { Follower }
