'use strict'

// A named position in a log that survives restarts. Commits are batched: those that are called while the file is being
// written share the next write, the last one wins, and all of them are answered in order.
//
// All seqs and positions in memory are those of the log as it is now: `move` maps them in the turn in which a compaction changes the log's id.
// So what awaits something looks at `id` afterwards, and repeats what it did with offsets if that has changed.

const errors = require('../errors')
const { SingleTimer } = require('../clock')
const { callAll, callBack, mustBeFunction, optional, promised, rethrowLater } = require('../callbacks')
const { format } = require('../format-value')
const { optionNames } = require('../option-names')
const { problemOf } = require('../read/get')
const { CursorFile } = require('./cursor-file')
const { CursorReader } = require('./cursor-reader')
const { tieOf } = require('./cursor-tie')
const { positionIn, seqIn } = require('./generation')

const checkCommitNames = optionNames('commit', ['sync', 'rewind'])

/**
 * @typedef {import('../types').Done} Done
 * @typedef {import('../types').CommitOptions} CommitOptions
 * @typedef {import('./cursor-text').Position} Position
 *
 * @typedef {object} Commit a call that waits
 * @property {number | null} seq null: only waits for the calls before it
 * @property {boolean} sync
 * @property {boolean} rewind
 * @property {Error | null} error
 * @property {Done | undefined} cb
 */

class NamedCursor {
  /**
   * @param {import('./named-cursors').NamedCursors} cursors of the log
   * @param {string} name
   * @param {string} filename
   * @param {Promise<unknown>} previous settled when an earlier one of this name is closed
   * @param {boolean} [mayCreate] false: if it was deleted, that is an error
   */
  constructor (cursors, name, filename, previous, mayCreate = true) {
    const { log } = cursors
    const { settings, file } = log
    this.cursors = cursors
    this.log = log
    this.name = name
    this.file = new CursorFile(filename, name, {
      given: log.filename + filename.slice(cursors.path.length),
      folder: file.location.folder,
      logStatus: file.status,
      isLocking: settings.lock !== false
    })
    this.isOpen = false
    /** What was stored last, where that is in the log now. @type {Position} */
    this.position = this.file.position
    /** What is being stored; null: nothing is. @type {Position | null} */
    this.next = null
    /** Calls of which positions are being stored. @type {Commit[]} */
    this.group = []
    /** Why it takes no commits. @type {Error | null} */
    this.refusal = null
    /** Calls that wait for each other, in order. @type {Commit[]} */
    this.commits = []
    this.isScheduled = false
    this.isRunning = false
    /** Whether what was written is to be made durable without a call. */
    this.isSyncDue = false
    /** Whether a compaction has moved the position since it was written. */
    this.isMoved = false
    this.timer = new SingleTimer(cursors.clock, () => {
      this.isSyncDue = true
      this.runSoon()
    })
    /** Callbacks of `close`; null: it was not called. @type {Done[] | null} */
    this.closing = null
    this.reader = new CursorReader(this)
    /** Resolves when it is open. */
    this.opening = this.open(previous, mayCreate)
    this.opening.catch(() => {})
  }

  // Opening

  /**
   * @param {Promise<unknown>} previous
   * @param {boolean} mayCreate
   */
  async open (previous, mayCreate) {
    try {
      await promised(cb => this.log.whenOpen(cb))
      await previous
      // one that is created starts where the log does now, of which a process that does not write it may not have heard
      const follower = this.log.state.opened?.follower ?? null
      if (follower !== null) await promised(cb => follower.catchUp(cb))
      await this.cursors.makeIdDurable()
      this.position = this.startOfLog()
      // from now on, `move` maps it: the log may be compacted twice before the file is durable
      await this.file.open(mayCreate ? this.position : null, async (position) => {
        await this.cursors.findMap(position.id)
        this.position = positionIn(position, this.cursors.id, this.cursors.map)
      })
      this.isMoved = this.position !== this.file.position
      this.isOpen = true
    } catch (err) {
      // it may be open, and locked
      await this.file.close().catch(() => {})
      this.refusal = /** @type {Error} */ (err)
      this.cursors.forget(this)
      for (const commit of this.commits) commit.error ??= this.refusal
      process.nextTick(() => this.answer(this.commits.splice(0)))
      throw err
    }
    this.runSoon()
  }

  /** @returns {Position} before all records that there are */
  startOfLog () {
    return { id: this.cursors.id, seq: -1, next: this.log.reading.blocks.start, tie: null }
  }

  /** @returns {number | undefined} undefined: it is not open yet */
  get seq () {
    return this.isOpen ? this.position.seq : undefined
  }

  /** @param {(err: Error | null, seq?: number) => void} cb called when it is open, or cannot be opened */
  onReady (cb) {
    mustBeFunction('the callback', cb)
    if (this.refusal !== null) process.nextTick(cb, this.refusal)
    else callBack(this.opening.then(() => this.seq), cb)
  }

  // Committing

  /**
   * @param {number} seq
   * @param {any} options
   * @param {any} [callback]
   */
  commit (seq, options, callback) {
    if (typeof options === 'function') {
      callback = options
      options = undefined
    }
    const cb = optional(callback)
    const refusal = this.refusal ?? this.log.refusal
    try {
      if (refusal !== null) throw refusal
      if (options !== undefined && options !== null) checkCommitNames(options)
      if (!Number.isSafeInteger(seq) || seq < -1) throw errors.invalid(`commit takes the seq of a record, or -1 for none; it is ${format(seq)}`)
      this.enqueue(seq, options ?? {}, cb)
    } catch (err) {
      const error = errors.thrown('an option', err)
      if (this.isRunning || this.commits.length > 0) this.enqueue(null, {}, cb, error)
      else if (cb !== undefined) process.nextTick(cb, error)
    }
  }

  /**
   * @param {number | null} seq
   * @param {CommitOptions} options
   * @param {Done | undefined} cb
   * @param {Error | null} [error]
   */
  enqueue (seq, { sync = false, rewind = false }, cb, error = null) {
    this.commits.push({ seq, sync: !!sync, rewind: !!rewind, error, cb })
    this.runSoon()
  }

  /** Once the caller's own code has run, so that what it commits in one turn is written once. */
  runSoon () {
    if (this.isScheduled || this.isRunning || !this.isOpen) return
    this.isScheduled = true
    process.nextTick(() => {
      this.isScheduled = false
      this.run()
    })
  }

  async run () {
    this.isRunning = true
    while (this.commits.length > 0 || this.isSyncDue || this.isMoved) {
      const group = this.group = this.commits.splice(0)
      await this.store(group)
      this.group = []
      this.answer(group)
    }
    this.isRunning = false
  }

  /**
   * The log is another file now. The next compaction may come before the file of the cursor says so.
   * @param {import('../space/offset-map').OffsetMap} map
   */
  move (map) {
    this.position = positionIn(this.position, map.id, map)
    if (this.next !== null) this.next = positionIn(this.next, map.id, map)
    for (const commit of [...this.group, ...this.commits]) commit.seq = seqIn(commit.seq, map)
    this.isMoved = true
    this.runSoon()
  }

  /** @param {Commit[]} group all but those with an error are stored, or the error is that of storing them */
  async store (group) {
    const { file, log: { settings: { sync, syncInterval } } } = this
    // a line from before a compaction must not be the durable one when the next compaction comes
    let mustSync = this.isSyncDue || this.isMoved || sync === 'always'
    this.isSyncDue = this.isMoved = false
    this.next = this.position
    let isCommitted = false
    try {
      for (const commit of group) {
        commit.error ??= await this.accept(commit)
        if (commit.error !== null) continue
        isCommitted ||= commit.seq !== null
        mustSync ||= commit.sync
      }
      if (this.next !== file.position) {
        // or it would be after the end of the log when a power cut takes the record
        await this.cursors.makeDurable(() => /** @type {Position} */ (this.next))
        await file.write(this.next)
        this.position = this.next
        if (isCommitted) this.reader.isChecked = true
      }
      if (mustSync) await file.sync()
    } catch (err) {
      for (const commit of group) commit.error ??= /** @type {Error} */ (err)
    }
    this.next = null
    if (file.isUnsynced && sync === 'interval') this.timer.start(syncInterval)
  }

  /**
   * Sets `next` to the position of a commit.
   * @param {Commit} commit
   * @returns {Promise<Error | null>}
   */
  async accept (commit) {
    const { cursors } = this
    try {
      for (;;) {
        const { id, map } = cursors
        const found = await this.find(map === null ? commit.seq : seqIn(commit.seq, map), commit.rewind).catch(err => err)
        if (id !== cursors.id) continue
        if (found instanceof Error) return found
        this.next = found
        return null
      }
    } catch (err) {
      return /** @type {Error} */ (err)
    }
  }

  /**
   * @param {number | null} seq
   * @param {boolean} mayRewind
   * @returns {Promise<Position>} rejects if no record starts there, or the position is after it
   */
  async find (seq, mayRewind) {
    const { cursors: { id }, log: { reading: { blocks } } } = this
    const current = /** @type {Position} */ (this.next)
    if (seq === -1 && mayRewind) return this.startOfLog()
    if (seq === null || seq === current.seq) return current
    if (seq < current.seq && !mayRewind) {
      throw errors.invalid(`${this.file.given}: the cursor '${this.name}' is at ${current.seq} already, after ${seq}; commit with rewind: true to go back`)
    }
    if (seq < blocks.start) return { id, seq, next: seq + 1, tie: null }
    // if another process writes the log, this one may not have read that far
    if (seq >= blocks.end) await new Promise(resolve => this.log.whenFresh(resolve, seq))
    const problem = problemOf(blocks, seq)
    if (problem !== null) throw problem
    return { id, seq, ...await tieOf(blocks, seq) }
  }

  /** @param {Commit[]} group */
  answer (group) {
    for (const { cb, error } of group) {
      try {
        if (cb !== undefined) cb(error)
      } catch (err) {
        rethrowLater(err)
      }
    }
  }

  // Closing

  /**
   * What was committed is made durable, and another process may hold the cursor.
   * @param {Done | null | undefined} callback
   * @param {boolean} [endsStreams] false: the log does, when they have been given all of it
   */
  close (callback, endsStreams = true) {
    const cb = optional(callback) ?? noop
    if (this.closing !== null) this.closing.push(cb)
    else if (this.refusal !== null) process.nextTick(cb, null)
    else {
      this.closing = [cb]
      this.enqueue(null, { sync: true }, (err) => this.finishClosing(err))
      this.refusal = errors.cursorClosed(this.file.given, this.name)
      if (endsStreams) this.reader.close()
    }
  }

  /** @param {Error | null} failure */
  async finishClosing (failure) {
    this.timer.stop()
    const err = await this.file.close().then(() => null, err => err)
    this.cursors.forget(this)
    const callbacks = /** @type {Done[]} */ (this.closing)
    this.closing = null
    // of a cursor that could not be opened, nothing is lost
    callAll(callbacks, this.isOpen ? failure ?? err : null)
    this.isOpen = false
  }
}

function noop () {}

module.exports = { NamedCursor }
