'use strict'

// A log in a random-access-storage that the caller created. It has no lock and no metadata,
// and bytes that recovery truncates are not kept.

const fs = require('fs')
const { callbackify, promisify } = require('util')
const errors = require('../errors')
const { writeZeros } = require('./holes')

/**
 * @typedef {import('./path-file').Done} Done
 * @typedef {object} StorageStat
 * @property {number} size in bytes
 *
 * @typedef {object} RandomAccessStorage a storage as described by the package random-access-storage
 * @property {(cb: Done) => void} open opens it, or creates it
 * @property {(offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void} read reads `size` bytes from `offset` on
 * @property {(offset: number, data: Buffer, cb: Done) => void} write writes all of `data` at `offset`
 * @property {(offset: number, cb: Done) => void} truncate makes it end at `offset`
 * @property {(cb: (err: Error | null, st?: StorageStat) => void) => void} stat gives its size in bytes
 * @property {(cb: Done) => void} close closes it
 * @property {string} [filename] named in messages; default: no name
 * @property {number} [fd] the descriptor of the open file, if it is one
 * @property {boolean} [statable] false: it cannot tell its size
 * @property {boolean} [truncatable] false: it cannot be truncated
 * @property {boolean} [writable] false: it can only be read
 * @property {(cb: Done) => void} [sync] makes durable what was written; default: nothing is done
 */

/**
 * @param {RandomAccessStorage} storage
 * @param {{ readOnly: boolean }} options
 * @returns {import('./path-file').LogFile}
 */
function storageFile (storage, { readOnly }) {
  /** @type {import('./path-file').LogFile['read']} */
  const read = (offset, size, cb) => storage.read(offset, size, cb)
  /** @type {import('./path-file').LogFile['write']} */
  const write = (offset, data, cb) => storage.write(offset, data, cb)

  return {
    filename: storage.filename || null,
    open: (cb) => storage.open((err) => {
      // the package random-access-file creates a file only when something is written
      if (!readOnly && isMissing(err)) storage.write(0, Buffer.alloc(0), cb)
      else cb(err)
    }),
    size: (cb) => storage.stat((err, st) => {
      if (isMissing(err)) cb(null, 0)
      else if (err) cb(err)
      // a size from `stat` is a floating point number to V8, and so would be every offset computed from it
      else cb(null, Math.floor(/** @type {{ size: number }} */ (st).size))
    }),
    read,
    readSmall: (offset, size, isShared, cb) => read(offset, size, cb),
    readMany: readEach(read),
    write,
    writeMany: writeJoined(write),
    truncate: (offset, cb) => storage.truncatable === false ? process.nextTick(cb, null) : storage.truncate(offset, cb),
    punch: callbackify((/** @type {number} */ offset, /** @type {number} */ length) => writeZeros(promisify(write), offset, offset + length)),
    canPunch: () => false,
    prepareSuccessor: null,
    openSuccessor: null,
    moveTo: null,
    allocated: () => null,
    sync: (cb) => {
      if (typeof storage.sync === 'function') storage.sync(cb)
      else if (storage.fd) fs.fdatasync(storage.fd, cb)
      else process.nextTick(cb, null)
    },
    close: (cb) => storage.close(cb),
    metadata: null,
    keepCut: (offset, end, cb) => process.nextTick(cb, null),
    checkPath: null,
    watch: null,
    location: null,
    tryLock: null,
    lockHolder: () => null,
    unlock: null,
    status: () => { throw errors.invalid('a storage has no file') }
  }
}

/**
 * Reads several buffers by one read each.
 * @param {import('./path-file').LogFile['read']} read
 * @returns {import('./path-file').LogFile['readMany']}
 */
function readEach (read) {
  return (offset, sizes, into, cb) => {
    /** @type {Buffer[]} */
    const buffers = new Array(sizes.length)
    /** @type {Error | null} */
    let failure = null
    let pending = sizes.length
    sizes.forEach((size, index) => {
      read(offset, size, (err, data) => {
        failure ??= err
        buffers[index] = /** @type {Buffer} */ (data)
        if (--pending > 0) return
        if (failure !== null) cb(failure)
        else cb(null, buffers)
      })
      offset += size
    })
  }
}

/**
 * Writes several buffers by one write.
 * @param {import('./path-file').LogFile['write']} write
 * @returns {import('./path-file').LogFile['writeMany']}
 */
function writeJoined (write) {
  return (offset, buffers, cb) => write(offset, Buffer.concat(buffers), cb)
}

/** @param {Error | null | undefined} err */
function isMissing (err) {
  return /** @type {NodeJS.ErrnoException | null | undefined} */ (err)?.code === 'ENOENT'
}

module.exports = { readEach, storageFile, writeJoined }
