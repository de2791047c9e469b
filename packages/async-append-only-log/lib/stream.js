'use strict'

// The source of a push-stream over a store: writes to its sink until that pauses.

const errors = require('./errors')
const { callbacks: { rethrowLater } } = require('flumelog-random-access-file/blocks')
const { found: { RECORD, WAITING, AT_END, PAST_BOUND, FAILED }, scanRangeOf } = require('flumelog-random-access-file/parts')

/** Records between two looks at whether others must have a turn of the event loop. */
const CHECK_INTERVAL = 128

class Stream {
  /**
   * @param {import('./instance').Instance} instance
   * @param {import('./types').StreamOptions} options
   */
  constructor (instance, options) {
    const { live, limit, offsets, values, sizes, gt, gte, lt, lte } = options
    this.instance = instance
    this.store = instance.store
    this.decode = instance.decode
    this.live = !!live
    this.offsets = offsets !== false
    this.values = values !== false
    this.sizes = sizes === true
    this.remaining = limit && limit > 0 ? limit : Infinity
    const { min, max } = scanRangeOf({ gt, gte, lt, lte })
    /** Offsets; `min` that of the next record, at least. */
    this.min = Math.max(min, 0)
    this.max = max
    /** @type {any} */
    this.sink = null
    /** @type {import('flumelog-random-access-file/parts').Cursor | null} */
    this.cursor = null
    this.ended = false
    this.isRunning = false
    /** Whether a read, the log's writing or another turn will go on with it. */
    this.isWaiting = false
    this.goOn = this.goOn.bind(this)
    instance.streams.add(this)
  }

  /** Whether only some records will ever be given. */
  get isBounded () {
    return this.max !== Infinity
  }

  /** Whether a compaction may start, as far as this one is concerned. */
  get isDone () {
    return this.ended || (this.live && this.min > (this.instance.progress.since.value ?? -1))
  }

  /**
   * @param {any} sink or a through that has been piped into one
   * @returns {any} the same
   */
  pipe (sink) {
    let first = sink
    while (first.source) first = first.source
    this.sink = first
    first.source = this
    if (!first.paused) this.resume()
    return sink
  }

  resume () {
    if (this.isRunning || this.isWaiting || this.ended || this.sink === null) return
    const { instance, store } = this
    if (instance.isKnownEmpty && !this.live) return this.abort()
    if (!store.isOpened) return this.wait(() => store.waiting?.push(this.goOn))
    // offsets change
    if (store.compaction.isRunning) return this.wait(() => store.compaction.streams.push(this.goOn))
    if (store.failure !== null) return this.fail(store.failure)
    if (instance.isEnded) return this.fail(errors.closed(store.filename))
    this.isRunning = true
    let hasThrown = true
    try {
      this.run()
      hasThrown = false
    } finally {
      this.isRunning = false
      // the sink, or the codec; the next record comes when that has been handled
      if (hasThrown) this.wait(() => process.nextTick(this.goOn))
    }
    store.compaction.startIfPossible()
  }

  /** @param {() => void} start */
  wait (start) {
    this.isWaiting = true
    start()
  }

  goOn () {
    this.isWaiting = false
    this.resume()
  }

  run () {
    const { instance, store, sink } = this
    const { deletions, records: { log, shift } } = store
    let end = instance.streamEnd
    if (end === -1) return this.atEnd()
    const cursor = this.cursor ??= this.open()
    let untilCheck = CHECK_INTERVAL
    for (;;) {
      if (this.ended) return
      if (this.remaining <= 0) return this.abort()
      if (sink.paused) return
      if (sink.ended) return this.stop()
      const found = cursor.next()
      if (found !== RECORD) {
        if (found === WAITING) return this.wait(() => {})
        if (found === FAILED) return this.abort(cursor.error)
        if (found === PAST_BOUND) return this.abort()
        if (found !== AT_END || log.end >= instance.streamEnd) return this.atEnd()
        return this.wait(() => store.log?.onDrain(this.goOn))
      }
      if (cursor.seq >= end && cursor.seq >= (end = instance.streamEnd)) {
        cursor.stepBack()
        return this.atEnd()
      }
      const isDeleted = cursor.isDeleted() || deletions.isPending(cursor.seq)
      this.min = cursor.seq - shift + 1
      this.remaining--
      sink.write(this.itemOf(cursor, isDeleted))
      if (--untilCheck === 0) {
        untilCheck = CHECK_INTERVAL
        if (log.mustYield()) return this.wait(() => log.deferRead(this.goOn))
      }
    }
  }

  open () {
    const { log, shift } = this.store.records
    return log.cursor({ min: this.min + shift, max: this.max + shift }, this.goOn)
  }

  /**
   * @param {import('flumelog-random-access-file/parts').Cursor} cursor
   * @param {boolean} isDeleted
   * @returns {any}
   */
  itemOf (cursor, isDeleted) {
    const { offsets, values, sizes } = this
    const offset = cursor.seq - this.store.records.shift
    if (!values) {
      if (!sizes) return offset
      return offsets ? { offset, size: cursor.size } : cursor.size
    }
    const data = isDeleted ? null : cursor.data()
    const value = data === null || this.decode === null ? data : this.decode(data)
    if (sizes) return offsets ? { offset, value, size: cursor.size } : { value, size: cursor.size }
    return offsets ? { offset, value } : value
  }

  atEnd () {
    if (!this.live) this.abort()
  }

  /** A compaction has moved the records; this one had been given all. */
  move () {
    this.cursor?.stop()
    this.cursor = null
    this.min = (this.instance.progress.since.value ?? -1) + 1
  }

  stop () {
    this.ended = true
    this.cursor?.stop()
    this.cursor = null
    this.instance.streams.delete(this)
  }

  /** @param {Error | true | null} [err] */
  abort (err) {
    if (this.ended) return
    this.stop()
    this.endSink(err === true ? null : err ?? null)
    this.store.compaction.startIfPossible()
  }

  /** @param {Error} err */
  fail (err) {
    this.isWaiting = false
    this.abort(err)
  }

  /** @param {Error | null} err */
  endSink (err) {
    const { sink } = this
    if (sink === null || sink.ended || !sink.end) return
    sink.ended = true
    try {
      sink.end(err)
    } catch (thrown) {
      // not into a compaction that waits for the end of this stream, or into `close`, which ends others
      rethrowLater(thrown)
    }
  }
}

module.exports = { Stream }
