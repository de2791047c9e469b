'use strict'

// Notices that the owner of a log does not answer, while calls wait for it: it may be
// stopped, or busy with something else, and not be gone.

const { SingleTimer } = require('../clock')

/**
 * @typedef {object} Listeners
 * @property {() => void} onquiet it has said nothing for a while: asks it
 * @property {() => void} ontimeout it has said nothing for the whole time, while calls waited
 */

class Silence {
  /**
   * @param {import('../clock').Clock} clock
   * @param {number} timeout in milliseconds
   * @param {Listeners} listeners
   */
  constructor (clock, timeout, listeners) {
    this.clock = clock
    this.pause = timeout / 4
    this.timeout = timeout
    this.listeners = listeners
    /** When the owner has said something last, or nothing could be heard yet. */
    this.heardAt = 0
    this.expectedAt = 0
    this.timer = new SingleTimer(clock, () => this.check())
  }

  /** The owner has said something; or its connection is gone, and there must be time for another one. */
  heard () {
    this.heardAt = this.clock.now()
  }

  /** @param {boolean} isWaiting whether calls wait for the owner */
  watch (isWaiting) {
    if (isWaiting === this.timer.isRunning) return
    if (!isWaiting) return this.timer.stop()
    this.heard()
    this.start()
  }

  start () {
    this.expectedAt = this.clock.now() + this.pause
    this.timer.start(this.pause, true)
  }

  check () {
    const now = this.clock.now()
    const late = now - this.expectedAt
    // this process itself was stopped or busy, which is no silence of the owner
    if (late > this.pause) this.heardAt = Math.min(now, this.heardAt + late)
    this.start()
    // what the owner has said meanwhile is read first
    this.clock.setImmediate(() => this.decide())
  }

  decide () {
    if (!this.timer.isRunning) return
    if (this.clock.now() - this.heardAt < this.timeout) return this.listeners.onquiet()
    this.heard()
    this.listeners.ontimeout()
  }
}

module.exports = { Silence }
