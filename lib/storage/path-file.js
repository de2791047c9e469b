'use strict'

// Where a log's bytes are: a file by its path, with its lock, its recovery point
// and what was cut off it beside it; or any random-access-storage instance,
// which has none of these. Above this file nobody knows which of the two it is.

const fs = require('fs')
const path = require('path')
const { callbackify } = require('util')
const RandomAccessFile = require('random-access-file')
const errors = require('../errors')
const { systemClock } = require('../clock')
const { SyncIoBudget, MOST_BYTES } = require('./sync-io')
const { createBeside, makeFolder, syncFolder, onlyMissing } = require('./directory')
const { acquireLock } = require('./lock')
const { pointFile } = require('./recovery-point')
const { watch } = require('./watch')

const COPY_SIZE = 1024 * 1024

/**
 * @typedef {(err: Error | null | undefined) => void} Done
 * @typedef {{
 *   open: (cb: Done) => void,
 *   read: (offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void,
 *   write: (offset: number, data: Buffer, cb: Done) => void,
 *   truncate: (offset: number, cb: Done) => void,
 *   stat: (cb: (err: Error | null, st?: { size: number, isFile?: () => boolean }) => void) => void,
 *   close: (cb: Done) => void,
 *   filename?: string, fd?: number,
 *   statable?: boolean, truncatable?: boolean, writable?: boolean,
 *   sync?: (cb: Done) => void
 * }} RandomAccessStorage a storage as described by the package random-access-storage;
 *   if it has a method `sync(cb)`, that is called to force data to the disk
 */

/**
 * @typedef {object} LogFile
 * @property {string | null} filename
 * @property {(cb: Done) => void} open
 * @property {(cb: (err: Error | null, bytes?: number) => void) => void} size
 * @property {(offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void} read
 * @property {(offset: number, size: number, isShared: boolean, cb: (err: Error | null, data?: Buffer) => void) => void} readSmall
 *   for little that somebody waits for; may call back at once. If `isShared`, the data may be longer, and is good only
 *   until the next call of this
 * @property {(offset: number, sizes: number[], into: Buffer[] | null, cb: (err: Error | null, buffers?: Buffer[]) => void) => void} readMany
 *   what follows `offset`, in buffers of these sizes: in those of `into`, if there are any and the storage can, or in new ones
 * @property {(offset: number, data: Buffer, cb: Done) => void} write may call back at once
 * @property {(offset: number, buffers: Buffer[], cb: Done) => void} writeMany one after the other; may call back at once
 * @property {(offset: number, cb: Done) => void} truncate
 * @property {(cb: Done) => void} sync what is written is on the disk
 * @property {(cb: Done) => void} close
 * @property {import('./recovery-point').PointFile | null} point
 * @property {(offset: number, end: number, cb: (err: Error | null, name?: string) => void) => void} keepCut
 *   copies the bytes from `offset` to `end` into a file beside the log
 * @property {((cb: Done) => void) | null} checkPath `flumelog:replaced` if the path no longer leads to the open file
 * @property {((onchange: () => void) => import('./watch').Watch) | null} watch tells when the file has changed
 */

/**
 * A log's file by its path.
 * @param {string} filename
 * @param {{ readOnly: boolean, lock: boolean | 'required', blocking?: boolean }} options blocking: see `Options`
 * @param {import('../clock').Clock} [clock]
 * @returns {LogFile}
 */
function pathFile (filename, { readOnly, lock, blocking = true }, clock = systemClock) {
  const storage = new RandomAccessFile(filename, { writable: !readOnly })
  const folder = path.dirname(path.resolve(filename))
  // not later: views pendingCalls flumedb begin to put their files beside the log at once
  const noFolder = readOnly ? null : makeFolder(folder)

  async function open () {
    if (noFolder !== null) throw noFolder
    // a storage creates its file with its first write, and we want the lock before that
    await (readOnly ? opened() : written(0, Buffer.alloc(0)))
    try {
      if (!(await status()).isFile()) throw errors.invalid(`${filename}: not a regular file, so it cannot be a log`)
      if (lock && !readOnly) acquireLock(filename, storage.fd, lock)
    } catch (err) {
      await new Promise(resolve => storage.close(resolve))
      throw err
    }
  }

  const opened = () => new Promise((resolve, reject) => storage.open(settle(resolve, reject)))
  /** @type {() => Promise<fs.Stats>} */
  const status = () => new Promise((resolve, reject) => storage.stat((err, st) => err ? reject(err) : resolve(st)))
  /** @type {(offset: number, data: Buffer) => Promise<void>} */
  const written = (offset, data) => new Promise((resolve, reject) => storage.write(offset, data, settle(resolve, reject)))

  /**
   * @param {number} offset
   * @param {number} end
   */
  async function keepCut (offset, end) {
    const { name, handle } = await createBeside(`${filename}.cut-${offset}`)
    try {
      for (let at = offset; at < end; at += COPY_SIZE) {
        const size = Math.min(COPY_SIZE, end - at)
        // goes on after a short write, as on a disk that is nearly full
        await handle.writeFile(await new Promise((resolve, reject) => {
          storage.read(at, size, (err, data) => err ? reject(err) : resolve(/** @type {Buffer} */ (data)))
        }))
      }
      await handle.sync()
    } catch (err) {
      await fs.promises.unlink(name).catch(() => {})
      throw err
    } finally {
      await handle.close()
    }
    await syncFolder(folder)
    return name
  }

  async function checkPath () {
    const [mine, there] = await Promise.all([
      new Promise((resolve, reject) => fs.fstat(storage.fd, { bigint: true }, (err, st) => err ? reject(err) : resolve(st))),
      fs.promises.stat(filename, { bigint: true }).catch(onlyMissing)
    ])
    if (there === null) throw errors.replaced(filename, 'deleted')
    if (mine.ino !== there.ino || mine.dev !== there.dev) throw errors.replaced(filename, 'replaced by another file')
  }

  const file = storageFile(storage, { readOnly })
  const point = pointFile(filename + '.recovery-point', folder, status)
  const calls = new SyncIoBudget(blocking)
  const sharedBuffer = Buffer.allocUnsafeSlow(MOST_BYTES)
  /** Calls that the storage does not know of, and so would not wait for before it closes. */
  let pendingCalls = 0
  /** @type {(() => void) | null} */
  let closeStorage = null

  /** @type {LogFile['readSmall']} */
  function readSmall (offset, size, isShared, cb) {
    if (closeStorage === null && calls.begin(size)) {
      if (calls.isTurnSpent) return calls.wait(() => readSmall(offset, size, isShared, cb))
      const data = isShared ? sharedBuffer : Buffer.allocUnsafeSlow(size)
      const isDone = isWhole(() => fs.readSync(storage.fd, data, 0, size, offset), size)
      calls.end()
      if (isDone) return cb(null, data)
    }
    readInto(offset, [Buffer.allocUnsafeSlow(size)], (err, buffers) => err ? cb(err) : cb(null, /** @type {Buffer[]} */ (buffers)[0]))
  }

  /**
   * The same for writes; a read does without functions that are made for the call, since a get is that much quicker.
   * @param {number} size
   * @param {() => number} call that blocks
   * @param {Done} cb
   * @param {() => void} otherwise does the same by calls that do not block
   */
  function writeSmall (size, call, cb, otherwise) {
    if (closeStorage !== null || !calls.begin(size)) return otherwise()
    if (calls.isTurnSpent) return calls.wait(() => writeSmall(size, call, cb, otherwise))
    const isDone = isWhole(call, size)
    calls.end()
    if (isDone) cb(null)
    else otherwise()
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
   * One call of the system: a trip to the thread pool costs about as much as reading 64 KiB.
   * @param {number} offset
   * @param {Buffer[]} buffers to be filled
   * @param {(err: Error | null, buffers?: Buffer[]) => void} cb given these, or others
   */
  function readInto (offset, buffers, cb) {
    if (closeStorage !== null) return process.nextTick(cb, errors.closed(filename))
    pendingCalls++
    fs.readv(storage.fd, buffers, offset, (err, bytesRead) => {
      endCall()
      if (err || bytesRead < sizeOf(buffers)) file.readMany(offset, buffers.map(({ length }) => length), null, cb)
      else cb(null, buffers)
    })
  }

  function endCall () {
    if (--pendingCalls === 0 && closeStorage !== null) closeStorage()
  }

  return {
    ...file,
    filename,
    open: callbackify(open),
    readSmall,
    write,
    writeMany,
    readMany: (offset, sizes, into, cb) => readInto(offset, into ?? sizes.map(size => Buffer.allocUnsafeSlow(size)), cb),
    close (cb) {
      closeStorage = () => {
        point.release()
        file.close(cb)
      }
      if (pendingCalls === 0) closeStorage()
    },
    sync: (cb) => fs.fdatasync(storage.fd, cb),
    point,
    keepCut: callbackify(keepCut),
    checkPath: callbackify(checkPath),
    watch: (onchange) => watch(filename, filename + '.recovery-point', onchange, clock)
  }
}

/**
 * A log in a storage that was given ready-made.
 * @param {RandomAccessStorage} storage
 * @param {{ readOnly: boolean }} options
 * @returns {LogFile}
 */
function storageFile (storage, { readOnly }) {
  /** @type {LogFile['read']} */
  const read = (offset, size, cb) => storage.read(offset, size, cb)
  /** @type {LogFile['write']} */
  const write = (offset, data, cb) => storage.write(offset, data, cb)

  return {
    filename: storage.filename || null,
    open: (cb) => storage.open((err) => {
      // a random-access-file makes its file only when something is written
      if (!readOnly && /** @type {NodeJS.ErrnoException | null | undefined} */ (err)?.code === 'ENOENT') storage.write(0, Buffer.alloc(0), cb)
      else cb(err)
    }),
    size: (cb) => storage.stat((err, st) => {
      if (err && /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') cb(null, 0)
      else if (err) cb(err)
      // a size from `stat` is a floating point number to V8, and so would each offset be that is computed from it
      else cb(null, Math.floor(/** @type {{ size: number }} */ (st).size))
    }),
    read,
    readSmall: (offset, size, isShared, cb) => read(offset, size, cb),
    readMany: readEach(read),
    write,
    writeMany: writeJoined(write),
    truncate: (offset, cb) => storage.truncatable === false ? process.nextTick(cb, null) : storage.truncate(offset, cb),
    sync: (cb) => {
      if (typeof storage.sync === 'function') storage.sync(cb)
      else if (storage instanceof RandomAccessFile && storage.fd) fs.fdatasync(storage.fd, cb)
      else process.nextTick(cb, null)
    },
    close: (cb) => storage.close(cb),
    point: null,
    keepCut: (offset, end, cb) => process.nextTick(cb, null),
    checkPath: null,
    watch: null
  }
}

/**
 * @param {() => number} call
 * @param {number} size
 * @returns {boolean} whether the call did all of `size` bytes; if not, the storage tries again, which knows how to go
 *   on after a part of it, or gives the error
 */
function isWhole (call, size) {
  try {
    return call() === size
  } catch {
    return false
  }
}

/**
 * Reads several buffers by a read for each.
 * @param {LogFile['read']} read
 * @returns {LogFile['readMany']}
 */
function readEach (read) {
  return (offset, sizes, into, cb) => {
    /** @type {Buffer[]} */
    const buffers = new Array(sizes.length)
    /** @type {Error | null} */
    let failure = null
    let left = sizes.length
    sizes.forEach((size, index) => {
      read(offset, size, (err, data) => {
        failure ??= err
        buffers[index] = /** @type {Buffer} */ (data)
        if (--left > 0) return
        if (failure !== null) cb(failure)
        else cb(null, buffers)
      })
      offset += size
    })
  }
}

/**
 * Writes several buffers by one write.
 * @param {LogFile['write']} write
 * @returns {LogFile['writeMany']}
 */
function writeJoined (write) {
  return (offset, buffers, cb) => write(offset, Buffer.concat(buffers), cb)
}

/**
 * @param {Uint8Array[]} pieces
 * @returns {number} bytes in all of them
 */
function sizeOf (pieces) {
  let bytes = 0
  for (const piece of pieces) bytes += piece.length
  return bytes
}

/**
 * @param {(value: any) => void} resolve
 * @param {(err: Error) => void} reject
 * @returns {Done}
 */
function settle (resolve, reject) {
  return (err) => err ? reject(err) : resolve(undefined)
}

module.exports = { pathFile, storageFile, readEach, writeJoined, sizeOf }
