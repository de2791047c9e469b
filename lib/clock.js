'use strict'

// Time, as the log sees it. Passed in, so that a test can run a log on simulated time
// and repeat a run exactly from its seed.

const { performance } = require('perf_hooks')
const { bytesFetched, schedstat } = require('./schedstat')

/**
 * @typedef {object} Clock
 * @property {() => number} now milliseconds; never goes backward
 * @property {() => number} date milliseconds since 1970, as the system's clock has it
 * @property {(run: () => void, milliseconds: number) => Timer} setTimeout
 * @property {(timer: any) => void} clearTimeout
 * @property {(run: () => void) => unknown} setImmediate runs in the next turn of the event loop
 * @property {() => import('./schedstat').Schedstat | null} schedstat of this thread; null: unknown
 * @property {() => number | null} bytesFetched from devices by this thread; null: unknown
 *
 * @typedef {{ unref: () => unknown, ref: () => unknown }} Timer once unref'd, it does not keep the process alive
 */

/** The machine's own. Looked up at each call, so that a test which replaces a global is seen. @type {Clock} */
const systemClock = {
  now: () => performance.now(),
  date: () => Date.now(),
  setTimeout: (run, milliseconds) => setTimeout(run, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer),
  setImmediate: (run) => setImmediate(run),
  schedstat: () => schedstat(),
  bytesFetched: () => bytesFetched()
}

/** A timer that runs at most once at a time: starting it again meanwhile changes nothing. */
class SingleTimer {
  /**
   * @param {Clock} clock
   * @param {() => void} run
   */
  constructor (clock, run) {
    this.clock = clock
    this.run = run
    /** @type {Timer | null} */
    this.timer = null
  }

  get isRunning () {
    return this.timer !== null
  }

  /**
   * @param {number} milliseconds
   * @param {boolean} [keepsAlive] the process
   */
  start (milliseconds, keepsAlive = false) {
    if (this.timer !== null) return
    this.timer = this.clock.setTimeout(() => {
      this.timer = null
      this.run()
    }, milliseconds)
    if (!keepsAlive) this.timer.unref()
  }

  stop () {
    if (this.timer !== null) this.clock.clearTimeout(this.timer)
    this.timer = null
  }
}

module.exports = { SingleTimer, systemClock }
