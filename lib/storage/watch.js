'use strict'

// Notices that a log or its recovery point has changed, or that another file has taken
// the log's name. Watches these two files, not their directory: changes of other files in it
// cost nothing.

const fs = require('fs')

/** Milliseconds between two polls, where the system does not report changes. */
const POLL_INTERVAL = 50
/** Bun drops an event that comes up to 2 ms after one of the same kind, even if it is the last one. */
const DROPS_EVENTS = process.versions.bun !== undefined
/** Deno begins to watch a file a moment after it was asked to, so that it may miss the last change of all. */
const MISSES_EVENTS = process.versions.deno !== undefined
/** Milliseconds after an event by which all events that may be dropped because of it have come. */
const DROP_TIME = 5

/**
 * @typedef {object} Watch between hold and release, watching keeps the process alive
 * @property {() => void} hold
 * @property {() => void} release
 * @property {() => void} pointReplaced the recovery point was replaced or removed: watches the current one, if
 *   there is one. What was published to it before this call is not reported
 * @property {() => void} logReplaced the same for the log
 * @property {() => void} stop
 */

class FileWatch {
  /**
   * @param {string} filename the log's
   * @param {string} pointName its recovery point's
   * @param {() => void} onchange
   * @param {import('../clock').Clock} clock
   */
  constructor (filename, pointName, onchange, clock) {
    this.filename = filename
    this.pointName = pointName
    this.onchange = onchange
    this.clock = clock
    this.isHeld = false
    this.stopped = false
    /** Whether the system reports changes, all of them. */
    this.hasEvents = !MISSES_EVENTS
    /** @type {import('../clock').Timer | null} */
    this.timer = null
    /** @type {import('../clock').Timer | null} */
    this.dropTimer = null
    /** @type {fs.FSWatcher | null} */
    this.pointWatcher = null
    this.poll = this.poll.bind(this)
    this.logWatcher = this.watch(filename)
    this.pointReplaced()
    this.startTimer()
  }

  /**
   * @param {string} name
   * @returns {fs.FSWatcher | null}
   */
  watch (name) {
    try {
      const watcher = fs.watch(name, { persistent: false }, () => this.onevent())
      watcher.on('error', () => this.withoutEvents())
      return watcher
    } catch (err) {
      // without a recovery point the log tells: its writer has one before it writes
      const isMissing = /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' && name === this.pointName
      if (!isMissing) this.withoutEvents()
      return null
    }
  }

  onevent () {
    this.onchange()
    if (!DROPS_EVENTS || this.stopped) return
    if (this.dropTimer !== null) this.clock.clearTimeout(this.dropTimer)
    this.dropTimer = this.clock.setTimeout(() => {
      this.dropTimer = null
      this.onchange()
    }, DROP_TIME)
    this.dropTimer.unref()
  }

  /** Another file has the log's name. */
  logReplaced () {
    this.logWatcher?.close()
    this.logWatcher = this.stopped ? null : this.watch(this.filename)
    this.pointReplaced()
  }

  withoutEvents () {
    this.hasEvents = false
    this.startTimer()
  }

  pointReplaced () {
    this.pointWatcher?.close()
    this.pointWatcher = this.stopped ? null : this.watch(this.pointName)
  }

  /** Polls while a caller waits for changes, since events can be missed; and always where there are none. */
  startTimer () {
    if (this.timer !== null || this.stopped || !(this.isHeld || !this.hasEvents)) return
    this.timer = this.clock.setTimeout(this.poll, POLL_INTERVAL)
    if (!this.isHeld) this.timer.unref()
  }

  stopTimer () {
    if (this.timer !== null) this.clock.clearTimeout(this.timer)
    this.timer = null
  }

  poll () {
    this.timer = null
    this.startTimer()
    this.onchange()
  }

  hold () {
    if (this.isHeld) return
    this.isHeld = true
    this.stopTimer()
    this.startTimer()
  }

  release () {
    if (!this.isHeld) return
    this.isHeld = false
    this.stopTimer()
    this.startTimer()
  }

  stop () {
    this.stopped = true
    this.stopTimer()
    if (this.dropTimer !== null) this.clock.clearTimeout(this.dropTimer)
    this.logWatcher?.close()
    this.pointWatcher?.close()
  }
}

/**
 * @param {string} filename the log's
 * @param {string} pointName its recovery point's
 * @param {() => void} onchange
 * @param {import('../clock').Clock} clock
 * @returns {Watch}
 */
function watch (filename, pointName, onchange, clock) {
  return new FileWatch(filename, pointName, onchange, clock)
}

module.exports = { watch }
