'use strict'

// Reads and writes the open file of a log: small parts with synchronous I/O while that is fast (sync-io.js), others with one system call each.
// What a call does not do completely is left to the storage, which can continue after a part, or give the error.

const fs = require('fs')
const errors = require('../errors')
const { sizeOf } = require('./buffers')
const { datasync } = require('./datasync')
const { MAX_SYNC_BYTES } = require('./sync-io')

/** @typedef {import('./path-file').Done} Done */

class FileIo {
  /**
   * @param {import('./opened-file').OpenedFile} opened
   * @param {import('./path-file').LogFile} file of the storage
   * @param {import('./sync-io').SyncIoBudget} budget
   */
  constructor (opened, file, budget) {
    this.opened = opened
    this.file = file
    this.budget = budget
    this.sharedBuffer = Buffer.allocUnsafeSlow(MAX_SYNC_BYTES)
    /** Calls that bypass the storage, which therefore would not wait for them before it closes. */
    this.pendingCalls = 0
    /** Once it is to be closed. @type {(() => void) | null} */
    this.closeStorage = null
  }

  get isClosing () {
    return this.closeStorage !== null
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
   * @param {number} offset
   * @param {number} size
   * @returns {Buffer | null}
   */
  readNow (offset, size) {
    if (this.isClosing || this.budget.mustDefer || !this.budget.start(size)) return null
    return this.readSync(this.sharedBuffer, offset, size) ? this.sharedBuffer : null
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
      return fs.readSync(offset < opened.base ? opened.previous.fd : opened.fd, data, 0, size, offset) === size
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
   * The same for writes.
   * @param {number} size
   * @param {() => number} writeSync
   * @param {Done} cb
   * @param {() => void} writeAsync
   */
  writeSmall (size, writeSync, cb, writeAsync) {
    const { budget } = this
    if (this.isClosing || !budget.start(size, true)) return writeAsync()
    if (budget.mustDefer) return budget.defer(() => this.writeSmall(size, writeSync, cb, writeAsync))
    const isDone = isComplete(writeSync, size)
    budget.finish()
    if (isDone) cb(null)
    else writeAsync()
  }

  /** @type {import('./path-file').LogFile['write']} */
  write (offset, data, cb) {
    const size = data.length
    this.writeSmall(size, () => fs.writeSync(this.opened.fd, data, 0, size, offset), cb, () => this.file.write(offset, data, cb))
  }

  /** @type {import('./path-file').LogFile['writeMany']} */
  writeMany (offset, buffers, cb) {
    const { file, opened } = this
    const size = sizeOf(buffers)
    this.writeSmall(size, () => fs.writevSync(opened.fd, buffers, offset), cb, () => {
      if (this.isClosing) return file.writeMany(offset, buffers, cb)
      this.pendingCalls++
      fs.writev(opened.fd, buffers, offset, (err, bytesWritten) => {
        this.endCall()
        if (err || bytesWritten < size) file.writeMany(offset, buffers, cb)
        else cb(null)
      })
    })
  }

  /**
   * One system call: a trip through the thread pool costs about as much as reading 64 KiB.
   * @param {number} offset
   * @param {Buffer[]} buffers to be filled
   * @param {(err: Error | null, buffers?: Buffer[]) => void} cb given these, or others
   */
  readInto (offset, buffers, cb) {
    const { opened, file } = this
    if (this.isClosing) return process.nextTick(cb, errors.closed(opened.filename))
    const used = opened.use(offset)
    if (used.fd === -1 && used.isReplaced) return process.nextTick(cb, errors.compacted(opened.filename))
    this.pendingCalls++
    fs.readv(used.isReplaced ? used.fd : opened.fd, buffers, offset, (err, bytesRead) => {
      this.endCall()
      const isDone = !err && bytesRead === sizeOf(buffers)
      if (isDone) cb(null, buffers)
      else if (used.isReplaced) cb(err ?? errors.compacted(opened.filename))
      else file.readMany(offset, buffers.map(({ length }) => length), null, cb)
      opened.release(used)
    })
  }

  /** @param {Done} cb */
  sync (cb) {
    const { opened } = this
    const done = opened.using(cb)
    if (process.permission === undefined) fs.fdatasync(opened.fd, done)
    else datasync(opened.fd, opened.location.path).then(() => done(null), done)
  }

  /**
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>}
   */
  async call (run) {
    if (this.isClosing) throw errors.closed(this.opened.filename)
    this.pendingCalls++
    try {
      return await run()
    } finally {
      this.endCall()
    }
  }

  endCall () {
    if (--this.pendingCalls === 0 && this.closeStorage !== null) this.closeStorage()
  }

  /** @param {() => void} closeStorage called when no call is in progress */
  close (closeStorage) {
    this.closeStorage = closeStorage
    if (this.pendingCalls === 0) closeStorage()
  }
}

/**
 * @param {() => number} call
 * @param {number} size
 * @returns {boolean} whether the call did all of `size` bytes
 */
function isComplete (call, size) {
  try {
    return call() === size
  } catch {
    return false
  }
}

module.exports = { FileIo }
