'use strict'

// Says on standard error which run of how many is under way, and how long the
// others will take.

class Progress {
  /** @param {number} total */
  constructor (total) {
    this.total = total
    this.done = 0
    this.begun = Date.now()
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
    // leaves the line empty for what standard output has to say
    if (this.isTerminal) process.stderr.write('\r\x1b[2K')
  }

  timeLeft () {
    if (this.done === 0) return ''
    const seconds = (Date.now() - this.begun) / 1000 / this.done * (this.total - this.done)
    return seconds < 90 ? `, ${Math.ceil(seconds)} s left` : `, ${Math.ceil(seconds / 60)} min left`
  }
}

module.exports = { Progress }
