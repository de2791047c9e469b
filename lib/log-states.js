'use strict'

// What a log is at a time, and what becomes of a call then. Each state has only what it
// needs:
//
//     state      a call                                           next
//     ---------  -----------------------------------------------  -------------------------------
//     Opening    waits until the log is open                      Open; Refusing (cannot be opened)
//     Open       is made; while calls from before are made, it    Refusing (closing, or what a
//                waits behind them                                follower had read was changed)
//     Refusing   gets an error                                    Refusing (closing, closed)
//
// An append does not wait: the appender of the state takes it.

const { callAll } = require('./callbacks')

/** @typedef {(err: Error | null) => void} Call */

class Opening {
  /** @param {import('./write/appender').Appender | null} appender takes appends; null: the log is read-only */
  constructor (appender) {
    /** @type {Call[]} */
    this.calls = []
    /** There is nothing yet. @type {import('./opening').Opened | null} */
    this.opened = null
    this.appender = appender
    this.reader = null
    /** Where the log ends, as far as is known. @type {number | null} */
    this.end = null
  }

  /** @param {Call} call */
  whenOpen (call) {
    this.calls.push(call)
  }

  update () {}
}

class Open {
  /**
   * @param {import('./opening').Opened} opened
   * @param {Call[]} calls from before it was open, which `release` makes
   */
  constructor (opened, calls) {
    this.opened = opened
    /** @type {Call[] | null} */
    this.calls = calls
    /** Takes appends; null: the log is read-only. @type {import('./write/appender').Appender | null} */
    this.appender = opened.writer?.appender ?? null
    /** Reads single records; null: reads have to wait. @type {import('./read/get').RecordReader | null} */
    this.reader = null
  }

  /**
   * Makes the calls from before, in order, and those that come meanwhile behind them.
   * @param {() => Error | null} refusal why a call gets an error: one before it may have closed the log
   */
  release (refusal) {
    const calls = /** @type {Call[]} */ (this.calls)
    for (let i = 0; i < calls.length; i++) {
      // nothing is left that what the last one calls would have to wait for
      if (i === calls.length - 1) this.becomeDirect()
      callAll([calls[i]], refusal())
    }
    this.becomeDirect()
  }

  /** Calls are made at once from now on. */
  becomeDirect () {
    this.calls = null
    this.update()
  }

  /** What calls use may have changed: see `Sharing`. */
  update () {
    const { writer, follower, reader } = this.opened
    this.appender = writer?.appender ?? null
    this.reader = this.calls === null && (follower === null || follower.isFresh) ? reader : null
  }

  /** Where the log ends, as far as is known; null: calls from before are still being made. */
  get end () {
    const { blocks, follower } = this.opened
    return this.calls === null ? follower?.end ?? blocks.end : null
  }

  /** @param {Call} call */
  whenOpen (call) {
    if (this.calls !== null) this.calls.push(call)
    else call(null)
  }
}

class Refusing {
  /**
   * @param {Error} error
   * @param {import('./opening').Opened | null} opened what there is of the log, for its statistics
   */
  constructor (error, opened) {
    this.error = error
    this.opened = opened
    this.appender = null
    this.reader = null
    this.end = null
  }

  /** @param {Call} call */
  whenOpen (call) {
    process.nextTick(call, this.error)
  }

  update () {}
}

module.exports = { Opening, Open, Refusing }
