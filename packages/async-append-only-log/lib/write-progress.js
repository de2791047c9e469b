'use strict'

// How far appends are stored, as callers see it: `since` moves some time after the last append, when all of them are durable,
// and with it live streams; then `onDrain` calls back. The log itself writes them at once.

const { callbacks: { callAll, rethrowLater } } = require('flumelog-random-access-file/blocks')
const { observable } = require('flumelog-random-access-file/parts')

/** @typedef {import('./types').Done} Done */

class WriteProgress {
  /**
   * @param {import('./instance').Instance} instance
   * @param {number} timeout milliseconds from the last append on
   */
  constructor (instance, timeout) {
    this.instance = instance
    this.store = instance.store
    /** Offset of the last record that is stored; undefined until the log is open. @type {import('./types').Obz<any>} */
    this.since = observable()
    /** Seq of the last record that was appended. */
    this.lastSeq = -1
    /** @type {NodeJS.Timeout | null} */
    this.timer = null
    this.timeout = timeout
    /** Whether what was appended up to `flushingSeq` is being made durable. */
    this.isFlushing = false
    this.flushingSeq = -1
    /** Called when what was appended is. @type {Done[]} */
    this.waiting = []
    /** The same for what is being made durable. @type {Done[]} */
    this.flushing = []
    this.flush = this.flush.bind(this)
  }

  /** @param {number} offset of the last record */
  open (offset) {
    if (this.since.value !== offset) this.since.set(offset)
  }

  /** @param {number} seq of the last record of an append */
  appended (seq) {
    this.lastSeq = seq
    if (this.timer === null) this.timer = setTimeout(this.flush, this.timeout)
    else this.timer.refresh()
  }

  flush () {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    if (this.isFlushing) return
    this.isFlushing = true
    const { store, lastSeq } = this
    this.flushingSeq = lastSeq
    this.flushing = this.waiting.splice(0)
    store.log?.sync((err) => {
      this.isFlushing = false
      if (store.failure !== null) return
      if (err) return store.fail(err)
      this.tell(store.records.offsetOf(lastSeq))
      callAll(this.flushing.splice(0), null)
      // what was appended meanwhile, also by these callbacks, need not wait: jitdb's tests append from one `onDrain` to the next
      if (this.lastSeq !== lastSeq) this.flush()
    })
  }

  /** @param {number} offset of the last record that is stored */
  tell (offset) {
    this.since.set(offset)
    for (const stream of [...this.instance.streams]) {
      try {
        if (stream.live) stream.resume()
      } catch (err) {
        // of its sink
        rethrowLater(err)
      }
    }
  }

  /** Tells what others have stored. */
  catchUp () {
    const { lastOffset } = this.store.records
    if (this.since.value !== lastOffset) this.tell(lastOffset)
  }

  get isDrained () {
    return this.timer === null && !this.isFlushing
  }

  /** @param {number} offset of the last record, since a compaction */
  moved (offset) {
    this.since.set(offset)
  }

  /** @param {Done} cb */
  onDrain (cb) {
    if (this.timer !== null || (this.isFlushing && this.lastSeq !== this.flushingSeq)) this.waiting.push(cb)
    else if (this.isFlushing) this.flushing.push(cb)
    else cb(null)
  }

  /**
   * @param {Error} err
   * @returns {boolean} whether anybody was told
   */
  fail (err) {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const waiting = [...this.flushing.splice(0), ...this.waiting.splice(0)]
    callAll(waiting, err)
    return waiting.length > 0
  }
}

module.exports = { WriteProgress }
