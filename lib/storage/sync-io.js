'use strict'

// Whether a small read or write is made by a call that blocks. What the system has in
// memory takes it some 5 µs, a trip to the thread pool and back 20 to 40; what it has to
// fetch from a device can take milliseconds, in which the program could do other things.
// Nobody can ask beforehand which it will be, so we watch how long the calls take.

const { performance } = require('perf_hooks')

/** Bytes that are read or written by one such call, at most. */
const MOST_BYTES = 64 * 1024
/** Milliseconds: what a call takes longer, it has waited for a device. */
const QUICK = 0.05
/** The share of its time that the program may wait for devices: past it, there are no such calls for a while. */
const SHARE_OF_TIME = 1 / 20
/** Milliseconds by which it may run over, since any call is slow once in a while. */
const CREDIT = 1
/** Milliseconds in such calls in one turn of the event loop, so that others come to their turn. */
const MOST_A_TURN = 1

class SyncIoBudget {
  /** @param {boolean} isWanted false: there are to be no such calls */
  constructor (isWanted) {
    this.isWanted = isWanted
    /** Until when the waiting that was done is paid off; all times are in milliseconds. */
    this.paidAt = 0
    /** in calls in this turn, and whether it is known when that ends */
    this.spent = 0
    this.isTurnCounted = false
    this.begunAt = 0
    /** Calls for the next turn. @type {Array<() => void>} */
    this.waiting = []
    this.endTurn = this.endTurn.bind(this)
  }

  /**
   * @param {number} size bytes to be read or written
   * @returns {boolean} whether the call is to be made, between this and `end`; false: by the thread pool
   */
  begin (size) {
    if (size > MOST_BYTES || !this.isWanted) return false
    this.begunAt = performance.now()
    return this.paidAt - this.begunAt <= CREDIT / SHARE_OF_TIME
  }

  end () {
    const took = performance.now() - this.begunAt
    this.countTurn()
    this.spent += took
    if (took > QUICK) this.paidAt = Math.max(this.paidAt, this.begunAt) + (took - QUICK) / SHARE_OF_TIME
  }

  /** Whether the next call has to wait for the next turn of the event loop. */
  get isTurnSpent () {
    return this.spent > MOST_A_TURN
  }

  /**
   * Of a turn that is spent.
   * @param {() => void} call to be tried again in the next one
   */
  wait (call) {
    this.waiting.push(call)
  }

  countTurn () {
    if (!this.isTurnCounted) setImmediate(this.endTurn)
    this.isTurnCounted = true
  }

  endTurn () {
    const { waiting } = this
    let tried = 0
    this.spent = 0
    this.isTurnCounted = false
    try {
      while (tried < waiting.length && !this.isTurnSpent) waiting[tried++]()
    } finally {
      waiting.splice(0, tried)
      if (waiting.length > 0) this.countTurn()
    }
  }
}

module.exports = { SyncIoBudget, MOST_BYTES }
