'use strict'

// A log in a random-access-storage that the caller created. It has no lock and no recovery
// point, and bytes that recovery truncates are not kept.

const fs = require('fs')
const RandomAccessFile = require('random-access-file')
const errors = require('../errors')
const { readEach, writeJoined } = require('./buffers')

/**
 * @typedef {import('./path-file').Done} Done
 * @typedef {{
 *   open: (cb: Done) => void,
 *   read: (offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void,
 *   write: (offset: number, data: Buffer, cb: Done) => void,
 *   truncate: (offset: number, cb: Done) => void,
 *   stat: (cb: (err: Error | null, st?: { size: number }) => void) => void,
 *   close: (cb: Done) => void,
 *   filename?: string, fd?: number,
 *   statable?: boolean, truncatable?: boolean, writable?: boolean,
 *   sync?: (cb: Done) => void
 * }} RandomAccessStorage a storage as described by the package random-access-storage;
 *   if it has a method `sync(cb)`, that is called to make what was written durable
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
      // a random-access-file creates its file only when something is written
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
    readNow: () => null,
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
    countFile: null,
    keepCut: (offset, end, cb) => process.nextTick(cb, null),
    checkPath: null,
    watch: null,
    location: null,
    tryLock: null,
    unlock: null,
    status: () => { throw errors.invalid('a storage has no file') }
  }
}

/** @param {Error | null | undefined} err */
function isMissing (err) {
  return /** @type {NodeJS.ErrnoException | null | undefined} */ (err)?.code === 'ENOENT'
}

module.exports = { storageFile }
