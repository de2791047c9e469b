'use strict'

// Notices that the owner of a log does not answer, while calls wait for it: it may be
// stopped, or busy with something else, and not be gone.

/**
 * @typedef {object} Listeners
 * @property {() => number} heardAt when the owner has said something last, in ms
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
    this.timeout = timeout
    this.listeners = listeners
    /** Silence counts from here on, or from what the owner has said later. */
    this.since = 0
    this.expectedAt = 0
    /** @type {import('../clock').Timer | null} */
    this.timer = null
    this.look = this.look.bind(this)
  }

  /** @param {boolean} isWaiting whether calls wait for the owner */
  watch (isWaiting) {
    if (isWaiting === (this.timer !== null)) return
    if (isWaiting) {
      this.since = this.clock.now()
      this.start()
    } else {
      this.clock.clearTimeout(this.timer)
      this.timer = null
    }
  }

  /** The connection is gone: until another one is there nothing can be heard. */
  noteLoss () {
    this.since = this.clock.now()
  }

  start () {
    const pause = this.timeout / 4
    this.expectedAt = this.clock.now() + pause
    this.timer = this.clock.setTimeout(this.look, pause)
  }

  look () {
    const now = this.clock.now()
    // this process itself was stopped or busy: what the owner has said meanwhile has not been read yet
    if (now - this.expectedAt > this.timeout / 4) this.since = now
    const silence = now - Math.max(this.since, this.listeners.heardAt())
    this.start()
    if (silence < this.timeout) return this.listeners.onquiet()
    this.since = now
    this.listeners.ontimeout()
  }
}

module.exports = { Silence }
