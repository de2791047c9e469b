'use strict'

// The `id` of the log: one that was shown stays, or the next one has a map that leads from it to there. So who has stored it with an
// offset finds the record, unless two compactions have ended since.

class Generation {
  /** @param {(problem: string) => void} problem */
  constructor (problem) {
    this.problem = problem
    /** The one that was shown last. @type {string | null} */
    this.id = null
    /** From which its map leads. @type {string | undefined} */
    this.previous = undefined
    /** Compactions that were started, and that may end. */
    this.started = this.running = 0
    /** Compactions that may have ended since it was shown. */
    this.since = 0
  }

  /**
   * @param {boolean} isByClient of a shared log: it asks again if its connection to the owner ends, so the log may be compacted twice
   * @returns {() => void} to be called when it has ended
   */
  startCompaction (isByClient) {
    const most = isByClient ? 2 : 1
    this.started += most
    this.running += most
    this.since += most
    return () => { this.running = Math.max(0, this.running - most) }
  }

  /** Of those that were started, so many have ended for certain. */
  get over () {
    return this.started - this.running
  }

  /**
   * @param {string} id that a process shows
   * @returns {number} compactions that may have ended since
   */
  missedBy (id) {
    if (id === this.id) return this.since
    return id === this.previous ? this.since + 1 : Infinity
  }

  powerCut () {
    this.running = 0
  }

  /**
   * @param {string} id of the log, as its owner shows it
   * @param {string | undefined} previous from which its map leads
   * @param {string} who shows it
   */
  shown (id, previous, who) {
    const isNext = this.since > 0 && previous === this.id
    if (this.id !== null && id !== this.id && !isNext && this.since < 2) this.problem(`${who}: the id ${this.id} became ${id}, and the map leads there from ${previous}`)
    // the map may be ahead of the log for a moment
    if (this.id === id && this.previous !== previous && previous !== id) this.problem(`${who}: the map of ${id} led there from ${this.previous}, and leads there from ${previous}`)
    if (previous !== id) this.previous = previous
    this.id = id
    this.since = this.running
  }
}

module.exports = { Generation }
