'use strict'

// A file behind this interface: one log, and what async-append-only-log adds to it, for all instances in this process that
// have it open.

const fs = require('fs')
const errors = require('./errors')
const { callbacks: { callAll, rethrowLater }, layout } = require('flumelog-random-access-file/blocks')
const { DirectLog } = require('flumelog-random-access-file/parts')
const { Compaction } = require('./compaction')
const { Deletions } = require('./deletions')
const { isNothingAt, prepareFile } = require('./old-log')
const { Records } = require('./records')

/**
 * @typedef {import('./types').Done} Done
 * @typedef {(err: import('flumelog-random-access-file').CallbackError | null, ...results: any) => void} AnyCallback
 */

class Store {
  /**
   * @param {string} filename
   * @param {import('./types').Options<any>} options
   * @param {Promise<unknown> | null} before to be awaited
   * @param {() => void} onclosed
   */
  constructor (filename, options, before, onclosed) {
    const { validateRecord, cacheSize, sync, blockSize: wanted = layout.MAX_BLOCK_SIZE } = options
    /** In bytes, of a new file. */
    this.newBlockSize = Math.min(Math.max(wanted, layout.MIN_BLOCK_SIZE), layout.MAX_BLOCK_SIZE)
    this.filename = filename
    this.logOptions = { blockSize: this.newBlockSize, validate: strict(validateRecord ?? undefined, filename), cacheSize, sync }
    this.onclosed = onclosed
    /** Those who have it open. @type {Set<import('./instance').Instance>} */
    this.instances = new Set()
    /** Calls that wait until the log is open. @type {Array<() => void>} */
    this.waiting = []
    /** Whether it is open, or could not be opened. */
    this.isOpened = false
    /** Whether there is no log yet: a stream that is not live ends before it is created and locked. The migration of ssb-db2 relies on that being quick. */
    this.isNew = before === null && isNothingAt(filename)
    /** Whether appends wait for that. */
    this.hasEarlyAppends = false
    /** Why no calls are made any more. @type {Error | null} */
    this.failure = null
    /** @type {import('flumelog-random-access-file').Log<any> | null} */
    this.log = null
    /** Of the log, while it is open. */
    this.records = /** @type {Records} */ (/** @type {unknown} */ (null))
    /** @type {Promise<unknown> | null} */
    this.closing = null
    this.deletions = new Deletions(this)
    this.compaction = new Compaction(this)
    this.open(options, before).catch(err => this.fail(err)).then(() => this.callWaiting())
  }

  // Opening

  /**
   * @param {import('./types').Options<any>} options
   * @param {Promise<unknown> | null} before
   */
  async open (options, before) {
    // at once without one: what is beside the file is looked at before the caller goes on
    if (before !== null) await before
    await prepareFile(this.filename, options, this.newBlockSize)
    const direct = await DirectLog.open(this.filename, this.logOptions)
    this.log = direct.log
    this.records = new Records(this, direct)
  }

  callWaiting () {
    this.isOpened = true
    if (this.failure === null) {
      for (const instance of this.instances) instance.progress.open(this.records.lastOffset)
      this.compaction.open()
    }
    // what these call is not put behind the others, as with async-append-only-log
    while (this.waiting.length > 0) callAll(this.waiting.splice(0, 1), undefined)
  }

  get blockSize () {
    return this.log?.blockSize ?? this.newBlockSize
  }

  /** Whether an append need not wait. */
  get takesAppends () {
    return this.isOpened && this.problem() === null && !this.compaction.isRunning
  }

  /** @returns {Error | null} why no calls are made any more: that of the log, too, which may have failed where nobody waited for its writes, as in a compaction */
  problem () {
    const refusal = this.records?.log.refusal ?? null
    if (refusal !== null) this.fail(refusal, this.isDrained)
    return this.failure
  }

  /** Whether the path leads to the open file, or to the one to which it is being compacted. */
  isAtItsPath () {
    if (this.log === null || this.compaction.isRunning) return true
    try {
      const { dev, ino } = this.records.log.status()
      const found = fs.statSync(this.filename)
      return found.dev === dev && found.ino === ino
    } catch {
      return false
    }
  }

  /**
   * @param {AnyCallback} cb called if the log cannot be used
   * @param {() => void} run
   */
  whenOpen (cb, run) {
    if (!this.isOpened) this.waiting.push(() => this.whenUsable(cb, run))
    else this.whenUsable(cb, run)
  }

  /**
   * @param {AnyCallback} cb
   * @param {() => void} run
   */
  whenUsable (cb, run) {
    const problem = this.problem()
    if (problem === null) run()
    else process.nextTick(cb, problem)
  }

  /**
   * @param {AnyCallback} cb called if the log cannot be used
   * @param {() => void} run when the log is open, and not being compacted
   */
  whenAppendable (cb, run) {
    if (!this.isOpened) this.hasEarlyAppends = true
    this.whenOpen(cb, () => this.compaction.isRunning ? this.compaction.queue.push(() => this.whenAppendable(cb, run)) : run())
  }

  /** @param {import('./instance').Instance} instance */
  add (instance) {
    this.instances.add(instance)
    if (this.isOpened && this.failure === null) instance.progress.open(this.records.lastOffset)
  }

  /**
   * @param {number} offset
   * @param {Done} cb
   */
  del (offset, cb) {
    if (this.compaction.isRunning) return cb(errors.compacting())
    const problem = this.records.problemOf(offset)
    if (problem !== null) cb(problem)
    else this.deletions.del(offset + this.records.shift, offset, cb)
  }

  /** Whether nobody makes calls any more: it is being closed. */
  get isLeft () {
    return [...this.instances].every(({ isEnded }) => isEnded)
  }

  /** Of all instances. @returns {import('./stream').Stream[]} */
  get streams () {
    return [...this.instances].flatMap(({ streams }) => [...streams])
  }

  /** Whether all that was appended is stored. */
  get isDrained () {
    return [...this.instances].every(({ progress }) => progress.isDrained)
  }

  /**
   * @param {number} offset of a record
   * @param {Done} cb called when it is stored; at once, if it is
   */
  whenStored (offset, cb) {
    for (const { progress } of this.instances) if (!progress.isDrained && offset > (progress.since.value ?? -1)) return this.drainAll(cb)
    cb(null)
  }

  /** @param {Done} cb called when all that any of them has appended is stored */
  drainAll (cb) {
    const next = [...this.instances].find(({ progress }) => !progress.isDrained)
    if (next === undefined) cb(null)
    else next.progress.onDrain((err) => err ? cb(err) : this.drainAll(cb))
  }

  // Ends

  /**
   * What was called back at once is not stored: as with async-append-only-log, this is thrown where nobody can catch it, unless a
   * callback waits for it.
   * @param {Error} err
   * @param {boolean} [isTold] whether somebody is told
   */
  fail (err, isTold = false) {
    if (this.failure !== null) return
    this.failure = err
    for (const { progress } of this.instances) if (progress.fail(err)) isTold = true
    this.compaction.fail(err)
    for (const stream of this.streams) stream.fail(err)
    // ssb-db2 ignores the errors of its streams, and its other calls wait for these
    if (this.log === null) process.emitWarning(`a log was not opened: ${err.message}; ssb-db2 waits in vain`, { code: 'FLUMELOG_NOT_OPENED' })
    else if (!isTold) rethrowLater(err)
  }

  /**
   * The last one closes the log.
   * @param {import('./instance').Instance} instance
   * @param {Done} cb
   */
  release (instance, cb) {
    this.instances.delete(instance)
    if (this.instances.size > 0) cb(null)
    else this.close().then(err => cb(err))
  }

  /** @returns {Promise<Error | null>} resolves when the log is closed */
  close () {
    this.closing ??= this.closeLog()
    return /** @type {Promise<Error | null>} */ (this.closing)
  }

  get isClosing () {
    return this.closing !== null
  }

  async closeLog () {
    if (!this.isOpened) await new Promise(resolve => this.waiting.push(() => resolve(null)))
    const { failure, log } = this
    // also those who have it open still: its file was deleted, or replaced
    this.fail(errors.closed(this.filename), true)
    /** @type {Error | null} */
    let err = failure
    if (log !== null) err = await new Promise(resolve => log.close(err => resolve(failure ?? err ?? null)))
    this.onclosed()
    return err
  }
}

/**
 * @param {((data: Buffer) => boolean) | undefined} validate
 * @param {string} filename
 * @returns {((data: Buffer) => boolean) | undefined} the same; what it throws ends the opening, rather than that records are cut
 */
function strict (validate, filename) {
  if (typeof validate !== 'function') return validate
  return (data) => {
    try {
      return validate(data)
    } catch (err) {
      throw errors.validateThrew(filename, err)
    }
  }
}

module.exports = { Store }
