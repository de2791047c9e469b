'use strict'

// Limits how long reads that are answered from memory may occupy one turn of the event
// loop. Such answers come at once, so a chain of them never returns to the event loop by
// itself, whether it is linked by callbacks or by promises. Once the time is spent, further
// answers are deferred to the next turn, after timers and I/O.

const { callAll } = require('../callbacks')
const { systemClock } = require('../clock')

/** Milliseconds per turn that answers from memory may take. */
const MAX_TURN_TIME = 5
/** Answers between two checks of the clock, which can take longer than an answer. */
const CHECK_INTERVAL = 128
/** Answers that may be nested, each given from within the callback of the one before, until the next gets a new stack. */
const MAX_DEPTH = 64

class TurnBudget {
  /** @param {import('../clock').Clock} [clock] */
  constructor (clock = systemClock) {
    this.clock = clock
    this.untilCheck = CHECK_INTERVAL
    /** Whether the current turn is being timed, and since when. */
    this.isTimed = false
    this.startedAt = 0
    /** In order. @type {Set<() => void>} */
    this.deferred = new Set()
    this.endTurn = this.endTurn.bind(this)
  }

  /**
   * Asked before each answer. The hot path is a counter.
   * @returns {boolean} whether the answer has to be deferred
   */
  isSpent () {
    if (--this.untilCheck > 0) return false
    return this.checkTime()
  }

  /** @returns {boolean} the same, by the clock: for loops that count by themselves */
  checkTime () {
    this.timeTurn()
    const isSpent = this.clock.now() - this.startedAt >= MAX_TURN_TIME
    // once spent, it stays so for all callers until the turn ends
    this.untilCheck = isSpent ? 1 : CHECK_INTERVAL
    return isSpent
  }

  /** @param {() => void} run called in a later turn, in order */
  defer (run) {
    this.deferred.add(run)
    this.timeTurn()
  }

  /** @param {() => void} run called on a new stack; in a later turn, if this one is spent */
  postpone (run) {
    if (this.isSpent()) this.defer(run)
    else process.nextTick(run)
  }

  /** Whether answers are to be given in a later turn. */
  get hasDeferred () {
    return this.deferred.size > 0
  }

  /** Runs all that is deferred now: a log that closes answers every caller. */
  flush () {
    const runs = [...this.deferred]
    this.deferred.clear()
    callAll(runs, undefined)
  }

  timeTurn () {
    if (this.isTimed) return
    this.isTimed = true
    this.startedAt = this.clock.now()
    this.clock.setImmediate(this.endTurn)
  }

  endTurn () {
    this.isTimed = false
    this.untilCheck = CHECK_INTERVAL
    if (!this.hasDeferred) return
    this.timeTurn()
    for (const run of this.deferred) {
      if (this.isSpent()) return
      this.deferred.delete(run)
      run()
    }
  }
}

module.exports = { TurnBudget, CHECK_INTERVAL, MAX_DEPTH, MAX_TURN_TIME }
