'use strict'

// Makes written data durable: decides when to fsync, and what an fsync covers. An fsync
// covers exactly what had been written when it was called, and of that only what no
// failed write has rolled back since.

const errors = require('../errors')
const { SingleTimer } = require('../clock')

/**
 * @typedef {(err?: Error | null) => void} Done
 *
 * @typedef {object} DurabilityOptions
 * @property {'always' | 'interval' | 'never'} sync
 * @property {number} syncInterval in milliseconds
 * @property {number} syncBytes
 */

class Durability {
  /**
   * @param {import('./writer').Writer} writer
   * @param {DurabilityOptions} options
   */
  constructor (writer, options) {
    this.writer = writer
    this.file = writer.file
    this.options = options
    /** Up to this offset everything is durable. */
    this.synced = writer.written
    /** The same, and all that was acknowledged together with it: a log that a power cut shortens ends here, or after it. */
    this.recoveryPoint = writer.written
    /** What it is when the fsync in progress succeeds. */
    this.nextRecoveryPoint = writer.written
    this.isSyncing = false
    /** Up to which offset the fsync in progress makes the file durable. */
    this.covers = 0
    /** Number of the fsync that was started last; the first is 1. */
    this.startedSync = 0
    /** Number of the last one that has succeeded. What was written before it started is durable. */
    this.lastSync = 0
    /** Operations of the writer that go on once `end` is synced. @type {Array<{ end: number, cb: Done }>} */
    this.waiting = []
    this.timer = new SingleTimer(writer.clock, () => { if (writer.written > this.synced) this.start() })
    /** Called when no fsync is in progress. @type {(() => void) | null} */
    this.onquiet = null
  }

  get acknowledged () {
    return this.writer.acknowledged
  }

  /** If all that is acknowledged is durable, the recovery point is its end. */
  noteSynced () {
    if (this.synced >= this.acknowledged) this.recoveryPoint = this.nextRecoveryPoint = this.acknowledged
  }

  /**
   * @param {number} written offset
   * @param {number} syncTo the offset after the last record whose caller asked for a sync
   * @returns {number} the offset up to which the file has to be synced before written data may be acknowledged
   */
  requiredSync (written, syncTo) {
    const { sync, syncBytes } = this.options
    if (sync === 'always' || syncTo > this.synced) return written
    return sync === 'interval' ? written - syncBytes : 0
  }

  /**
   * Calls back when everything before an offset that is written is durable; at once if it is.
   * @param {number} end
   * @param {Done} cb
   */
  syncTo (end, cb) {
    if (this.writer.failure !== null) return cb(this.writer.failure)
    if (this.synced >= end) return cb(null)
    this.waiting.push({ end, cb })
    this.start()
  }

  /**
   * Makes the whole file durable, rewritten and truncated parts included.
   * @param {Done} cb
   */
  syncAll (cb) {
    if (this.writer.failure !== null) return cb(this.writer.failure)
    this.fsync((err) => {
      if (err) this.fail(err)
      cb(this.writer.failure)
    })
  }

  /** After data was acknowledged: starts an fsync if it is due, or the timer that will. */
  consider () {
    const { sync, syncBytes, syncInterval } = this.options
    const unsynced = this.writer.written - this.synced
    if (sync !== 'interval' || unsynced <= 0 || this.isSyncing || this.writer.failure !== null) return
    if (unsynced >= syncBytes / 2) this.start()
    else this.timer.start(syncInterval)
  }

  /** Starts an fsync, unless one is in progress; callers that wait for more than it covers get the next one. */
  start () {
    if (this.isSyncing || this.writer.failure !== null) return
    this.nextRecoveryPoint = this.acknowledged
    this.isSyncing = true
    this.covers = this.writer.written
    this.timer.stop()
    this.fsync((err) => {
      this.isSyncing = false
      if (err) this.fail(err)
      else this.advance()
      if (!this.isSyncing) this.tellQuiet()
    })
  }

  /** @param {() => void} cb called when no fsync is in progress; one caller at a time */
  whenQuiet (cb) {
    this.onquiet = cb
    if (!this.isSyncing) this.tellQuiet()
  }

  tellQuiet () {
    const { onquiet } = this
    this.onquiet = null
    if (onquiet !== null) onquiet()
  }

  /** An fsync has succeeded. */
  advance () {
    this.synced = Math.max(this.synced, this.covers)
    this.recoveryPoint = this.nextRecoveryPoint
    this.proceed()
    this.writer.onsynced()
    if (this.waiting.length > 0) this.start()
  }

  /** Resumes the operations that waited for an offset that is synced now. */
  proceed () {
    const done = this.waiting.filter(({ end }) => end <= this.synced)
    if (done.length === 0) return
    this.waiting = this.waiting.filter(({ end }) => end > this.synced)
    for (const { cb } of done) cb(null)
  }

  /**
   * A failed write is rolled back: an fsync in progress does not cover what will be written in its place.
   * @param {number} end
   */
  rollBack (end) {
    this.synced = Math.min(this.synced, end)
    this.covers = Math.min(this.covers, end)
  }

  /**
   * Another file has taken the log's place, all of which is durable.
   * @param {number} end of it
   */
  moveTo (end) {
    this.synced = this.covers = this.recoveryPoint = this.nextRecoveryPoint = end
    this.timer.stop()
  }

  /**
   * @param {Done} cb
   */
  fsync (cb) {
    const { file, writer } = this
    const number = ++this.startedSync
    writer.counts.syncs++
    file.sync((err) => {
      if (err) return cb(errors.failed(file.filename, err))
      this.lastSync = Math.max(this.lastSync, number)
      // data in an unlinked file is lost with the process
      this.checkPath(cb)
    })
  }

  /** @param {Done} cb */
  checkPath (cb) {
    const { file } = this
    // an error of the system would say that nothing was stored
    file.checkPath(err => cb(err && /** @type {any} */ (err).code !== 'flumelog:replaced' ? errors.failed(file.filename, err, 'the check of its path') : err))
  }

  /**
   * For what is made durable elsewhere: fails as an fsync would if the log's file is not in its place.
   * @param {Done} cb
   */
  confirmPath (cb) {
    if (this.writer.failure !== null) return cb(this.writer.failure)
    this.checkPath((err) => {
      if (err) this.fail(err)
      cb(this.writer.failure)
    })
  }

  /** @param {Error} failure */
  fail (failure) {
    if (this.writer.failure !== null) return
    this.timer.stop()
    const waiting = this.waiting.splice(0)
    // first, so that the operations that end now find a writer that has failed
    this.writer.fail(failure)
    for (const { cb } of waiting) cb(failure)
  }
}

module.exports = { Durability }
