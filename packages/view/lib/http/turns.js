'use strict'

// Lets only some run at a time; others wait until it is their turn.

class Turns {
  /** @param {{ running: number, waiting: number }} limits how many may run, and how many may wait */
  constructor (limits) {
    this.limits = limits
    this.running = 0
    /** @type {Array<() => void>} */
    this.waiting = []
  }

  /**
   * @param {() => Promise<void>} work
   * @returns {Promise<boolean>} false: too many wait already. Rejects as the work does
   */
  async take (work) {
    if (this.running < this.limits.running) this.running++
    else if (this.waiting.length < this.limits.waiting) await new Promise(resolve => this.waiting.push(() => resolve(undefined)))
    else return false
    try {
      await work()
    } finally {
      // the next one has the place of this one
      const next = this.waiting.shift()
      if (next !== undefined) next()
      else this.running--
    }
    return true
  }
}

module.exports = { Turns }
