'use strict'

// The error of an append without a callback: the next call that waits for appends reports it.

class Unreported {
  constructor () {
    /** The first one. @type {Error | null} */
    this.error = null
    this.note = this.note.bind(this)
  }

  /** @param {any} err null: the append is stored */
  note (err) {
    // whoever closes a log knows
    if (err && err.code !== 'flumelog:closed') this.error ??= err
  }

  /** @returns {Error | null} what is to be reported now */
  take () {
    const { error } = this
    this.error = null
    return error
  }
}

module.exports = { Unreported }
