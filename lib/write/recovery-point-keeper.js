'use strict'

// Keeps the recovery point beside the file true: it is there before the file is changed,
// moves up as data becomes durable, keeps deletions until the log has them, and tells
// readers in other processes what has been acknowledged. One operation on the file at a time.

/**
 * @typedef {(err?: Error | null) => void} Done
 * @typedef {import('../recovery/deletions').Deletion} Deletion
 */

/** Bytes that a record takes besides its checksums, about. */
const RECORD_SIZE = 40
/** Bytes of a deletion of a whole block, about. */
const WHOLE_SIZE = 120

class RecoveryPointKeeper {
  /**
   * @param {import('../storage/recovery-point').PointFile | null} point null: the storage has none
   * @param {import('../clock').Clock} clock
   * @param {{ readonly safeEnd: number, readonly acknowledged: number, readonly lastSync: number,
   *   readonly recordCount: import('./record-count').RecordCount }} progress `safeEnd`: up to this offset everything is durable
   *   and never rolled back. `lastSync`: number of the last fsync of the log
   */
  constructor (point, clock, progress) {
    this.point = point
    this.clock = clock
    this.progress = progress
    /** What the recovery point in the file says; -1: there is none. */
    this.offset = -1
    /** Records in front of this offset are counted in it; Infinity: it has no number of records. */
    this.countedEnd = Infinity
    /** Those that the file has, in order, with the number of the fsync that makes them durable in the log. @type {Map<Deletion, number>} */
    this.deletions = new Map()
    /** The number of the last deletion. */
    this.lastNumber = 0
    /** The highest number of one that was dropped from the file, since the log has it. */
    this.dropped = 0
    /** Bytes that they take, about. */
    this.recordedBytes = 0
    /** Whether some of them are written and not durable. */
    this.hasUnsynced = false
    /** Whether the file has, or may have, what must not count: a deletion that failed, or a checksum of a block that was truncated. */
    this.isOutdated = false
    /** Whether an fsync of the file has failed: only another one can be relied on. */
    this.hasFailed = false
    this.isBusy = false
    /** Operations that wait until none is in progress. @type {Array<() => void>} */
    this.waiting = []
    /** Called when none is in progress. @type {(() => void) | null} */
    this.onquiet = null
    this.isHandingOver = false
    this.isStopped = false
    /** Knows where the log starts. @type {import('./trimmer').Trimmer | null} */
    this.trimmer = null
  }

  /** Whether it has to be written before the file is extended. */
  get mustBeWritten () {
    return this.point !== null && (this.offset === -1 || this.isOutdated || this.hasFailed)
  }

  /** Whether deletions have to be dropped before more are recorded. */
  get isLong () {
    return this.point !== null && this.recordedBytes > this.point.maxRecorded
  }

  /**
   * Starts an operation when none is in progress.
   * @param {(end: (err?: Error | null) => void) => void} operation
   * @param {Done} cb called with what `end` is
   */
  whenFree (operation, cb) {
    const run = () => {
      this.isBusy = true
      operation((err) => {
        this.isBusy = false
        cb(err)
        if (this.isBusy) return
        const next = this.waiting.shift()
        if (next === undefined) this.tellQuiet()
        else next()
      })
    }
    if (this.isBusy) this.waiting.push(run)
    else run()
  }

  /**
   * Replaces it by one that says how things stand, without deletions that are durable in the log.
   * @param {Done} cb it is durable
   */
  write (cb) {
    if (this.point === null) cb(null)
    else this.whenFree(end => this.replace(end), cb)
  }

  /** @param {Done} end */
  replace (end) {
    const { safeEnd, acknowledged, lastSync, recordCount } = this.progress
    const trim = this.trimmer?.forPoint(lastSync) ?? {}
    const { start = 0 } = trim
    let { dropped } = this
    const isNeeded = (/** @type {Deletion} */ deletion) => deletion.block >= start && /** @type {number} */ (this.deletions.get(deletion)) > lastSync
    const deletions = [...this.deletions.keys()].filter(isNeeded)
    for (const deletion of this.deletions.keys()) if (!isNeeded(deletion)) dropped = Math.max(dropped, deletion.number ?? 0)
    const point = /** @type {import('../storage/recovery-point').PointFile} */ (this.point)
    const counted = recordCount.markWithout(deletions, this.trimmer?.proposed)
    point.write({ offset: safeEnd, deletions, acknowledged, dropped, counted, ...trim }, (err) => {
      if (!err) {
        this.offset = safeEnd
        this.dropped = dropped
        this.trimmer?.isRecorded(start)
        this.countedEnd = counted?.end ?? Infinity
        this.keepOnly(deletions)
        this.isOutdated = this.hasFailed = this.hasUnsynced = false
      }
      // more may have been acknowledged meanwhile than the new one says
      this.publish()
      end(err)
    })
  }

  /**
   * Moves it up, if that is worth it.
   * @param {number} step bytes
   */
  considerMove (step) {
    if (this.offset === -1 || this.isBusy || this.isStopped || this.isHandingOver) return
    if (this.progress.safeEnd - this.offset < step) return
    // should it fail, the one that is there still holds
    this.write(() => {})
  }

  // Deletions

  /**
   * From then on, a crash of this process does not undo deletions.
   * @param {Deletion[]} deletions
   * @param {Done} cb they are in the file
   */
  record (deletions, cb) {
    const { point } = this
    if (point === null) return cb(null)
    this.whenFree((end) => {
      const mustReplace = this.mustBeWritten
      for (const deletion of deletions) {
        deletion.number = ++this.lastNumber
        this.deletions.set(deletion, Infinity)
      }
      this.recordedBytes += sizeOf(deletions)
      const done = (/** @type {Error | null | undefined} */ err) => {
        if (err) this.withdraw(deletions)
        else if (!mustReplace) this.hasUnsynced = true
        end(err)
      }
      if (mustReplace) this.replace(done)
      else point.record(deletions, done)
    }, cb)
  }

  /** @param {Done} cb what was recorded is durable */
  sync (cb) {
    const { point } = this
    if (point === null) return cb(null)
    this.whenFree((end) => {
      if (!this.hasUnsynced) return end(null)
      if (this.hasFailed) return this.replace(end)
      point.sync((err) => {
        if (err) this.hasFailed = true
        else this.hasUnsynced = false
        end(err)
      })
    }, cb)
  }

  /**
   * These do not take effect: the file must not have them.
   * @param {Deletion[]} deletions
   */
  withdraw (deletions) {
    this.keepOnly([...this.deletions.keys()].filter(deletion => !deletions.includes(deletion)))
    this.isOutdated = true
  }

  /** @param {Deletion[]} deletions */
  keepOnly (deletions) {
    this.deletions = new Map(deletions.map(deletion => [deletion, /** @type {number} */ (this.deletions.get(deletion))]))
    this.recordedBytes = sizeOf(deletions)
  }

  /**
   * @param {Deletion[]} deletions that the log's file has now
   * @param {number} sync number of the fsync that makes them durable there
   */
  applied (deletions, sync) {
    for (const deletion of deletions) if (this.deletions.has(deletion)) this.deletions.set(deletion, sync)
  }

  /** @returns {Set<number>} offsets of blocks that the log may have with and without the records that are deleted in them, after a power cut */
  blocksInDoubt () {
    const { lastSync } = this.progress
    const blocks = new Set()
    for (const [{ block }, sync] of this.deletions) if (sync > lastSync) blocks.add(block)
    return blocks
  }

  /**
   * The log was truncated: of the block in which it ends now, no deletion knows the checksum.
   * @param {number} end offset
   * @param {number} blockSize
   */
  truncated (end, blockSize) {
    for (const deletion of this.deletions.keys()) {
      if (deletion.checksum === null || deletion.block + blockSize <= end) continue
      deletion.checksum = null
      this.isOutdated = true
    }
  }

  /** @param {boolean} isHandingOver from now on: nothing is published, and it is not moved, while another file takes the log's place */
  setHandingOver (isHandingOver) {
    this.isHandingOver = isHandingOver
    if (!isHandingOver) this.publish()
  }

  /**
   * Another file takes the log's place, in which all that was deleted is deleted. Until it has, its recovery point belongs to no file: it
   * is behind the end of the log that is there.
   * @param {Omit<import('../storage/recovery-point').NewPoint, 'deletions'>} next of that file
   * @param {() => Promise<void>} takePlace
   * @param {Done} cb
   */
  handOver (next, takePlace, cb) {
    const point = /** @type {import('../storage/recovery-point').PointFile} */ (this.point)
    this.whenFree((end) => {
      const done = (/** @type {Error | null} */ err) => {
        if (err === null) {
          if (this.offset !== -1) this.offset = next.offset
          this.dropped = this.lastNumber
          this.keepOnly([])
          this.isOutdated = this.hasFailed = this.hasUnsynced = false
        }
        end(err)
      }
      const rename = () => { takePlace().then(() => done(null), done) }
      if (this.offset === -1) return rename()
      this.isOutdated = true
      point.write({ ...next, deletions: [], dropped: this.lastNumber }, (err) => err ? done(err) : rename())
    }, (err) => {
      if (err && this.isOutdated) this.write(() => {})
      cb(err)
    })
  }

  /**
   * Tells readers in other processes what has been acknowledged.
   * @returns {Promise<void> | null} null: it is done
   */
  publish () {
    const isInPlace = this.point !== null && this.offset !== -1 && !this.isStopped && !this.isHandingOver
    return isInPlace ? /** @type {import('../storage/recovery-point').PointFile} */ (this.point).publish(this.progress.acknowledged) : null
  }

  /** The file is about to be closed: nothing more is published, and it is not moved any more. */
  stop () {
    this.isStopped = true
  }

  /**
   * The file says by itself where the log ends, and has all that was deleted.
   * @param {Done} cb
   */
  remove (cb) {
    const { point } = this
    if (point === null) return cb(null)
    this.whenFree((end) => {
      if (this.offset === -1) return end(null)
      point.remove((err) => {
        this.offset = -1
        this.countedEnd = Infinity
        this.dropped = this.lastNumber
        this.keepOnly([])
        this.isOutdated = this.hasFailed = this.hasUnsynced = false
        end(err)
      })
    }, cb)
  }

  /**
   * @param {() => void} cb called when no operation is in progress; one caller at a time
   */
  whenQuiet (cb) {
    this.onquiet = cb
    if (!this.isBusy) this.tellQuiet()
  }

  tellQuiet () {
    const { onquiet } = this
    this.onquiet = null
    if (onquiet !== null) onquiet()
  }
}

/**
 * @param {Deletion[]} deletions
 * @returns {number} bytes that they take, about
 */
function sizeOf (deletions) {
  let size = 0
  for (const { records, whole } of deletions) {
    if (whole !== undefined) size += WHOLE_SIZE
    for (const { replaces } of records) size += RECORD_SIZE + replaces.length * 4 / 3
  }
  return size
}

module.exports = { RecoveryPointKeeper }
