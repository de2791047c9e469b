'use strict'

// The cursors of live streams that have been at the end of the log, and are reading what came since, streams that are about to start, and
// deletions: a log closes when their readers have what they were to get, and what was to be deleted is.

const { callbacks: { callAll } } = require('flumelog-random-access-file/blocks')

class Tails {
  /** @param {InstanceType<typeof import('flumelog-random-access-file/parts').TurnBudget>} turn by which answers to readers can be deferred */
  constructor (turn) {
    this.turn = turn
    /** @type {Set<object>} */
    this.cursors = new Set()
    /** @type {Array<() => void>} */
    this.waiting = []
  }

  /** @param {object} cursor */
  add (cursor) {
    this.cursors.add(cursor)
  }

  /** @param {object} cursor */
  delete (cursor) {
    // its reader may be about to ask for more
    if (this.cursors.delete(cursor)) setImmediate(() => this.release())
  }

  release () {
    if (this.cursors.size > 0) return
    if (this.waiting.length > 0 && this.turn.hasDeferred) return setImmediate(() => this.release())
    const calls = this.waiting
    this.waiting = []
    callAll(calls, undefined)
  }

  /** @param {() => void} cb called later, when none is being read */
  whenRead (cb) {
    this.waiting.push(cb)
    setImmediate(() => this.release())
  }
}

module.exports = { Tails }
