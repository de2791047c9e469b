'use strict'

// Keeps the recovery point beside the file true: it is there before the file is changed,
// moves up as data becomes durable, holds what a deletion is about to write, and tells
// readers in other processes what has been acknowledged.

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('../storage/recovery-point').Rewrite} Rewrite
 */

class RecoveryPointKeeper {
  /**
   * @param {import('../storage/recovery-point').PointFile | null} point null: the storage has none
   * @param {import('../clock').Clock} clock
   * @param {{ readonly safeEnd: number, readonly acknowledged: number, readonly counted: import('../recovery/count-records').CountMark }} progress
   *   offsets; `safeEnd`: up to here everything is durable and never rolled back
   */
  constructor (point, clock, progress) {
    this.point = point
    this.clock = clock
    this.progress = progress
    /** What the recovery point in the file says; -1: there is none. */
    this.offset = -1
    /** Deletions in progress, by the bytes that will be in the file. @type {Rewrite[]} */
    this.rewrites = []
    /** Whether the file still has a deletion that was undone: it must not be completed on a block that has grown since. */
    this.isOutdated = false
    this.isWriting = false
    /** Callbacks of calls to `write` that were made while one was in progress. @type {Done[]} */
    this.waiting = []
    /** Called when no write is in progress. @type {(() => void) | null} */
    this.onquiet = null
    this.isPublishing = false
    this.isStopped = false
    this.publishNow = this.publishNow.bind(this)
  }

  /** Whether it has to be written before the file is extended. */
  get mustBeWritten () {
    return this.point !== null && (this.offset === -1 || this.isOutdated)
  }

  /**
   * Writes it as things stand, one write at a time.
   * @param {Done} cb it is durable
   */
  write (cb) {
    if (this.point === null) return cb(null)
    if (this.isWriting) {
      this.waiting.push(cb)
      return
    }
    const { safeEnd, acknowledged, counted } = this.progress
    const { rewrites } = this
    this.isWriting = true
    this.point.write({ offset: safeEnd, rewrites, acknowledged, counted: counted.records === null ? undefined : { ...counted } }, (err) => {
      this.isWriting = false
      if (!err) this.offset = safeEnd
      if (!err && rewrites === this.rewrites) this.isOutdated = false
      // readers may have been told more meanwhile than the new one says
      this.publishSoon()
      const waiting = this.waiting.splice(0)
      cb(err)
      if (waiting.length > 0) this.write((err) => { for (const cb of waiting) cb(err) })
      else if (!this.isWriting) this.tellQuiet()
    })
  }

  /**
   * Moves it up, if that is worth it.
   * @param {number} step bytes
   */
  considerMove (step) {
    if (this.offset === -1 || this.isWriting || this.isStopped) return
    if (this.progress.safeEnd - this.offset < step) return
    // should it fail, the one that is there still holds
    this.write(() => {})
  }

  /** Tells readers in other processes what has been acknowledged; once per turn of the event loop. */
  publishSoon () {
    if (this.isPublishing || this.point === null || this.offset === -1) return
    this.isPublishing = true
    this.clock.setImmediate(this.publishNow)
  }

  publishNow () {
    this.isPublishing = false
    if (this.point !== null && !this.isStopped) this.point.publish(this.progress.acknowledged)
  }

  /** The file is about to be closed: nothing more is published, and it is not moved any more. */
  stop () {
    this.isStopped = true
  }

  /**
   * The file says by itself where the log ends.
   * @param {Done} cb
   */
  remove (cb) {
    const { point } = this
    if (point === null || this.offset === -1) cb(null)
    else point.remove(cb)
  }

  /**
   * @param {() => void} cb called when the recovery point is not being written; one caller at a time
   */
  whenQuiet (cb) {
    this.onquiet = cb
    if (!this.isWriting) this.tellQuiet()
  }

  tellQuiet () {
    const { onquiet } = this
    this.onquiet = null
    if (onquiet !== null) onquiet()
  }
}

module.exports = { RecoveryPointKeeper }
