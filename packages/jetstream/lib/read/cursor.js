'use strict'

// A cursor over the records of a stream, forward or backward, as streams use it: it reads windows of sequences, the next one while the
// current one is being given.

const { callbacks: { rethrowLater } } = require('flumelog-random-access-file/blocks')
const { found: { RECORD, WAITING, AT_END, PAST_BOUND, FAILED } } = require('flumelog-random-access-file/parts')
const { RecordConsumer } = require('./record-consumer')

/** Sequences of the first window: a reader may need no more. Each is four times as large as the one before. */
const FIRST_WINDOW = 16
const MAX_WINDOW = 1024
/** Bytes that a window is to have backward. Forward, the reader ends it. */
const BYTES = 1024 * 1024
/** The most records of a window that a consumer reads: fewer requests. */
const CONSUMER_WINDOW = 4 * MAX_WINDOW
/** Sequences ahead for which a consumer is made, which takes a round trip or two; and how often it may fail in a row. */
const FAR = CONSUMER_WINDOW
const MAX_FAILURES = 3

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @typedef {import('./record-consumer').Received} Message
 * @typedef {{ records: Message[], position: number }} Window `position`: where the one after it starts
 */

class StreamCursor {
  /**
   * @param {Pick<import('./streams').ReadContext, 'reader' | 'lastSeq' | 'tails' | 'delivered'>} log
   * @param {{ min: number, max: number, reverse: boolean }} range
   * @param {boolean} isLive whether it goes on at the end, and waits for a server for as long as it takes
   * @param {() => void} onready called when a window that was waited for is there
   */
  constructor ({ reader, lastSeq, tails, delivered }, { min, max, reverse }, isLive, onready) {
    this.reader = reader
    this.lastSeq = lastSeq
    this.tails = tails
    this.delivered = delivered
    // what is purged is not looked through
    this.min = Math.max(min, reader.state?.first_seq ?? 1, 1)
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
    /** Reads windows while the end is far. @type {RecordConsumer | null} */
    this.consumer = null
    this.consumerFailures = 0
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
    const { deleted } = this.reader.connection
    do {
      if (this.index === this.records.length) {
        const found = this.enterWindow()
        if (found !== RECORD) return found
      }
      this.seq = this.records[this.index++].seq
      // since the window was read
    } while (deleted.has(this.seq))
    const { data } = this.records[this.index - 1]
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
    const isPast = reverse ? position < this.min : position > this.max || this.max < this.min
    if (isPast || position > this.lastSeq()) this.dropConsumer()
    if (isPast) return PAST_BOUND
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
    this.readWindow(first, last).then((window) => this.onread(window), (err) => this.onread(err)).catch(rethrowLater)
    return WAITING
  }

  /**
   * @param {number} first sequence
   * @param {number} last sequence
   * @returns {Promise<Window>}
   */
  async readWindow (first, last) {
    const { reverse } = this
    if (!reverse && this.wantsConsumer(first)) {
      const records = await this.consume(first, Math.min(first + CONSUMER_WINDOW - 1, this.max, this.lastSeq()))
      if (records.length > 0) return { records, position: records[records.length - 1].seq + 1 }
    }
    if (reverse) return this.readBackward(first, last)
    const delivered = await this.delivered(first, last)
    if (delivered !== null) return { records: delivered, position: last + 1 }
    const { records, next } = await this.reader.range(first, last, this.isLive, this.lastSeq)
    return { records, position: next }
  }

  /**
   * Two halves at a time, so that the server has something to do while the first one is on its way.
   * @param {number} first sequence
   * @param {number} last sequence
   * @returns {Promise<Window>}
   */
  async readBackward (first, last) {
    const middle = Math.ceil((first + last) / 2)
    const read = (/** @type {number} */ from, /** @type {number} */ to) => this.reader.rangeBackward(from, to, this.isLive, this.lastSeq)
    const [upper, lower] = await Promise.all([read(middle, last), first < middle ? read(first, middle - 1) : null])
    const isWhole = upper.next < middle && lower !== null
    const records = isWhole ? [...upper.records, ...lower.records] : upper.records
    const position = isWhole ? lower.next : upper.next
    const bytes = records.reduce((sum, { data }) => sum + data.length, 0)
    this.size = Math.max(1, Math.min(this.size, Math.floor(BYTES * (last - position) / Math.max(bytes, 1))))
    return { records, position }
  }

  /** @param {number} first sequence of a window */
  wantsConsumer (first) {
    if (this.consumer !== null) return true
    return this.size === MAX_WINDOW && this.consumerFailures < MAX_FAILURES && first + FAR <= Math.min(this.max, this.lastSeq())
  }

  /**
   * @param {number} first sequence
   * @param {number} last sequence
   * @returns {Promise<Message[]>} records that follow each other; none if there is a problem, or none up to the last one
   */
  async consume (first, last) {
    const consumer = this.consumer ??= new RecordConsumer(this.reader.connection, first)
    const read = await consumer.read(last - first + 1)
    const records = read.length === 0 || read[read.length - 1].seq <= last ? read : read.filter(({ seq }) => seq <= last)
    this.consumerFailures = read.length === 0 ? this.consumerFailures + 1 : 0
    // it is past what was read
    if (consumer.isStopped || records.length < read.length) this.dropConsumer()
    return records
  }

  dropConsumer () {
    this.consumer?.stop()
    this.consumer = null
  }

  /** @param {Window | Error} result */
  onread (result) {
    this.isReading = false
    if (this.isStopped) return
    if (result instanceof Error) this.failure = result
    else this.window = result
    // the next window is added in the same turn
    this.tails.delete(this)
    if (this.isWaiting) this.onready()
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
    this.dropConsumer()
    this.records = []
    this.index = 0
    this.window = null
  }
}

module.exports = { StreamCursor }
