'use strict'

// Notices that a log or its FILE.meta has changed, or that another file has taken the
// log's name. Watches these two files, not their directory: changes of other files in it
// cost nothing.

const fs = require('fs')
const { SingleTimer } = require('../clock')

/** Milliseconds between two polls, where the system does not report changes. */
const POLL_INTERVAL = 50
/** Bun drops an event that comes up to 2 ms after one of the same kind, and Deno starts to watch late: the last change of all may be missed. */
const MISSES_EVENTS = process.versions.bun !== undefined || process.versions.deno !== undefined

class FileWatch {
  /**
   * @param {string} filename the log's
   * @param {string} metadataName that of its FILE.meta
   * @param {() => void} onchange
   * @param {import('../clock').Clock} clock
   */
  constructor (filename, metadataName, onchange, clock) {
    this.filename = filename
    this.metadataName = metadataName
    this.onchange = onchange
    this.isHeld = false
    this.stopped = false
    /** Whether the system reports changes, all of them. */
    this.hasEvents = !MISSES_EVENTS
    this.timer = new SingleTimer(clock, () => this.poll())
    /** @type {fs.FSWatcher | null} */
    this.metadataWatcher = null
    this.logWatcher = this.watch(filename)
    this.metadataReplaced()
    this.startTimer()
  }

  /**
   * @param {string} name
   * @returns {fs.FSWatcher | null}
   */
  watch (name) {
    try {
      const watcher = fs.watch(name, { persistent: false }, () => this.onchange())
      watcher.on('error', () => this.withoutEvents())
      return watcher
    } catch (err) {
      // until there is a FILE.meta, the log's events suffice: a writer creates it before it writes
      const isMissing = /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' && name === this.metadataName
      if (!isMissing) this.withoutEvents()
      return null
    }
  }

  /** Another file has the log's name. */
  logReplaced () {
    this.logWatcher?.close()
    this.logWatcher = this.stopped ? null : this.watch(this.filename)
    this.metadataReplaced()
  }

  withoutEvents () {
    this.hasEvents = false
    this.startTimer()
  }

  /** FILE.meta was replaced or removed: watches the current one, if there is one. What was published to it before this call is not reported. */
  metadataReplaced () {
    this.metadataWatcher?.close()
    this.metadataWatcher = this.stopped ? null : this.watch(this.metadataName)
  }

  /** Polls while a caller waits for changes, since events can be missed; and always where there are none. */
  startTimer () {
    if (!this.stopped && (this.isHeld || !this.hasEvents)) this.timer.start(POLL_INTERVAL, this.isHeld)
  }

  poll () {
    this.startTimer()
    this.onchange()
  }

  /** @param {boolean} isHeld whether a caller waits for changes: watching keeps the process alive */
  hold (isHeld) {
    if (isHeld === this.isHeld) return
    this.isHeld = isHeld
    this.timer.stop()
    this.startTimer()
  }

  stop () {
    this.stopped = true
    this.timer.stop()
    this.logWatcher?.close()
    this.metadataWatcher?.close()
  }
}

module.exports = { FileWatch }
