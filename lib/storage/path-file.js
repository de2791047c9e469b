'use strict'

// A log's file by its path, with its lock, its recovery point and the files that keep what
// recovery truncated. It has the same interface as a random-access-storage (storage-file.js);
// members that a storage does not support are null there.

const fs = require('fs')
const path = require('path')
const { callbackify, promisify } = require('util')
const RandomAccessFile = require('random-access-file')
const errors = require('../errors')
const { systemClock } = require('../clock')
const { sizeOf } = require('./buffers')
const { countFile } = require('./count-file')
const { writeCutFile } = require('./cut-file')
const { datasync, explained } = require('./datasync')
const { syncFolder } = require('./directory')
const { Holes } = require('./holes')
const { inherit } = require('./inherit')
const { hasRoomForSuffix, locate } = require('./location')
const { lastNonZero } = require('./last-data')
const { acquireLock, canLock, tryLock, unlock } = require('./lock')
const { pointFile } = require('./recovery-point')
const { storageFile } = require('./storage-file')
const { SyncIoBudget, MAX_SYNC_BYTES } = require('./sync-io')
const { watch } = require('./watch')

/** Bytes of the blocks that a file's status counts, on all platforms. */
const STAT_BLOCK_SIZE = 512
/** How often the file is opened again that was replaced before its lock was taken. */
const MAX_OPENS = 10

/**
 * @typedef {(err: Error | null | undefined) => void} Done
 *
 * @typedef {object} LogFile
 * @property {string | null} filename as the caller gave it
 * @property {(cb: Done) => void} open
 * @property {(cb: (err: Error | null, bytes?: number) => void) => void} size
 * @property {(offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void} read
 * @property {(offset: number, size: number) => Buffer | null} readNow for small reads: the bytes, in a buffer that may be longer
 *   and is valid only until the next read; null: call `readSmall`
 * @property {(offset: number, size: number, isShared: boolean, cb: (err: Error | null, data?: Buffer) => void) => void} readSmall
 *   for small reads that a caller waits for; may call back at once. If `isShared`, the data may be longer, and is valid
 *   only until the next call of this
 * @property {(offset: number, sizes: number[], into: Buffer[] | null, cb: (err: Error | null, buffers?: Buffer[]) => void) => void} readMany
 *   what follows `offset`, in buffers of these sizes: in those of `into`, if there are any and the storage can, or in new ones
 * @property {(offset: number, data: Buffer, cb: Done) => void} write may call back at once
 * @property {(offset: number, buffers: Buffer[], cb: Done) => void} writeMany one after the other; may call back at once
 * @property {(offset: number, cb: Done) => void} truncate
 * @property {(offset: number, length: number, cb: Done) => void} punch frees the space of these bytes, which end within the file and read as
 *   zeros afterwards: of their whole pages of 4096 bytes; of others, and where that is not possible, zeros are written. Not durable before `sync`
 * @property {((fd: number) => void) | null} prepareSuccessor gives another open file the log's mode, owner and lock
 * @property {((cb: (err: Error | null, fd?: number) => void) => void) | null} openSuccessor opens the file that has the log's name by now
 * @property {((fd: number, base: number) => void) | null} moveTo that file has the log's name by now: what is at `base` or after it is read from there,
 *   what is before it from the file that it has replaced, for as long as reads of that are pending
 * @property {() => number | null} allocated bytes that the file takes; null: not known, or not open. Uses synchronous I/O
 * @property {() => boolean | null} canPunch whether space is freed; false: zeros are written. null: not known yet
 * @property {(cb: Done) => void} sync makes durable what was written before the call
 * @property {(cb: Done) => void} close
 * @property {import('./recovery-point').PointFile | null} point
 * @property {import('./count-file').CountFile | null} countFile
 * @property {(offset: number, end: number, cb: (err: Error | null, name?: string) => void) => void} keepCut
 *   copies the bytes from `offset` to `end` into a file beside the log
 * @property {(size: number, cb: (err: Error | null, offset?: number) => void) => void} [lastNonZero] the offset of the last byte
 *   before `size` that is not zero, -1 if there is none; faster than by `read`
 * @property {((cb: Done) => void) | null} checkPath gives `flumelog:replaced` if the path no longer leads to the open file; may call back at once
 * @property {((onchange: () => void) => import('./watch').Watch) | null} watch tells when the file has changed
 * @property {import('./location').Location | null} location
 * @property {(() => boolean) | null} tryLock takes the lock that excludes other writers, if none has it; null: files cannot be locked here
 * @property {(() => void) | null} unlock
 * @property {() => fs.Stats} status of the open file; uses synchronous I/O
 */

/**
 * One long function, since the calls of an open file share its state and are made once per log.
 * @param {string} filename
 * @param {{ readOnly: boolean, lock: boolean | 'required', blocking?: boolean }} options blocking: see `Options`
 * @param {import('../clock').Clock} [clock]
 * @returns {LogFile}
 */
function pathFile (filename, { readOnly, lock, blocking = true }, clock = systemClock) {
  const location = locate(filename, readOnly)
  const storage = new RandomAccessFile(location.path, { writable: !readOnly })
  const file = storageFile(storage, { readOnly })
  const budget = new SyncIoBudget(blocking, clock)
  const sharedBuffer = Buffer.allocUnsafeSlow(MAX_SYNC_BYTES)
  const point = hasRoomForSuffix(location.path)
    ? pointFile(location.path + '.recovery-point', location.folder, () => promisify(fs.fstat)(storage.fd), blocking)
    : null
  const holes = new Holes(() => storage.fd, promisify(file.write))
  /** Of the open file. */
  let identity = { dev: 0n, ino: 0n }
  /** Of the file that is to take the log's place. */
  let successor = identity
  /** Calls that use the open file, and whether another one has taken its place. */
  let current = { fd: -1, pending: 0, isReplaced: false }
  /** What is before this offset is in the file whose place the open one has taken. */
  let base = 0
  /** That file. */
  let previous = current
  /** Whether `tryLock` has taken the lock. */
  let isOwned = false
  /** Calls that bypass the storage, which therefore would not wait for them before it closes. */
  let pendingCalls = 0
  /** @type {(() => void) | null} */
  let closeStorage = null

  async function open () {
    if (location.problem !== null) throw location.problem
    refuseSpecialFile(location.path, filename)
    for (const folder of location.newFolders) await syncFolder(path.dirname(folder)).catch(err => { throw explained(err, filename) })
    for (let opens = 1; ; opens++) {
      await promisify(file.open)()
      try {
        if (await ownFile(opens === MAX_OPENS)) return
      } catch (err) {
        await new Promise(resolve => storage.close(resolve))
        throw err
      }
      await new Promise(resolve => storage.suspend(resolve))
    }
  }

  /**
   * @param {boolean} isLast
   * @returns {Promise<boolean>} false: another file has taken the place of the open one before this process had its lock, as that of a
   *   log that is repaired in place
   */
  async function ownFile (isLast) {
    const stats = fs.fstatSync(storage.fd, { bigint: true })
    if (!stats.isFile()) throw errors.notRegular(filename)
    identity = stats
    if (lock && !readOnly) {
      acquireLock(filename, storage.fd, lock)
      const problem = /** @type {any} */ (problemOf(() => fs.statSync(location.path, { bigint: true })))
      if (problem !== null && (isLast || problem.code !== 'flumelog:replaced')) throw problem
      if (problem !== null) return false
    }
    // the permission model may not allow it; better known now than when something is appended
    if (process.permission !== undefined && !readOnly) await datasync(storage.fd, location.path).catch(err => { throw explained(err, filename) })
    return true
  }

  /** @type {(cb: Done) => void} */
  function checkPath (cb) {
    // after each fsync; as of a write, whether the call slept tells whether it has waited, as on a network
    if (closeStorage === null && budget.start(0, true) && !budget.mustDefer) {
      const problem = problemOf(() => fs.statSync(location.path, { bigint: true }))
      budget.finish()
      return cb(problem)
    }
    const before = identity
    fs.stat(location.path, { bigint: true }, (err, found) => cb(problemOf(() => {
      if (err) throw err
      return found
    }, before)))
  }

  /**
   * @param {() => fs.BigIntStats} stat of the path
   * @param {{ dev: bigint, ino: bigint }} [before] what was the open file when that was asked for
   * @returns {Error | null} why the path does not lead to the open file
   */
  function problemOf (stat, before = identity) {
    try {
      const { dev, ino } = stat()
      return [before, identity, successor].some(file => file.dev === dev && file.ino === ino) ? null : errors.replaced(filename, 'replaced by another file')
    } catch (err) {
      return isGone(/** @type {any} */ (err)) ? errors.replaced(filename, 'deleted or moved') : /** @type {Error} */ (err)
    }
  }

  /** @type {LogFile['readNow']} */
  function readNow (offset, size) {
    if (closeStorage !== null || budget.mustDefer || !budget.start(size)) return null
    return readSync(sharedBuffer, offset, size) ? sharedBuffer : null
  }

  /** @type {(data: Buffer, offset: number, size: number) => boolean} whether it read all; see `isComplete` */
  function readSync (data, offset, size) {
    try {
      return fs.readSync(offset < base ? previous.fd : storage.fd, data, 0, size, offset) === size
    } catch {
      return false
    } finally {
      budget.finish()
    }
  }

  /** @type {LogFile['readSmall']} */
  function readSmall (offset, size, isShared, cb) {
    // not when the call is being timed: it may collect garbage
    const data = isShared ? sharedBuffer : Buffer.allocUnsafeSlow(size)
    if (closeStorage === null && budget.start(size)) {
      if (budget.mustDefer) return deferRead(() => readSmall(offset, size, isShared, cb), offset)
      if (readSync(data, offset, size)) return cb(null, data)
    }
    readInto(offset, [isShared ? Buffer.allocUnsafeSlow(size) : data], (err, buffers) => err ? cb(err) : cb(null, /** @type {Buffer[]} */ (buffers)[0]))
  }

  /**
   * @param {() => void} read
   * @param {number} offset
   */
  function deferRead (read, offset) {
    const used = use(offset)
    budget.defer(() => {
      read()
      release(used)
    })
  }

  /**
   * The same for writes.
   * @param {number} size
   * @param {() => number} writeSync
   * @param {Done} cb
   * @param {() => void} writeAsync
   */
  function writeSmall (size, writeSync, cb, writeAsync) {
    if (closeStorage !== null || !budget.start(size, true)) return writeAsync()
    if (budget.mustDefer) return budget.defer(() => writeSmall(size, writeSync, cb, writeAsync))
    const isDone = isComplete(writeSync, size)
    budget.finish()
    if (isDone) cb(null)
    else writeAsync()
  }

  /** @type {LogFile['write']} */
  function write (offset, data, cb) {
    const size = data.length
    writeSmall(size, () => fs.writeSync(storage.fd, data, 0, size, offset), cb, () => file.write(offset, data, cb))
  }

  /** @type {LogFile['writeMany']} */
  function writeMany (offset, buffers, cb) {
    const size = sizeOf(buffers)
    writeSmall(size, () => fs.writevSync(storage.fd, buffers, offset), cb, () => {
      if (closeStorage !== null) return file.writeMany(offset, buffers, cb)
      pendingCalls++
      fs.writev(storage.fd, buffers, offset, (err, bytesWritten) => {
        endCall()
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
  function readInto (offset, buffers, cb) {
    if (closeStorage !== null) return process.nextTick(cb, errors.closed(filename))
    const used = use(offset)
    if (used.fd === -1 && used.isReplaced) return process.nextTick(cb, errors.compacted(filename))
    pendingCalls++
    fs.readv(used.isReplaced ? used.fd : storage.fd, buffers, offset, (err, bytesRead) => {
      endCall()
      const isDone = !err && bytesRead === sizeOf(buffers)
      if (isDone) cb(null, buffers)
      else if (used.isReplaced) cb(err ?? errors.compacted(filename))
      else file.readMany(offset, buffers.map(({ length }) => length), null, cb)
      release(used)
    })
  }

  /** @param {number} offset of what is going to be read */
  function use (offset) {
    const used = offset < base ? previous : current
    used.pending++
    return used
  }

  /** @param {{ fd: number, pending: number, isReplaced: boolean }} used the file that another one may have replaced since */
  function release (used) {
    if (--used.pending > 0 || !used.isReplaced || used.fd === -1) return
    fs.close(used.fd, () => {})
    used.fd = -1
  }

  /**
   * @param {(err: any, result?: any) => void} cb of a call of the storage, which uses the file that is open now
   * @returns {(err: any, result?: any) => void} to be called instead: until then that file is not closed
   */
  function using (cb) {
    const used = use(Infinity)
    return (err, result) => {
      release(used)
      cb(err, result)
    }
  }

  /** @type {NonNullable<LogFile['prepareSuccessor']>} */
  function prepareSuccessor (fd) {
    inherit(fd, fs.fstatSync(storage.fd))
    if (lock && !readOnly) acquireLock(String(filename), fd, lock)
    else if (isOwned && !tryLock(fd)) throw errors.locked(String(filename))
    successor = fs.fstatSync(fd, { bigint: true })
  }

  /** @returns {Promise<number>} */
  function openSuccessor () {
    return promisify(fs.open)(location.path, readOnly ? 'r' : 'r+')
  }

  /** @type {NonNullable<LogFile['moveTo']>} */
  function moveTo (fd, newBase) {
    previous = current
    previous.fd = storage.fd
    previous.isReplaced = true
    previous.pending++
    base = newBase
    identity = successor = fs.fstatSync(fd, { bigint: true })
    current = { fd: -1, pending: 0, isReplaced: false }
    storage.fd = fd
    release(previous)
  }

  /** @type {(cb: Done) => void} */
  function sync (cb) {
    const used = use(Infinity)
    const done = (/** @type {Error | null | undefined} */ err) => {
      cb(err)
      release(used)
    }
    if (process.permission === undefined) fs.fdatasync(storage.fd, done)
    else datasync(storage.fd, location.path).then(() => done(null), done)
  }

  /** @type {LogFile['allocated']} */
  function allocated () {
    if (identity.ino === 0n || closeStorage !== null) return null
    try {
      return fs.fstatSync(storage.fd).blocks * STAT_BLOCK_SIZE
    } catch {
      return null
    }
  }

  /** @type {(offset: number, length: number) => Promise<void>} */
  async function punch (offset, length) {
    if (closeStorage !== null) throw errors.closed(filename)
    pendingCalls++
    try {
      await holes.punch(offset, length)
    } finally {
      endCall()
    }
  }

  function endCall () {
    if (--pendingCalls === 0 && closeStorage !== null) closeStorage()
  }

  /** @type {(offset: number, size: number) => Promise<Buffer>} */
  const read = (offset, size) => new Promise((resolve, reject) => {
    file.read(offset, size, (err, data) => err ? reject(err) : resolve(/** @type {Buffer} */ (data)))
  })

  return {
    ...file,
    filename,
    open: callbackify(open),
    size: (cb) => file.size(using(cb)),
    read: (offset, size, cb) => file.read(offset, size, using(cb)),
    readNow,
    readSmall,
    write,
    writeMany,
    punch: callbackify(punch),
    canPunch: () => holes.arePossible,
    allocated,
    readMany: (offset, sizes, into, cb) => readInto(offset, into ?? sizes.map(size => Buffer.allocUnsafeSlow(size)), cb),
    close (cb) {
      closeStorage = () => {
        point?.release()
        file.close(cb)
      }
      if (pendingCalls === 0) closeStorage()
    },
    sync,
    prepareSuccessor,
    openSuccessor: callbackify(openSuccessor),
    moveTo,
    point,
    countFile: point && countFile(location.path + '.record-count', () => storage.fd),
    keepCut: callbackify((/** @type {number} */ offset, /** @type {number} */ end) => writeCutFile(read, location, offset, end)),
    lastNonZero: callbackify((/** @type {number} */ size) => lastNonZero(location.path, size)),
    checkPath,
    location,
    tryLock: canLock ? () => (isOwned = tryLock(storage.fd)) : null,
    unlock () {
      isOwned = false
      unlock(storage.fd)
    },
    status: () => fs.fstatSync(storage.fd),
    watch: (onchange) => watch(location.path, location.path + '.recovery-point', onchange, clock)
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

/**
 * @param {() => number} call
 * @param {number} size
 * @returns {boolean} whether the call did all of `size` bytes; if not, the storage tries again: it can continue after
 *   a part, or give the error
 */
function isComplete (call, size) {
  try {
    return call() === size
  } catch {
    return false
  }
}

module.exports = { pathFile }
