'use strict'

// `compact` of this interface: the log's own compaction, started when all streams have what there is and all is stored. Meanwhile appends,
// `onDrain` and streams wait. FILE.compaction says that one was started: callers rebuild their indexes when it ends, so after a crash the
// next opening ends it, and tells them, also if the crash came after the new file had taken its place.

const fs = require('fs')
const path = require('path')
const errors = require('./errors')
const { callbacks: { callAll }, files, layout: { fits } } = require('flumelog-random-access-file/blocks')
const { observable } = require('flumelog-random-access-file/parts')

/** Milliseconds between two progress events. */
const INTERVAL = 1000
const SUFFIX = '.compaction'
const NOTHING = { sizeDiff: 0, holesFound: 0 }

/** @typedef {import('./types').Done} Done */

class Compaction {
  /** @param {import('./store').Store} store */
  constructor (store) {
    this.store = store
    this.marker = store.filename + SUFFIX
    /** Whether an earlier one was interrupted. */
    this.isResumed = fs.existsSync(this.marker)
    /** @type {import('./types').Obz<import('./types').Progress>} */
    this.progress = observable()
    this.progress.set(this.isResumed ? { percent: 0, done: false } : { percent: 1, done: true, sizeDiff: 0 })
    /** Of `compact`, while it waits for streams and for what is to be stored. @type {Done[]} */
    this.starting = []
    this.isPreparing = false
    this.isRunning = false
    /** How the last one ended. @type {Error | null} */
    this.failure = null
    /** Calls that wait for its end. @type {Array<() => void>} */
    this.queue = []
    /** Streams that do. @type {Array<() => void>} */
    this.streams = []
    /** Live streams that were there when it started, and have got all. @type {import('./stream').Stream[]} */
    this.live = []
  }

  /** The log is open. */
  open () {
    // nobody waits for its error: the next opening tries again, or the next call of `compact`
    if (this.isResumed) this.compact((err) => { if (err && this.store.failure === null) process.emitWarning(`${this.store.filename}: an interrupted compaction could not go on: ${err.message}`, { code: 'FLUMELOG_COMPACTION' }) })
  }

  /** @param {Done} cb */
  compact (cb) {
    if (this.isRunning || this.starting.length > 0) {
      // the callers of the first one are called back last
      this.queue.push(() => cb(this.store.failure ?? this.failure))
      return
    }
    this.starting.push(cb)
    this.startIfPossible()
  }

  /** Whether there is a stream whose bound says nothing once offsets have changed. */
  get isRefused () {
    return this.store.streams.some(stream => stream.live && stream.isBounded)
  }

  /** Called whenever a stream has ended, or has got all. */
  startIfPossible () {
    if (this.starting.length === 0 || this.isPreparing || this.isRunning) return
    const { store } = this
    if (store.isLeft) return
    if (this.isRefused) return this.cancel(errors.boundedStream())
    if (!store.streams.every(stream => stream.isDone)) return
    this.isPreparing = true
    store.drainAll((err) => {
      if (err) return this.cancel(err)
      store.deletions.whenFlushed((err) => {
        if (err) return this.cancel(err)
        // of other instances: live streams get what they would have got with the next flush, before it moves
        for (const { progress } of store.instances) progress.catchUp()
        this.isPreparing = false
        // what came meanwhile
        if (store.isLeft || !store.isDrained || store.deletions.isDirty || this.isRefused || !store.streams.every(stream => stream.isDone)) return this.startIfPossible()
        this.start()
      })
    })
  }

  /** @param {Error} err */
  cancel (err) {
    this.isPreparing = false
    this.end(err, NOTHING)
  }

  start () {
    this.isRunning = true
    this.live = this.store.streams.filter(stream => stream.live)
    if (this.progress.value.done) this.progress.set({ percent: 0, done: false })
    // on a stack of its own: jitdb expects what it schedules then to run before what a promise of `compact` leads to
    this.run().then(result => process.nextTick(() => this.end(null, result)), err => process.nextTick(() => this.end(err, NOTHING)))
  }

  /** @returns {Promise<{ sizeDiff: number, holesFound: number }>} */
  async run () {
    const { log, blockSize } = this.store
    if (log === null) throw errors.closed(this.store.filename)
    const first = await this.findFirst()
    if (first === null && !this.isResumed) return NOTHING
    if (first !== null) {
      if (!this.isResumed) await this.writeMarker()
      if (first.unshifted !== -1) this.report(first, 0, 0)
    }
    let reportedAt = performance.now()
    const { before, after, deleted } = await new Promise((resolve, reject) => log.compact({
      onProgress: ({ bytes }) => {
        if (first === null || performance.now() - reportedAt < INTERVAL) return
        reportedAt = performance.now()
        this.report(first, bytes, this.compactedBytes())
      }
    }, (err, compacted) => err ? reject(err) : resolve(compacted)))
    const blocks = Math.ceil(before / blockSize) - Math.ceil(after / blockSize)
    return { sizeDiff: Math.max(1, blocks * blockSize), holesFound: deleted }
  }

  /** @returns {number} of the new file */
  compactedBytes () {
    return this.store.records.log.compactedBytes
  }

  /**
   * @param {{ start: number, unshifted: number }} first
   * @param {number} copied bytes of the log
   * @param {number} compacted bytes that they have become
   */
  report ({ start, unshifted }, copied, compacted) {
    const since = this.store.records.lastOffset
    const unshiftedOffset = Math.min(Math.max(unshifted, copied), since)
    this.progress.set({
      startOffset: start,
      compactedOffset: Math.max(start, Math.min(compacted, unshiftedOffset)),
      unshiftedOffset,
      percent: since === start ? 1 : (unshiftedOffset - start) / (since - start),
      done: false
    })
  }

  /**
   * Where records start to move. Those before that keep their offsets, since the copy packs them as they are.
   * @returns {Promise<{ start: number, unshifted: number } | null>} offsets: of the block, and of the first record in it, or after it, that is
   *   kept, -1 if there is none; null: no record is deleted
   */
  async findFirst () {
    const { log, blockSize, records: { shift, log: { checksum } } } = this.store
    let number = -1
    let position = 0
    let start = Infinity
    let hole = -1
    let kept = -1
    await new Promise((resolve, reject) => log?.scan({ deleted: true }, (block, from, to, seq) => {
      if (Math.floor(seq / blockSize) !== number) {
        // of a block that was not filled: what follows moves into it
        if (number !== -1 && fits(blockSize, checksum, position, to - from)) start = Math.min(start, number * blockSize)
        number = Math.floor(seq / blockSize)
        if (hole === -1) kept = -1
      }
      position = seq + to - from + 4 - number * blockSize
      if (block !== null && kept === -1) kept = seq
      if (block === null && hole === -1) {
        hole = seq
        start = Math.min(start, number * blockSize)
      }
      return hole === -1 || kept === -1
    }, (err) => err ? reject(err) : resolve(null)))
    return hole === -1 ? null : { start: start - shift, unshifted: kept === -1 ? -1 : kept - shift }
  }

  /**
   * @param {Error | null} err
   * @param {{ sizeDiff: number, holesFound: number }} result
   */
  end (err, result) {
    const { store } = this
    const callers = this.starting.splice(0)
    const hasLogFailed = store.problem() !== null
    this.isRunning = false
    this.failure = err
    // the next opening ends it: this one, or the one that was resumed, may have moved the records, so indexes are made again
    const isUnfinished = hasLogFailed || (err !== null && this.isResumed)
    const hasMoved = !hasLogFailed && this.followMove(err)
    const sizeDiff = isUnfinished || hasMoved ? Math.max(1, result.sizeDiff) : result.sizeDiff
    this.live = []
    if (!this.progress.value.done) this.progress.set({ ...result, sizeDiff, percent: 1, done: true })
    if (!isUnfinished) this.removeMarker()
    callAll(this.streams.splice(0), undefined)
    callAll(this.queue.splice(0), undefined)
    callAll(callers, err)
  }

  /**
   * @param {Error | null} err
   * @returns {boolean} whether records have been moved
   */
  followMove (err) {
    const { store, store: { records } } = this
    const { shift } = records
    records.shift = records.log.base
    if (err === null) store.deletions.reset()
    if (records.shift === shift) return false
    for (const { progress } of store.instances) progress.moved(records.lastOffset)
    for (const stream of this.live) stream.move()
    return true
  }

  async writeMarker () {
    await fs.promises.writeFile(this.marker, '', { flush: true })
    await files.syncFolder(path.dirname(this.marker))
  }

  removeMarker () {
    this.isResumed = false
    try {
      fs.unlinkSync(this.marker)
    } catch {}
  }

  /** @param {Error} err the log has failed */
  fail (err) {
    if (!this.isRunning) this.cancel(err)
  }
}

module.exports = { Compaction, SUFFIX }
