'use strict'

// The machine's clock, which a test can set forward: timers whose time has come then run. It can
// also be stopped: then time passes only when the test says so.

const { systemClock } = require('../../lib/clock')

class ShiftedClock {
  constructor () {
    this.shift = 0
    /** { run, due, handle } */
    this.timers = new Set()
    /** @type {number | null} */
    this.stoppedAt = null
    this.now = () => (this.stoppedAt ?? systemClock.now()) + this.shift
    this.date = () => systemClock.date() + this.shift
    this.setImmediate = systemClock.setImmediate
    this.schedstat = systemClock.schedstat
    this.bytesFetched = systemClock.bytesFetched
  }

  /**
   * @param {() => void} run
   * @param {number} milliseconds
   */
  setTimeout (run, milliseconds) {
    const timer = { run: () => this.fire(timer, run), due: this.now() + milliseconds, handle: null, unref: () => timer.handle?.unref(), ref: () => timer.handle?.ref() }
    if (this.stoppedAt === null) timer.handle = setTimeout(timer.run, milliseconds)
    this.timers.add(timer)
    return timer
  }

  stop () {
    this.stoppedAt = systemClock.now()
    for (const { handle } of this.timers) clearTimeout(handle)
  }

  clearTimeout (timer) {
    clearTimeout(timer?.handle)
    this.timers.delete(timer)
  }

  fire (timer, run) {
    this.clearTimeout(timer)
    run()
  }

  /** @param {number} milliseconds */
  advance (milliseconds) {
    this.shift += milliseconds
    const due = [...this.timers].filter(timer => timer.due <= this.now()).sort((a, b) => a.due - b.due)
    for (const timer of due) if (this.timers.has(timer)) timer.run()
  }
}

module.exports = { ShiftedClock }
