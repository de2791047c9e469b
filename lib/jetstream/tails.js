'use strict'

// The cursors that are reading the last records: a log closes when their readers have them.

const { callAll } = require('../callbacks')

class Tails {
  constructor () {
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
    if (this.cursors.delete(cursor)) this.release()
  }

  release () {
    if (this.cursors.size > 0) return
    const calls = this.waiting
    this.waiting = []
    callAll(calls, undefined)
  }

  /** @param {() => void} cb called later, when none is being read */
  whenRead (cb) {
    this.waiting.push(cb)
    // a reader may be about to ask
    setImmediate(() => this.release())
  }
}

module.exports = { Tails }
