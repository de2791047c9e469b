'use strict'

// How far a scan is, told to its reader.

/** Milliseconds between two reports. */
const INTERVAL = 100

/** Tells how far a scan is, at most ten times per second. */
class ScanProgress {
  /**
   * @param {import('./events').EventStream} events
   * @param {{ from: number, to: number }} range where the scan starts and ends
   */
  constructor (events, { from, to }) {
    this.events = events
    this.from = from
    this.to = to
    this.sentAt = 0
  }

  /**
   * @param {number} at offset
   * @param {object} [more]
   */
  async tell (at, more = {}) {
    const now = Date.now()
    if (now - this.sentAt < INTERVAL) return
    this.sentAt = now
    await this.events.send('progress', { at, done: this.done(at), ...more })
  }

  /** @param {number} at */
  done (at) {
    const { from, to } = this
    return from === to ? 1 : Math.min(1, Math.max(0, (at - from) / (to - from)))
  }
}

module.exports = { ScanProgress }
