'use strict'

// Simulated time: a clock and a queue of events, both driven by a seed. A program that
// takes its time from `clock`, and its I/O from a simulated disk that does the same,
// does the same things in the same order in every run of a seed.

const { crc32 } = require('zlib')
const { randomFrom } = require('./random')

/** Milliseconds from one turn of the simulated event loop to the next. */
const TURN = 0.001
/** Events after which a run that has not ended never will. */
const MOST_EVENTS = 1e6
/** Lines of the trace that are kept for a report. */
const RECENT_LINES = Number(process.env.RECENT ?? 60)

class Simulation {
  /** @param {number} seed */
  constructor (seed) {
    this.random = randomFrom(seed)
    this.time = 0
    /** Earliest first; of those at the same time, the one that was scheduled first. */
    this.events = []
    this.scheduled = 0
    this.turns = 0
    /** Called when nothing else is scheduled. */
    this.idleWaiting = []
    /** Turns of the real event loop to wait before the next event. */
    this.turnsToWait = 0
    /** A checksum over everything that was noted: two runs with the same one did the same. */
    this.hash = 0
    this.recent = []
    /** @type {import('../../lib/clock').Clock} */
    this.clock = {
      now: () => this.time,
      date: () => this.time,
      setTimeout: (run, milliseconds) => this.schedule(run, milliseconds),
      clearTimeout: (timer) => { if (timer) timer.isCanceled = true },
      setImmediate: (run) => this.schedule(run, TURN),
      schedstat: () => null,
      bytesFetched: () => null
    }
  }

  /**
   * @param {() => void} run
   * @param {number} delay in milliseconds
   */
  schedule (run, delay) {
    const event = { run, time: this.time + Math.max(0, delay), order: this.scheduled++, isCanceled: false, unref: () => event }
    let index = this.events.length
    while (index > 0 && this.events[index - 1].time > event.time) index--
    this.events.splice(index, 0, event)
    return event
  }

  /**
   * @param {number} delay in milliseconds
   * @returns {Promise<void>}
   */
  pause (delay) {
    return new Promise(resolve => this.schedule(resolve, delay))
  }

  /** @returns {Promise<void>} resolves when nothing else is scheduled: whatever has not happened by then never will */
  idle () {
    return new Promise(resolve => this.idleWaiting.push(resolve))
  }

  /** @param {string} line what happened */
  note (line) {
    const timed = `${this.time.toFixed(3)} ${line}`
    this.hash = crc32(timed, this.hash)
    this.recent.push(timed)
    if (this.recent.length > RECENT_LINES) this.recent.shift()
  }

  /**
   * Runs events, one in each turn of the real event loop, so that what ticks and promises do has been done before the next.
   * @template T
   * @param {Promise<T>} work
   * @returns {Promise<T>} what `work` gives; an error, if it waits and nothing is scheduled
   */
  run (work) {
    let isDone = false
    const end = () => { isDone = true }
    work.then(end, end)
    return new Promise((resolve, reject) => {
      const turn = () => {
        if (isDone) return resolve(work)
        if (this.turnsToWait > 0) {
          this.turnsToWait--
          return setImmediate(turn)
        }
        if (++this.turns > MOST_EVENTS) return reject(new Error('it never comes to rest'))
        const event = this.next()
        if (event === null) return reject(new Error('nothing is scheduled, and callers still wait'))
        // first, since the event may throw
        setImmediate(turn)
        event.run()
      }
      setImmediate(turn)
    })
  }

  /** To be told of each uncaught exception: after one, Node runs the ticks that are left in a later turn of its event loop. */
  interrupted () {
    this.turnsToWait = 2
  }

  next () {
    for (;;) {
      const event = this.events.shift()
      if (event === undefined) {
        const run = this.idleWaiting.shift()
        return run === undefined ? null : { run }
      }
      if (event.isCanceled) continue
      this.time = event.time
      return event
    }
  }
}

module.exports = { Simulation }
