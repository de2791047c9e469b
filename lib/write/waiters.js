'use strict'

// Every caller that waits for an offset: appends until they are acknowledged, `onDrain`
// until all before it is, `sync` until all before it is durable. Pure: the writer says how
// far the log has come, and asks for the answers to be given. Each caller is answered exactly
// once, appends in the order of their calls.

const { rethrowLater } = require('../callbacks')
const { CommitGroup } = require('./commit-group')

/**
 * @typedef {(err: Error | null) => void} Answer
 *
 * @typedef {object} Wait for an offset
 * @property {number} end
 * @property {boolean} sync false: acknowledged is enough
 * @property {boolean} takesUnreported whether it gets the error of an append without a callback: those that other processes wait for do not
 * @property {Error | null} error of an append before it that has failed without a callback to tell
 * @property {Answer | undefined} cb
 *
 * @typedef {object} Progress
 * @property {number} acknowledged offset
 * @property {number} synced offset
 */

class Waiters {
  constructor () {
    /** The calls to append since a block or a write was started. */
    this.newest = new CommitGroup(0)
    /** The groups before it that are not acknowledged, oldest first. @type {CommitGroup[]} */
    this.groups = []
    /** `onDrain` and `sync`, in the order of the calls. @type {Wait[]} */
    this.waits = []
    /** Answers to give, in order. @type {Array<{ answer: () => void }>} */
    this.ready = []
    this.isAnswering = false
    /** The first error of an append without a callback that was not reported yet. @type {Error | null} */
    this.unreported = null
    /** Of a client that has become the owner: those of the calls before all of these, which may fail until they are stored. @type {Waiters | null} */
    this.before = null
  }

  // Calls

  /** Calls from now on may be stored by another write than those before. */
  endGroup () {
    if (this.newest.isEmpty) return
    this.groups.push(this.newest)
    this.newest = new CommitGroup(this.newest.count)
  }

  /**
   * @param {number} most offset up to which one write can store records
   * @returns {number | undefined} the last offset before it at which a group ends, or the first one after it
   */
  groupEnd (most) {
    this.endGroup()
    return (this.groups.findLast(({ end }) => end <= most) ?? this.groups[0])?.end
  }

  /**
   * Takes over the appends of another one.
   * @param {Waiters} waiters
   * @param {number} distance by which their records have moved
   * @param {number} lastSeq of the record before them
   */
  takeOver ({ newest, groups }, distance, lastSeq) {
    this.endGroup()
    const moveOffset = (/** @type {number} */ offset) => offset + distance
    // a call that came first and had no records has the seq of the record before it
    const moveSeq = (/** @type {number} */ seq) => seq === -1 ? lastSeq : seq + distance
    if (distance > 0) for (const group of [...groups, newest]) group.move(moveOffset, moveSeq)
    this.groups = this.groups.concat(groups)
    this.newest = newest
  }

  /**
   * The log is another file now.
   * @param {(offset: number) => number} moveOffset
   * @param {(seq: number) => number} moveSeq
   */
  move (moveOffset, moveSeq) {
    for (const group of [...this.groups, this.newest]) group.move(moveOffset, moveSeq)
    for (const wait of this.waits) wait.end = moveOffset(wait.end)
  }

  get hasGroups () {
    return this.groups.length > 0 || !this.newest.isEmpty
  }

  /** The group of the last call that is not acknowledged. @returns {CommitGroup | undefined} */
  get lastGroup () {
    return this.newest.isEmpty ? this.groups[this.groups.length - 1] : this.newest
  }

  /**
   * @param {number} end
   * @param {boolean} sync
   * @param {Answer | undefined} cb
   * @param {boolean} [takesUnreported] whether it gets the error of an append without a callback
   */
  wait (end, sync, cb, takesUnreported = cb !== undefined) {
    this.waits.push({ end, sync, takesUnreported, error: takesUnreported ? this.takeUnreported() : null, cb })
  }

  /**
   * @param {number} written offset
   * @returns {number} the greatest offset, of those that are written, that a caller waits for to be synced
   */
  syncWanted (written) {
    let end = 0
    for (const wait of this.waits) if (wait.sync && wait.end <= written) end = Math.max(end, wait.end)
    return end
  }

  // Progress

  /**
   * Takes out the groups that are stored; they are answered with success.
   * @param {number} written offset
   * @returns {CommitGroup[]} them
   */
  acknowledge (written) {
    const { groups } = this
    let count = 0
    while (count < groups.length && groups[count].end <= written) count++
    const stored = groups.splice(0, count)
    for (const group of stored) this.ready.push(group)
    return stored
  }

  /**
   * Answers waits that are satisfied.
   * @param {Progress} progress
   */
  settle ({ acknowledged, synced }) {
    if (this.waits.length === 0) return
    this.answerWaits(({ end, sync }) => end <= acknowledged && (!sync || end <= synced), null)
  }

  /**
   * A write failed: unacknowledged records are not stored. Their calls get the error, and callers that
   * wait for an offset beyond `acknowledged` now wait for that.
   * @param {number} acknowledged offset
   * @param {Error} error
   * @returns {CommitGroup[]} the groups that are not stored
   */
  rollBack (acknowledged, error) {
    this.endGroup()
    const failed = this.groups
    this.groups = []
    if (failed.some(group => group.hasCallWithoutCallback)) this.failSilently(acknowledged, error)
    for (const wait of this.waits) wait.end = Math.min(wait.end, acknowledged)
    for (const group of failed) {
      group.error = error
      this.ready.push(group)
    }
    return failed
  }

  /**
   * The oldest group, whose records are not stored, gets an error; those behind it do not.
   * @param {Error} error
   * @returns {CommitGroup} the group
   */
  refuseOldest (error) {
    const group = /** @type {CommitGroup} */ (this.groups.shift())
    group.error = error
    this.ready.push(group)
    if (group.hasCallWithoutCallback) this.failSilently(group.end - 1, error)
    return group
  }

  /**
   * An append without a callback has failed: calls that wait for it report the error, or else the next one.
   * @param {number} before an offset before the end of the append
   * @param {Error} error
   */
  failSilently (before, error) {
    const waits = this.waits.filter(({ end, takesUnreported }) => end > before && takesUnreported)
    for (const wait of waits) wait.error ??= error
    if (waits.length === 0) this.refusedSilently(error)
  }

  /**
   * The log has failed: nothing is stored or synced any more.
   * @param {number} acknowledged offset
   * @param {Error} error
   * @returns {CommitGroup[]} the groups that are not stored
   */
  fail (acknowledged, error) {
    const failed = this.rollBack(acknowledged, error)
    this.answerWaits(() => true, error)
    return failed
  }

  /**
   * An append that was refused had no callback.
   * @param {Error} error
   */
  refusedSilently (error) {
    this.unreported ??= error
  }

  /** @returns {Error | null} the first error that was not reported yet; the caller reports it */
  takeUnreported () {
    const earlier = this.before?.takeUnreported() ?? null
    if (earlier !== null) return earlier
    const { unreported } = this
    this.unreported = null
    return unreported
  }

  // Answers

  /**
   * @param {(wait: Wait) => boolean} isOver
   * @param {Error | null} failure
   */
  answerWaits (isOver, failure) {
    const left = []
    for (const wait of this.waits) {
      const { cb, error, takesUnreported } = wait
      if (!isOver(wait)) left.push(wait)
      else if (cb !== undefined) this.ready.push({ answer: () => cb(error ?? failure ?? (takesUnreported ? this.before?.takeUnreported() : null) ?? null) })
    }
    this.waits = left
  }

  /**
   * Gives the answers, in order. What a callback throws concerns its own caller only: it is thrown
   * again on a stack of its own, and the others are answered.
   */
  answer () {
    if (this.isAnswering) return
    this.isAnswering = true
    for (let i = 0; i < this.ready.length;) {
      try {
        this.ready[i].answer()
        i++
      } catch (err) {
        rethrowLater(err)
        // a group continues with the call after the one that threw; every other entry is a single call
        if (!(this.ready[i] instanceof CommitGroup)) i++
      }
    }
    this.ready = []
    this.isAnswering = false
  }
}

module.exports = { Waiters }
