'use strict'

// The open file of a log: who has locked it, whether the path still leads to it, and which file a read goes to when another one has
// taken its place.

const fs = require('fs')
const path = require('path')
const { promisify } = require('util')
const errors = require('../errors')
const { syncFolder } = require('./directory')
const { inherit } = require('./inherit')
const { acquireLock, tryLock, unlock } = require('./lock')

/** How often the file is opened again that was replaced before its lock was taken. */
const MAX_OPENS = 10

const open = promisify(fs.open)
const close = promisify(fs.close)

/** @typedef {{ fd: number, pending: number, isReplaced: boolean }} Used calls that use a file, and whether another one has taken its place */

class OpenedFile {
  /**
   * @param {string} filename as the caller gave it
   * @param {import('./location').Location} location
   * @param {{ readOnly: boolean, lock: boolean | 'required' }} options
   */
  constructor (filename, location, { readOnly, lock }) {
    this.filename = filename
    this.location = location
    this.readOnly = readOnly
    this.lock = readOnly ? false : lock
    /** Of the open file. */
    this.identity = { dev: 0n, ino: 0n }
    /** Of the file that is to take the log's place. */
    this.successor = this.identity
    /** @type {Used} */
    this.current = { fd: -1, pending: 0, isReplaced: false }
    /** What is before this offset is in the file whose place the open one has taken. */
    this.base = 0
    /** That file. */
    this.previous = this.current
    /** Whether `tryLock` has taken the lock. */
    this.isOwned = false
  }

  get fd () {
    return this.current.fd
  }

  async open () {
    const { filename, location: { problem, path: name, newFolders } } = this
    if (problem !== null) throw problem
    refuseSpecialFile(name, filename)
    for (const folder of newFolders) await syncFolder(path.dirname(folder))
    for (let opens = 1; ; opens++) {
      this.current.fd = await open(name, this.readOnly ? fs.constants.O_RDONLY : fs.constants.O_RDWR | fs.constants.O_CREAT)
      let isOwn = false
      try {
        isOwn = this.own(opens === MAX_OPENS)
      } finally {
        if (!isOwn) await this.close()
      }
      if (isOwn) return
    }
  }

  /**
   * @param {boolean} isLast
   * @returns {boolean} false: another file has taken the place of the open one before this process had its lock, as that of a
   *   log that is repaired in place
   */
  own (isLast) {
    const { filename, fd } = this
    const stats = fs.fstatSync(fd, { bigint: true })
    if (!stats.isFile()) throw errors.notRegular(filename)
    this.identity = stats
    if (this.lock) {
      acquireLock(filename, fd, this.lock)
      const problem = /** @type {any} */ (this.problemOf(() => this.stat()))
      if (problem !== null && (isLast || problem.code !== 'flumelog:replaced')) throw problem
      if (problem !== null) return false
    }
    return true
  }

  /** @returns {fs.BigIntStats} of the path; uses synchronous I/O */
  stat () {
    return fs.statSync(this.location.path, { bigint: true })
  }

  /**
   * @param {() => { dev: bigint, ino: bigint }} stat of the path
   * @param {{ dev: bigint, ino: bigint }} [before] what was the open file when that was asked for
   * @returns {Error | null} why the path does not lead to the open file
   */
  problemOf (stat, before = this.identity) {
    const { filename, identity, successor } = this
    try {
      const { dev, ino } = stat()
      return [before, identity, successor].some(file => file.dev === dev && file.ino === ino) ? null : errors.replaced(filename, 'replaced by another file')
    } catch (err) {
      return isGone(/** @type {any} */ (err)) ? errors.replaced(filename, 'deleted or moved') : /** @type {Error} */ (err)
    }
  }

  /** @param {import('./path-file').Done} cb given why the path does not lead to the open file */
  checkPath (cb) {
    const before = this.identity
    fs.stat(this.location.path, { bigint: true }, (err, found) => cb(this.problemOf(() => {
      if (err) throw err
      return found
    }, before)))
  }

  /**
   * @param {number} offset
   * @returns {Used} the file in which it is
   */
  at (offset) {
    return offset < this.base ? this.previous : this.current
  }

  /** @param {number} offset of what a call is going to use */
  use (offset) {
    const used = this.at(offset)
    used.pending++
    return used
  }

  /** @param {Used} used the file that another one may have replaced since */
  release (used) {
    if (--used.pending > 0 || !used.isReplaced || used.fd === -1) return
    fs.close(used.fd, () => {})
    used.fd = -1
  }

  /** @param {number} fd of the file that is to take the log's place */
  prepareSuccessor (fd) {
    inherit(fd, fs.fstatSync(this.fd))
    if (this.lock) acquireLock(this.filename, fd, this.lock)
    else if (this.isOwned && !tryLock(fd)) throw errors.locked(this.filename)
    this.successor = fs.fstatSync(fd, { bigint: true })
  }

  /** That file does not take the log's place, and may be gone: another one may get its number. */
  forgetSuccessor () {
    this.successor = this.identity
  }

  /** @returns {Promise<number>} the file that has the log's name by now, open */
  async openSuccessor () {
    const fd = await open(this.location.path, this.readOnly ? 'r' : 'r+')
    try {
      this.successor = fs.fstatSync(fd, { bigint: true })
      return fd
    } catch (err) {
      await close(fd)
      throw err
    }
  }

  /**
   * Nothing of it can fail: the log is that file by now.
   * @param {number} fd of the successor, which has the log's name by now
   * @param {number} base what is at this offset or after it is read from there
   */
  moveTo (fd, base) {
    const { current } = this
    current.isReplaced = true
    current.pending++
    this.previous = current
    this.base = base
    this.identity = this.successor
    this.current = { fd, pending: 0, isReplaced: false }
    this.release(current)
  }

  tryLock () {
    this.isOwned = tryLock(this.fd)
    return this.isOwned
  }

  unlock () {
    this.isOwned = false
    unlock(this.fd)
  }

  async close () {
    const { fd } = this
    this.current.fd = -1
    if (fd !== -1) await close(fd)
  }
}

/**
 * Before it is opened: opening a FIFO waits for a process at its other end. Here and elsewhere in an opening, a file's status is asked
 * for at once: that takes a tenth of a trip through the thread pool.
 * @param {string} resolved
 * @param {string} filename as the caller gave it
 */
function refuseSpecialFile (resolved, filename) {
  const stats = fs.statSync(resolved, { throwIfNoEntry: false })
  // opening a directory gives the system's own error
  if (stats !== undefined && !stats.isFile() && !stats.isDirectory()) throw errors.notRegular(filename)
}

/** @param {NodeJS.ErrnoException} err */
function isGone ({ code }) {
  return code === 'ENOENT' || code === 'ENOTDIR'
}

module.exports = { OpenedFile }
