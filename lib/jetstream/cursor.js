'use strict'

// A cursor over the records of a stream, forward or backward, as streams use it: it reads windows of sequences, the next one while the
// current one is being given.

const { RECORD, WAITING, AT_END, PAST_BOUND, FAILED } = require('../read/cursor')

/** Sequences of the first window: a reader may need no more. Each is four times as large as the one before. */
const FIRST_WINDOW = 16
const MAX_WINDOW = 1024

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @typedef {import('./direct-get').Message} Message
 * @typedef {{ records: Message[], position: number }} Window `position`: where the one after it starts
 */

class StreamCursor {
  /**
   * @param {{ reader: import('./reader').Reader, lastSeq: () => number, tails: import('./tails').Tails }} log
   * @param {{ min: number, max: number, reverse: boolean }} range
   * @param {boolean} isLive whether it goes on at the end, and waits for a server for as long as it takes
   * @param {() => void} onready called when a window that was waited for is there
   */
  constructor ({ reader, lastSeq, tails }, { min, max, reverse }, isLive, onready) {
    this.reader = reader
    this.lastSeq = lastSeq
    this.tails = tails
    this.min = Math.max(min, 1)
    this.max = max
    this.reverse = reverse
    this.isLive = isLive
    /** Whether its reader follows the end of the log: it has been there, or not far from it. */
    this.isFollowing = false
    this.onready = onready
    this.fromStart = false
    /** The sequence at which the next window starts, or backward, ends. */
    this.position = reverse ? Math.min(max, lastSeq()) : this.min
    this.size = FIRST_WINDOW
    /** Records of the current window, in the order in which they are given, from `index` on. @type {Message[]} */
    this.records = []
    this.index = 0
    /** The window after it, once it has come. @type {Window | null} */
    this.window = null
    this.isReading = false
    this.isWaiting = false
    this.isStopped = false
    /** Why that could not be read. @type {Error | null} */
    this.failure = null
    /** @type {Error | null} */
    this.error = null
    /** The current record. */
    this.seq = -1
    this.bytes = NO_BYTES
    this.start = 0
    this.end = 0
  }

  /** @returns {number} what it found */
  next () {
    if (this.index === this.records.length) {
      const found = this.enterWindow()
      if (found !== RECORD) return found
    }
    const { seq, data } = this.records[this.index++]
    this.seq = seq
    this.bytes = data
    this.end = data.length
    return RECORD
  }

  /** @returns {number} RECORD if there is a window with records */
  enterWindow () {
    for (;;) {
      if (this.failure !== null) {
        this.error = this.failure
        return FAILED
      }
      if (this.window === null) return this.read()
      const { records, position } = this.window
      this.window = null
      this.records = records
      this.index = 0
      this.position = position
      // what the reader will need next
      this.read()
      this.isWaiting = false
      if (records.length > 0) return RECORD
    }
  }

  /** @returns {number} WAITING if a window is being read */
  read () {
    const { position, reverse } = this
    if (reverse ? position < this.min : position > this.max || this.max < this.min) return PAST_BOUND
    if (this.isLive && position + MAX_WINDOW > this.lastSeq()) this.isFollowing = true
    if (position > this.lastSeq()) return AT_END
    this.isWaiting = true
    if (this.isReading) return WAITING
    this.isReading = true
    const far = position + (reverse ? 1 - this.size : this.size - 1)
    const first = reverse ? Math.max(far, this.min) : position
    const last = reverse ? position : Math.min(far, this.max, this.lastSeq())
    this.size = Math.min(this.size * 4, MAX_WINDOW)
    if (this.isFollowing) this.tails.add(this)
    this.reader.range(first, last, this.isLive).then(
      ({ records, next }) => this.onread({ records: reverse ? records.reverse() : records, position: reverse ? first - 1 : next }),
      (err) => this.onread(err))
    return WAITING
  }

  /** @param {Window | Error} result */
  onread (result) {
    this.isReading = false
    if (this.isStopped) return
    if (result instanceof Error) this.failure = result
    else this.window = result
    if (this.isWaiting) this.onready()
    if (!this.isReading) this.tails.delete(this)
  }

  /** The server gives no deleted records. */
  isDeleted () {
    return false
  }

  data () {
    return this.bytes
  }

  text () {
    return this.bytes.toString()
  }

  isAtBlockEnd () {
    return this.index === this.records.length
  }

  stepBack () {
    this.index--
  }

  isExhausted () {
    const found = this.next()
    if (found === RECORD) this.stepBack()
    return found === AT_END || found === PAST_BOUND
  }

  stop () {
    this.isStopped = true
    this.tails.delete(this)
    this.records = []
    this.index = 0
    this.window = null
  }
}

module.exports = { StreamCursor }
