'use strict'

// Decides whether a small read or write uses synchronous I/O. From the page cache that takes
// some 5 µs, where a trip through the thread pool takes 20 to 40; from a device it can take
// milliseconds, during which the event loop stands still. Whether a call will block cannot be
// known in advance, so the log measures each call, and stops making them while they are slow.

const { systemClock } = require('../clock')

// all times are in milliseconds

/** Bytes per read. */
const MAX_SYNC_BYTES = 64 * 1024
/** Bytes per write: some hundred records that came together. A trip through the thread pool takes as long as copying them. */
const MAX_SYNC_WRITE = 512 * 1024
/** A call that takes longer than this, and the time to copy its bytes, may have waited for a device. */
const DEVICE_WAIT = 0.05
/** Bytes that are copied to or from the page cache per millisecond, on a slow machine. */
const COPY_RATE = 1024 * 1024
/** The share of its time that the program may wait for devices. */
const MAX_SHARE = 1 / 20
/** Waiting that may exceed that share for a moment, since any call can be slow. */
const MAX_OVERDRAFT = 1
/** Time between two looks at the scheduler's account, unless calls are watched: a look takes some 10 µs. */
const SCHEDSTAT_INTERVAL = 1
/** Calls that are watched after a slow one for which there was nothing to compare with. */
const WATCHED_CALLS = 16
/** Time in these calls per turn of the event loop; the rest of the turn is for other work. */
const MAX_PER_TURN = 1

class SyncIoBudget {
  /**
   * @param {boolean} isEnabled false: no call is synchronous
   * @param {import('../clock').Clock} [clock]
   */
  constructor (isEnabled, clock = systemClock) {
    this.isEnabled = isEnabled
    this.clock = clock
    /** When the time spent waiting will be down to its share of all time. */
    this.balancedAt = 0
    /** Time in calls in this turn. */
    this.spentInTurn = 0
    this.isTurnEndScheduled = false
    /** Of the call in progress: its start, and its bytes. */
    this.startedAt = 0
    this.size = 0
    this.isWrite = false
    /** Of this turn: between two turns the thread may sleep. null: there are none; undefined: not looked. @type {import('../schedstat').Schedstat | null | undefined} */
    this.schedstat = undefined
    this.schedstatAt = -Infinity
    /** What this thread had fetched from devices, when that was last looked up. @type {number | null | undefined} */
    this.fetched = undefined
    /** Calls before which to look in each turn. */
    this.watched = 0
    /** Calls deferred to the next turn, in order; those before `made` have been made. @type {Array<() => void>} */
    this.deferred = []
    this.made = 0
    /** The next call is one that was deferred. */
    this.isResuming = false
    this.endTurn = this.endTurn.bind(this)
  }

  /**
   * @param {number} size bytes to be read or written
   * @param {boolean} [isWrite]
   * @returns {boolean} true: make the call now, and call `finish`; false: use the thread pool
   */
  start (size, isWrite = false) {
    if (size > (isWrite ? MAX_SYNC_WRITE : MAX_SYNC_BYTES) || !this.isEnabled) return false
    this.size = size
    this.isWrite = isWrite
    if (this.fetched === undefined) this.fetched = this.clock.bytesFetched()
    this.startedAt = this.clock.now()
    if (this.balancedAt - this.startedAt > MAX_OVERDRAFT / MAX_SHARE) return false
    if (!this.mayTellByFetches && this.schedstat === undefined && (this.watched > 0 || this.startedAt - this.schedstatAt > SCHEDSTAT_INTERVAL)) this.look()
    if (this.watched > 0) this.watched--
    return true
  }

  finish () {
    const took = this.clock.now() - this.startedAt
    this.scheduleTurnEnd()
    this.spentInTurn += took
    const excess = took - DEVICE_WAIT - (this.size > MAX_SYNC_BYTES ? this.size / COPY_RATE : 0)
    if (excess > 0 && this.hasWaited(excess)) this.balancedAt = Math.max(this.balancedAt, this.startedAt) + excess / MAX_SHARE
  }

  /** A read waits only if it has to fetch something. */
  get mayTellByFetches () {
    return !this.isWrite && typeof this.fetched === 'number'
  }

  /**
   * Of a slow call.
   * @param {number} excess
   */
  hasWaited (excess) {
    if (!this.mayTellByFetches) return this.hasSlept(excess)
    const before = this.fetched
    this.fetched = this.clock.bytesFetched()
    return this.fetched !== before
  }

  /**
   * A thread that waits for a device sleeps, and for longer than the scheduler has delayed it.
   * @param {number} excess
   */
  hasSlept (excess) {
    const before = this.schedstat
    this.look()
    const after = this.schedstat
    if (before === undefined && after !== null) {
      this.watched = WATCHED_CALLS
      return false
    }
    return !before || !after || (after.sleeps !== before.sleeps && after.delay - before.delay < excess)
  }

  /** Looks at the scheduler's account of this thread. */
  look () {
    this.schedstat = this.clock.schedstat()
    this.schedstatAt = this.clock.now()
  }

  /** Whether the next call has to be deferred to the next turn of the event loop: this one is spent, or others wait. */
  get mustDefer () {
    if (!this.isResuming) return this.isTurnSpent || this.made < this.deferred.length
    this.isResuming = false
    return false
  }

  get isTurnSpent () {
    return this.spentInTurn > MAX_PER_TURN
  }

  /** @param {() => void} call to be made in the next turn, when this one is spent */
  defer (call) {
    this.deferred.push(call)
  }

  scheduleTurnEnd () {
    if (!this.isTurnEndScheduled) this.clock.setImmediate(this.endTurn)
    this.isTurnEndScheduled = true
  }

  endTurn () {
    const { deferred } = this
    this.spentInTurn = 0
    this.schedstat = undefined
    this.isTurnEndScheduled = false
    try {
      while (this.made < deferred.length && !this.isTurnSpent) {
        this.isResuming = true
        deferred[this.made++]()
      }
    } finally {
      // if one throws, the others are made in the next turn
      this.isResuming = false
      deferred.splice(0, this.made)
      this.made = 0
      if (deferred.length > 0) this.scheduleTurnEnd()
    }
  }
}

module.exports = { SyncIoBudget, MAX_SYNC_BYTES }
