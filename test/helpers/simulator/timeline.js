'use strict'

// Simulated time: events in the order of their times, and the time of the one that runs. Nothing else moves the clock, so a run depends on
// its seed alone.

/** Milliseconds by which reading the clock moves it: a loop that waits for time to pass ends. */
const TICK = 0.001

/**
 * @typedef {object} Event
 * @property {number} at milliseconds
 * @property {number} order of two events at the same time, the one that was added first runs first
 * @property {() => void} run
 * @property {boolean} isCancelled
 */

class Timeline {
  constructor () {
    this.time = 0
    /** A binary heap, the next event first. @type {Event[]} */
    this.heap = []
    this.added = 0
    /** Events that have run. */
    this.events = 0
  }

  /** @returns {number} milliseconds since the start */
  now () {
    this.time += TICK
    return this.time
  }

  /**
   * @param {number} delay milliseconds
   * @param {() => void} run
   * @returns {Event}
   */
  add (delay, run) {
    return this.addAt(this.time + Math.max(0, delay), run)
  }

  /**
   * @param {number} at milliseconds since the start: of two events at the same time, the order is certain
   * @param {() => void} run
   * @returns {Event}
   */
  addAt (at, run) {
    const event = { at, order: this.added++, run, isCancelled: false }
    const { heap } = this
    let i = heap.push(event) - 1
    for (let parent; i > 0 && isBefore(event, heap[parent = (i - 1) >> 1]); i = parent) heap[i] = heap[parent]
    heap[i] = event
    return event
  }

  /** @param {Event} event that does not run any more */
  cancel (event) {
    event.isCancelled = true
  }

  /**
   * Runs the next event.
   * @param {number} end milliseconds since the start
   * @returns {boolean} false: there is none until then, and that is the time now
   */
  step (end) {
    for (;;) {
      const next = this.heap[0]
      if (next === undefined || next.at > end) {
        this.time = Math.max(this.time, end)
        return false
      }
      const event = /** @type {Event} */ (this.shift())
      if (event.isCancelled) continue
      this.time = Math.max(this.time, event.at)
      this.events++
      event.run()
      return true
    }
  }

  /** @returns {Event | undefined} */
  shift () {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    let i = 0
    for (let child; (child = 2 * i + 1) < heap.length; i = child) {
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++
      if (!isBefore(heap[child], last)) break
      heap[i] = heap[child]
    }
    heap[i] = last
    return first
  }
}

/**
 * @param {Event} a
 * @param {Event} b
 */
function isBefore (a, b) {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

module.exports = { Timeline }
