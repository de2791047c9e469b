'use strict'

// The locks of fs-native-extensions, taken by calling libc: Bun and Deno kill the process
// when that package is used, since they lack functions of libuv. These locks and its own
// exclude each other, so a log is safe when programs on different runtimes open it.

const { libcFunction } = require('./libc')

/** Of <fcntl.h>: a lock belongs to the open file, not to the process, and ends with it. The same on all processors. */
const F_OFD_GETLK = 36
const F_OFD_SETLK = 37
const F_RDLCK = 0
const F_WRLCK = 1
const F_UNLCK = 2
/** Bytes of a `struct flock` on 64-bit Linux; zeros mean the whole file, but for the type, which comes first. */
const FLOCK_SIZE = 32
/** How often a lock that was refused may turn out to be free a moment later. */
const MAX_ATTEMPTS = 100

/** Of <sys/file.h>, on macOS. */
const LOCK_SH = 1
const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8

/** @typedef {{ tryLock: (fd: number, options?: { shared: boolean }) => boolean, unlock: (fd: number) => void }} Locks */

/** @returns {Locks} Throws if libc cannot be called here. The message says why not, and what to do */
function libcLocks () {
  const isLinux = process.platform === 'linux'
  const call = isLinux ? libcFunction('fcntl', ['i32', 'i32', 'buffer']) : libcFunction('flock', ['i32', 'i32'])
  return isLinux ? openFileLocks(call) : wholeFileLocks(call)
}

/**
 * @param {(fd: number, command: number, request: Buffer) => number} fcntl
 * @returns {Locks}
 */
function openFileLocks (fcntl) {
  const request = Buffer.alloc(FLOCK_SIZE)
  /**
   * @param {number} fd
   * @param {number} command
   * @param {number} type
   */
  const call = (fd, command, type) => {
    request.fill(0).writeInt16LE(type)
    return fcntl(fd, command, request) !== -1
  }
  return {
    tryLock (fd, { shared } = { shared: false }) {
      const type = shared ? F_RDLCK : F_WRLCK
      for (let i = 0; i < MAX_ATTEMPTS; i++) {
        if (call(fd, F_OFD_SETLK, type)) return true
        // the runtime may have changed errno by now, so ask whether another lock is the reason
        if (!call(fd, F_OFD_GETLK, type)) break
        if (request.readInt16LE() !== F_UNLCK) return false
      }
      throw Object.assign(new Error(`ENOLCK: file descriptor ${fd} cannot be locked`), { code: 'ENOLCK', syscall: 'fcntl' })
    },
    unlock: (fd) => { call(fd, F_OFD_SETLK, F_UNLCK) }
  }
}

/**
 * Whatever the reason for which a lock is refused, it counts as another's.
 * @param {(fd: number, operation: number) => number} flock
 * @returns {Locks}
 */
function wholeFileLocks (flock) {
  return {
    tryLock: (fd, { shared } = { shared: false }) => flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) === 0,
    unlock: (fd) => { flock(fd, LOCK_UN) }
  }
}

module.exports = { libcLocks }
