'use strict'

// Readers of a fuzzed log: streams that loop, pause, stop early, are dropped, or go on
// for ever; each checks that what it was given is what the model has.

class Reader {
  /**
   * @param {import('./session').Session} session
   * @param {any} options of the stream
   * @param {{ pause: number, stopAfter: number, isDropped: boolean }} manner
   */
  constructor (session, options, manner) {
    const { log, calls, model } = session
    this.session = session
    this.options = options
    this.manner = manner
    this.isLive = !!options.live || options.old === false
    this.startedAt = calls.moment + 1
    /** @type {Array<import('./model').Record>} */
    this.shown = []
    this.range = {
      min: Math.max(options.gte ?? 0, options.old === false ? Math.max(model.lastSeq, log.since.value) + 1 : 0),
      max: options.lte ?? Infinity
    }
    this.isAsking = false
    this.isLooping = false
    this.hasEnded = false
    this.call = calls.start(`stream ${JSON.stringify(options)} ${JSON.stringify(manner)}`)
    this.onend = calls.callback(this.call, (end) => this.ended(end))
    calls.make(this.call, () => {
      this.source = log.stream(options)
    })
    this.read()
  }

  /** Whether it may wait for as long as nothing is appended. */
  get mayWait () {
    return this.isLive && this.isAsking && !this.session.isClosed
  }

  /** Reads in a loop while it is answered at once. */
  read () {
    this.session.calls.make(this.call, () => {
      this.isLooping = true
      try {
        do {
          this.isAsking = true
          this.source(null, (end, item) => this.answered(end, item))
        } while (this.isLooping && !this.isAsking && !this.hasEnded)
      } finally {
        this.isLooping = false
      }
    })
  }

  answered (end, item) {
    const { session, manner } = this
    if (session.calls.isOver) return
    if (!this.isAsking) return session.violate(`${this.call.name} was answered without being asked`)
    this.isAsking = false
    if (end) return this.onend(end)
    const record = session.model.show(item.seq, item.value, this.startedAt)
    if (record !== null) this.shown.push(record)
    const isSync = this.isLooping
    if (this.shown.length >= manner.stopAfter) {
      this.isLooping = false
      if (manner.isDropped) this.drop()
      else this.abort()
    } else if (session.random() < manner.pause) {
      this.isLooping = false
      session.world.later(() => this.hasEnded || this.read())
    } else if (!isSync) this.read()
    try {
      session.calls.misbehave(this.call)
    } catch (err) {
      // a reader that threw does not read on
      if (isSync && this.isLooping) {
        this.isLooping = false
        session.world.later(() => this.hasEnded || this.isAsking || this.read())
      }
      throw err
    }
  }

  drop () {
    const { calls } = this.session
    this.hasEnded = true
    calls.pending.delete(this.call)
    this.session.readers.delete(this)
  }

  abort () {
    this.session.calls.make(this.call, () => this.source(true, (end) => this.onend(end)))
  }

  /** @param {true | Error} end */
  ended (end) {
    const { session, options, shown } = this
    this.hasEnded = true
    this.isLooping = false
    session.readers.delete(this)
    if (end !== true) session.checkError(this.call, end, { isRead: true, codes: session.model.trimmingTo > 0 && !options.fromStart ? ['flumelog:trimmed'] : [] })
    if (this.isLive && options.reverse) return
    const isComplete = end === true && shown.length < this.manner.stopAfter && !(options.limit > 0)
    const before = !isComplete ? -1 : this.isLive ? session.moment : this.startedAt
    session.model.checkGaps(options.reverse ? [...shown].reverse() : shown, this.range, before)
    if (options.limit > 0 && shown.length > options.limit) session.violate(`${this.call.name} gave ${shown.length} records`)
  }

  /** Nothing is in progress: who waits for more has been given all there is. */
  checkUpToDate () {
    const { session, options, shown } = this
    if (!this.isLive || !this.isAsking || options.reverse || this.manner.stopAfter < Infinity || session.openError !== null) return
    session.model.checkGaps(shown, this.range, session.moment)
  }
}

module.exports = { Reader }
