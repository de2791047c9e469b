'use strict'

// The locks of fs-native-extensions, taken by calling libc: Bun and Deno kill the process
// when that package is used, since they lack functions of libuv. These locks and its own
// exclude each other, so a log is safe when programs on different runtimes open it.

const { createRequire } = require('module')

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

/** Where libc is; on Linux, that of glibc or musl. @type {Record<string, string[]>} */
const LIBRARIES = {
  'linux x64': ['libc.so.6', 'libc.musl-x86_64.so.1'],
  'linux arm64': ['libc.so.6', 'libc.musl-aarch64.so.1'],
  'darwin x64': ['/usr/lib/libSystem.B.dylib'],
  'darwin arm64': ['/usr/lib/libSystem.B.dylib']
}

/** @typedef {{ tryLock: (fd: number, options?: { shared: boolean }) => boolean, unlock: (fd: number) => void }} Locks */

/** @returns {Locks} Throws if libc cannot be called here. The message says why not, and what to do */
function libcLocks () {
  const libraries = LIBRARIES[`${process.platform} ${process.arch}`]
  if (libraries === undefined) throw new Error(`no locks for ${process.platform} on ${process.arch}`)
  const isLinux = process.platform === 'linux'
  const call = openFunction(libraries, isLinux ? 'fcntl' : 'flock', isLinux ? ['i32', 'i32', 'buffer'] : ['i32', 'i32'])
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

/**
 * @param {string[]} libraries the first one that exists is used
 * @param {string} name of a function that returns an int
 * @param {('i32' | 'buffer')[]} parameters
 * @returns {(...args: any[]) => number}
 */
function openFunction (libraries, name, parameters) {
  let missing
  for (const library of libraries) {
    try {
      return process.versions.bun === undefined ? denoFunction(library, name, parameters) : bunFunction(library, name, parameters)
    } catch (err) {
      missing = err
    }
  }
  throw missing
}

/** @type {(library: string, name: string, parameters: ('i32' | 'buffer')[]) => (...args: any[]) => number} */
function bunFunction (library, name, parameters) {
  // not `require`: bundlers would look for the module
  const { dlopen } = createRequire(__filename)('bun:ffi')
  const args = parameters.map(type => type === 'buffer' ? 'ptr' : type)
  return dlopen(library, { [name]: { args, returns: 'i32' } }).symbols[name]
}

/** @type {(library: string, name: string, parameters: ('i32' | 'buffer')[]) => (...args: any[]) => number} */
function denoFunction (library, name, parameters) {
  const Deno = /** @type {any} */ (globalThis).Deno
  if (Deno === undefined) throw new Error('the global Deno is missing in this vm context')
  const [major, minor] = Deno.version.deno.split('.').map(Number)
  // older ones number files themselves: to libc, the number would be another file
  if (major < 2 || (major === 2 && minor < 7)) throw new Error('Deno 2.7 or newer is needed')
  // if it is not granted yet, dlopen would ask on the terminal
  if (Deno.permissions.querySync({ name: 'ffi', path: library }).state !== 'granted') throw new Error('Deno needs --allow-ffi')
  return Deno.dlopen(library, { [name]: { parameters, result: 'i32' } }).symbols[name]
}

module.exports = { libcLocks }
