'use strict'

// Waits for the next change of `since`, among the live streams that wait at the end of the log: so it keeps the process
// alive, and ends, as they do.

const errors = require('../errors')

/** @typedef {(err: Error | null, seq: number) => void} Changed */

class NextChange {
  /**
   * @param {{ filename: string, since: import('../types').Since, streams: import('./open-streams').OpenStreams }} log
   * @param {Changed} cb
   */
  constructor (log, cb) {
    this.log = log
    this.before = log.since.value
    /** null: it has been called, or is not to be. @type {Changed | null} */
    this.cb = cb
    this.resume = this.resume.bind(this)
  }

  start () {
    if (this.cb === null) return
    // the log was not open yet
    if (this.log.since.value !== this.before) return this.finish(null)
    this.log.streams.wait(this)
  }

  /** Readers see more; a follower may have advanced without finding a record. */
  resume () {
    if (this.log.since.value !== this.before) this.finish(null)
  }

  close () {
    this.finish(errors.closed(this.log.filename))
  }

  /** @param {Error | null} err */
  finish (err) {
    const { cb } = this
    this.cancel()
    if (cb !== null) cb(err, /** @type {number} */ (err ? undefined : this.log.since.value))
  }

  cancel () {
    this.cb = null
    this.log.streams.stopWaiting(this)
  }
}

module.exports = { NextChange }
