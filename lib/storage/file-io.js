'use strict'

// Reads and writes the open file of a log: small parts with synchronous I/O while that is fast (sync-io.js), others with one system call each.

const fs = require('fs')
const errors = require('../errors')
const { readBuffers, sizeOf, writeBuffers } = require('./buffers')
const { MAX_SYNC_BYTES } = require('./sync-io')

/** @typedef {import('./path-file').Done} Done */

class FileIo {
  /**
   * @param {import('./opened-file').OpenedFile} opened
   * @param {import('./sync-io').SyncIoBudget} budget
   */
  constructor (opened, budget) {
    this.opened = opened
    this.budget = budget
    this.sharedBuffer = Buffer.allocUnsafeSlow(MAX_SYNC_BYTES)
    this.pendingCalls = 0
    this.isSyncing = false
    /** Fsyncs that wait for the one in progress. @type {Done[]} */
    this.waitingSyncs = []
    /** Why no fsync can succeed any more; and why none could before the process took the lock. @type {Error | null} */
    this.syncFailure = this.earlierFailure = null
    /** Called when no call is in progress any more; null: it is not to be closed. @type {(() => void) | null} */
    this.onidle = null
  }

  get isClosing () {
    return this.onidle !== null
  }

  /**
   * After each fsync; as of a write, whether the call slept tells whether it has waited, as on a network.
   * @param {Done} cb
   */
  checkPath (cb) {
    const { opened, budget } = this
    if (this.isClosing || !budget.start(0, true) || budget.mustDefer) return opened.checkPath(cb)
    const problem = opened.problemOf(() => opened.stat())
    budget.finish()
    cb(problem)
  }

  /**
   * @param {Buffer} data
   * @param {number} offset
   * @param {number} size
   * @returns {boolean} whether it read all
   */
  readSync (data, offset, size) {
    const { opened } = this
    try {
      return fs.readSync(opened.at(offset).fd, data, 0, size, offset) === size
    } catch {
      return false
    } finally {
      this.budget.finish()
    }
  }

  /** @type {import('./path-file').LogFile['readSmall']} */
  readSmall (offset, size, isShared, cb) {
    // not when the call is being timed: it may collect garbage
    const data = isShared ? this.sharedBuffer : Buffer.allocUnsafeSlow(size)
    if (!this.isClosing && this.budget.start(size)) {
      if (this.budget.mustDefer) return this.deferRead(() => this.readSmall(offset, size, isShared, cb), offset)
      if (this.readSync(data, offset, size)) return cb(null, data)
    }
    this.readInto(offset, [isShared ? Buffer.allocUnsafeSlow(size) : data], (err, buffers) => err ? cb(err) : cb(null, /** @type {Buffer[]} */ (buffers)[0]))
  }

  /**
   * @param {() => void} read
   * @param {number} offset
   */
  deferRead (read, offset) {
    const used = this.opened.use(offset)
    this.budget.defer(() => {
      read()
      this.opened.release(used)
    })
  }

  /**
   * One system call, unless that reads less: a trip through the thread pool costs about as much as reading 64 KiB.
   * @param {number} offset
   * @param {Buffer[]} buffers to be filled
   * @param {(err: Error | null, buffers?: Buffer[]) => void} cb
   * @param {import('./opened-file').Used} [used] the file that is read
   */
  readInto (offset, buffers, cb, used = this.opened.at(offset)) {
    const { opened, opened: { filename } } = this
    if (this.isClosing || opened.fd === -1) return process.nextTick(cb, errors.closed(filename))
    if (used.fd === -1) return process.nextTick(cb, errors.compacted(filename))
    used.pending++
    this.pendingCalls++
    readBuffers(used.fd, buffers, offset, (err, isShort) => {
      this.endCall()
      if (err) cb(err)
      else if (isShort) cb(used.isReplaced ? errors.compacted(filename) : errors.shortRead(filename, offset, sizeOf(buffers)))
      else cb(null, buffers)
      opened.release(used)
    })
  }

  /** @type {import('./path-file').LogFile['writeMany']} */
  writeMany (offset, buffers, cb) {
    const { budget, opened } = this
    const size = sizeOf(buffers)
    if (!this.isClosing && budget.start(size, true)) {
      if (budget.mustDefer) return budget.defer(() => this.writeMany(offset, buffers, cb))
      const isDone = this.writeSync(offset, buffers, size)
      budget.finish()
      if (isDone) return cb(null)
    }
    this.call(done => writeBuffers(opened.fd, buffers, offset, done), cb)
  }

  /**
   * @param {number} offset
   * @param {Buffer[]} buffers
   * @param {number} size of them
   * @returns {boolean} whether it wrote all
   */
  writeSync (offset, buffers, size) {
    const { fd } = this.opened
    try {
      return (buffers.length === 1 ? fs.writeSync(fd, buffers[0], 0, size, offset) : fs.writevSync(fd, buffers, offset)) === size
    } catch {
      return false
    }
  }

  /**
   * One fsync at a time, and none after one that has failed: Linux reports a failure once, and fsyncs that run at the same time or later
   * succeed, though none of them has written the data (fsync(2)).
   * @param {Done} cb
   */
  sync (cb) {
    if (this.syncFailure !== null) return process.nextTick(cb, this.syncFailure)
    if (this.isSyncing) {
      this.waitingSyncs.push(cb)
      return
    }
    this.isSyncing = true
    this.call((done) => fs.fdatasync(this.opened.fd, done), (err) => {
      this.isSyncing = false
      this.syncFailure ??= err
      cb(err)
      for (const waiting of this.waitingSyncs.splice(0)) this.sync(waiting)
    })
  }

  /** The process has the lock, and recovers the log as if it had just opened it: what a failed fsync has left unwritten is written again. */
  startRecovery () {
    this.earlierFailure = this.syncFailure
    this.syncFailure = null
  }

  /** The process releases the lock, and has not recovered the log. */
  giveUpRecovery () {
    this.syncFailure ??= this.earlierFailure
  }

  /**
   * @param {(done: (err: any, result?: any) => void) => void} run a call that uses the file that is open now, which is not closed before it has ended
   * @param {(err: any, result?: any) => void} cb
   */
  call (run, cb) {
    const { opened } = this
    if (this.isClosing) return process.nextTick(cb, errors.closed(opened.filename))
    const used = opened.use(Infinity)
    this.pendingCalls++
    run((err, result) => {
      this.endCall()
      opened.release(used)
      cb(err, result)
    })
  }

  endCall () {
    if (--this.pendingCalls === 0 && this.onidle !== null) this.onidle()
  }

  /** @param {() => void} onidle called when no call is in progress any more; none is made from now on */
  close (onidle) {
    this.onidle = onidle
    if (this.pendingCalls === 0) onidle()
  }
}

module.exports = { FileIo }
