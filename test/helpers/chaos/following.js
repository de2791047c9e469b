'use strict'

// A live stream of a log that a process of `chaos-member.js` follows, and what it has seen.

const pull = require('pull-stream')
const { isIntact, numberOf } = require('../numbered')
const { NumberRanges } = require('./numbers')

/** Records that were seen last, by which other reads are checked. */
const MOST_RECENT = 400

class Following {
  /**
   * @param {any} log
   * @param {object} told
   * @param {(why: string) => void} told.onwrong
   * @param {(number: number) => void} told.onrecord
   * @param {(err: any) => void} told.onend
   */
  constructor (log, { onwrong, onrecord, onend }) {
    this.log = log
    this.onwrong = onwrong
    this.onrecord = onrecord
    this.onend = onend
    /** Of each stream: a trim that overtakes one ends it. @type {NumberRanges[]} */
    this.streams = []
    /** In order, without gaps but for what was deleted. @type {Array<{ number: number, seq: number }>} */
    this.recent = []
    /** The log in which these seqs are. */
    this.id = ''
  }

  /** @param {boolean} fromStart */
  start (fromStart) {
    const { log } = this
    const seen = new NumberRanges()
    this.streams.push(seen)
    this.recent = []
    pull(log.stream({ live: true, fromStart }), pull.drain(({ seq, value }) => {
      if (!isIntact(value)) return this.onwrong(`at ${seq} is no whole record`)
      const number = numberOf(value)
      const { lastSeq } = seen
      const isKnown = seen.has(number)
      const problem = seen.add(number, seq)
      if (problem !== null) this.onwrong(`${problem}${isKnown ? ', for the second time' : ''}, in ${log.id}, the last one at ${lastSeq} in ${this.id}, from the start: ${fromStart}`)
      this.remember(number, seq)
      this.onrecord(number)
    }, (err) => {
      // from where the log starts now
      if (err?.code === 'flumelog:trimmed' && !fromStart) this.start(true)
      // it had to wait for an owner that is silent
      else if (err?.code === 'flumelog:unreachable') this.start(fromStart)
      else this.onend(err)
    }))
  }

  remember (number, seq) {
    const { log, recent } = this
    if (log.id !== this.id) {
      this.id = log.id
      recent.length = 0
    }
    recent.push({ number, seq })
    if (recent.length > 2 * MOST_RECENT) recent.splice(0, MOST_RECENT)
  }

  get lastSeq () {
    return this.streams.at(-1)?.lastSeq ?? -1
  }

  /** @param {number} number */
  has (number) {
    return this.streams.some(seen => seen.has(number))
  }

  /** @returns {number[]} ranges, as of `numbersOf` */
  toJSON () {
    return this.streams.flatMap(seen => seen.toJSON())
  }
}

module.exports = { Following }
