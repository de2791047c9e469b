'use strict'

// One writer at a time, across processes.

const { createRequire } = require('module')
const errors = require('../errors')
const { libcLocks } = require('./libc-locks')

/** What locks files, or the reason why nothing here can; loaded at startup, since that is slow. */
const locking = loadLocking()

let warnedOfLock = false

/**
 * Takes the advisory lock that excludes a second writer. It belongs to the open file, so it
 * is released with the process, in whatever way that ends. (The storage's own `lock` option
 * is not used: where the file system has no locks it throws into the event loop.)
 * @param {string} filename
 * @param {number} fd
 * @param {boolean | 'required'} lock
 */
function acquireLock (filename, fd, lock) {
  if (locking.tryLock === undefined) {
    if (lock === 'required') throw errors.noLock(filename, locking.reason, locking.missing)
    if (!warnedOfLock) {
      process.emitWarning(`files cannot be locked here (${locking.reason}), so logs are not locked: ` +
        'two programs that write to one log will corrupt it', { code: 'FLUMELOG_NO_LOCK' })
    }
    warnedOfLock = true
    return
  }
  if (!locking.tryLock(fd)) throw errors.locked(filename)
}

/** Whether files can be locked here. */
const canLock = locking.tryLock !== undefined
/** Undefined if they can. */
const noLockReason = locking.reason

/**
 * Takes the lock of a log, if nobody has it.
 * @param {number} fd
 * @returns {boolean} whether it was taken
 */
function tryLock (fd) {
  return locking.tryLock !== undefined && locking.tryLock(fd)
}

/** @param {number} fd */
function unlock (fd) {
  locking.unlock?.(fd)
}

/**
 * Locks a file to show other processes that this one is alive.
 * @param {number} fd
 * @param {{ shared: boolean }} [options] shared: others can lock it the same way
 * @returns {boolean} false: another process has it locked; true also where files cannot be locked
 */
function lockIfPossible (fd, options) {
  try {
    return locking.tryLock?.(fd, options) !== false
  } catch {
    // the file system has no locks
    return true
  }
}

/**
 * Keeps writers away until the file is closed; others can read it.
 * @param {number} fd open for reading
 * @returns {boolean} false: a writer has it locked. True also where files cannot be locked
 */
function lockForReading (fd) {
  return lockIfPossible(fd, { shared: true })
}

/**
 * @param {number} fd open for reading
 * @returns {boolean} whether another open file has it locked by `lockIfPossible`; false if that cannot be known here
 */
function isLocked (fd) {
  if (!lockForReading(fd)) return true
  try {
    // a writer may be about to lock it
    unlock(fd)
  } catch {
    // the file system has no locks
  }
  return false
}

/** @returns {Partial<import('./libc-locks').Locks> & { missing?: unknown, reason?: string }} */
function loadLocking () {
  const isNode = process.versions.bun === undefined && process.versions.deno === undefined
  try {
    // not `require`: bundlers would stop at the native part
    return isNode ? createRequire(__filename)('fs-native-extensions') : libcLocks()
  } catch (err) {
    const missing = /** @type {Error} */ (err)
    return { missing, reason: isNode ? 'the optional package fs-native-extensions cannot be loaded' : missing.message }
  }
}

module.exports = { acquireLock, canLock, noLockReason, tryLock, unlock, lockIfPossible, lockForReading, isLocked }
