'use strict'

// Shows on standard error which run is in progress, and the time left.

class Progress {
  /** @param {number} total */
  constructor (total) {
    this.total = total
    this.done = 0
    this.startedAt = Date.now()
    this.isTerminal = process.stderr.isTTY
    this.shown = ''
  }

  /** @param {string} what is being measured */
  show (what) {
    const text = `[${this.done + 1} of ${this.total}${this.timeLeft()}] ${what}`
    if (this.isTerminal) process.stderr.write(`\r\x1b[2K${text.slice(0, process.stderr.columns - 1)}`)
    else if (what !== this.shown) process.stderr.write(text + '\n')
    this.shown = what
  }

  advance () {
    this.done++
    // clears the line for standard output
    if (this.isTerminal) process.stderr.write('\r\x1b[2K')
  }

  timeLeft () {
    if (this.done === 0) return ''
    const seconds = (Date.now() - this.startedAt) / 1000 / this.done * (this.total - this.done)
    return seconds < 90 ? `, ${Math.ceil(seconds)} s left` : `, ${Math.ceil(seconds / 60)} min left`
  }
}

module.exports = { Progress }
