'use strict'

// One writer at a time, across processes.

const errors = require('../errors')

/** What locks files, or why that cannot be loaded; at the start, since loading it takes a while. */
const locking = loadLocking()

let warnedOfLock = false

/**
 * Takes the advisory lock that keeps a second writer out; it goes with the open
 * file, so with the process, however that ends. (The storage's own `lock` option
 * is not used: where the file system has no locks it throws into the event loop.)
 * @param {string} filename
 * @param {number} fd
 * @param {boolean | 'required'} lock
 */
function acquireLock (filename, fd, lock) {
  if (locking.tryLock === undefined) {
    if (lock === 'required') throw errors.noLock(filename, locking.missing)
    if (!warnedOfLock) {
      process.emitWarning('the optional package fs-native-extensions cannot be loaded here, so logs are not locked: ' +
        'two programs that open one log for writing will damage it', { code: 'FLUMELOG_NO_LOCK' })
    }
    warnedOfLock = true
    return
  }
  if (!locking.tryLock(fd)) throw errors.locked(filename)
}

/**
 * Locks a file that tells others, by its lock, that this process is alive. Where that
 * cannot be done, nobody is told.
 * @param {number} fd
 */
function lockIfPossible (fd) {
  try {
    locking.tryLock?.(fd)
  } catch {
    // the file system has no locks
  }
}

/**
 * @param {number} fd open for reading
 * @returns {boolean} whether another open file has it locked by `lockIfPossible`; false if that cannot be known here
 */
function isLocked (fd) {
  try {
    return locking.tryLock?.(fd, { shared: true }) === false
  } catch {
    return false
  }
}

/** @returns {{ tryLock?: (fd: number, options?: { shared: boolean }) => boolean, missing?: unknown }} */
function loadLocking () {
  try {
    return require('fs-native-extensions')
  } catch (missing) {
    return { missing }
  }
}

module.exports = { acquireLock, lockIfPossible, isLocked }
