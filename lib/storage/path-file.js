'use strict'

// A log's file by its path, with its lock, its metadata and the files that keep what
// recovery truncated.

const fs = require('fs')
const { promised } = require('../callbacks')
const { systemClock } = require('../clock')
const { writeCutFile } = require('./cut-file')
const { FileIo } = require('./file-io')
const { Holes } = require('./holes')
const { locate } = require('./location')
const { MetadataFile } = require('./metadata-file')
const { OpenedFile } = require('./opened-file')
const { SyncIoBudget } = require('./sync-io')
const { FileWatch } = require('./watch')

/** Bytes of the blocks that a file's status counts, on all platforms. */
const STAT_BLOCK_SIZE = 512

/**
 * @typedef {(err: Error | null | undefined) => void} Done
 *
 * @typedef {object} LogFile
 * @property {string} filename as the caller gave it
 * @property {(offset: number, size: number, cb: (err: Error | null, data?: Buffer) => void) => void} read of the file that is open now: see `moveTo`
 * @property {(offset: number, size: number, isShared: boolean, cb: (err: Error | null, data?: Buffer) => void) => void} readSmall
 *   for small reads that a caller waits for; may call back at once. If `isShared`, the data may be longer, and is valid
 *   only until the next call of this
 * @property {(offset: number, sizes: number[], into: Buffer[] | null, cb: (err: Error | null, buffers?: Buffer[]) => void) => void} readMany
 *   what follows `offset`, in buffers of these sizes: in those of `into`, if there are any, or in new ones
 * @property {(offset: number, data: Buffer, cb: Done) => void} write may call back at once
 * @property {(offset: number, buffers: Buffer[], cb: Done) => void} writeMany one after the other; may call back at once
 * @property {(offset: number, cb: Done) => void} truncate
 * @property {(offset: number, length: number, cb: Done) => void} punch frees the space of these bytes, which end within the file and read as
 *   zeros afterwards: of their whole pages of 4096 bytes; of others, and where that is not possible, zeros are written. Not durable before `sync`
 * @property {(fd: number) => void} prepareSuccessor gives another open file the log's mode, owner and lock
 * @property {() => void} forgetSuccessor it does not take the log's place
 * @property {() => Promise<number>} openSuccessor opens the file that has the log's name by now
 * @property {(fd: number, base: number) => void} moveTo that file has the log's name by now: what is at `base` or after it is read from there,
 *   what is before it from the file that it has replaced, for as long as reads of that are pending
 * @property {() => number | null} allocated bytes that the file takes; null: not known, or not open. Uses synchronous I/O
 * @property {() => boolean | null} canPunch whether space is freed; false: zeros are written. null: not known yet
 * @property {(cb: Done) => void} sync makes durable what was written before the call
 * @property {import('./metadata-file').MetadataFile} metadata
 * @property {(cb: Done) => void} checkPath gives `flumelog:replaced` if the path no longer leads to the open file; may call back at once
 * @property {(onchange: () => void) => import('./watch').FileWatch} watch tells when the file has changed
 * @property {import('./location').Location} location
 * @property {() => boolean} tryLock takes the lock that excludes other writers, if none has it
 * @property {() => void} unlock
 * @property {() => fs.Stats} status of the open file; uses synchronous I/O
 * @property {Io} io with promises
 *
 * @typedef {object} Io for operations on a whole log: opening, recovery, verifying. Operations per record or per block use the callbacks
 * @property {() => Promise<void>} open
 * @property {() => Promise<number>} size in bytes
 * @property {(offset: number, size: number) => Promise<Buffer>} read
 * @property {(offset: number, data: Buffer) => Promise<void>} write
 * @property {(offset: number) => Promise<void>} truncate
 * @property {(offset: number, length: number) => Promise<void>} punch
 * @property {() => Promise<void>} sync
 * @property {() => Promise<void>} close
 * @property {() => Promise<void>} checkPath throws if the path no longer leads to the open file
 * @property {(offset: number, end: number) => Promise<string>} keepCut copies the bytes from `offset` to `end` into a file beside the log
 * @property {import('./metadata-file').MetadataFile} metadata
 */

/**
 * @param {string} filename
 * @param {{ readOnly: boolean, lock: boolean | 'required', blocking?: boolean }} options blocking: see `Options`
 * @returns {LogFile}
 */
function pathFile (filename, { readOnly, lock, blocking = true }) {
  const location = locate(filename, readOnly)
  const opened = new OpenedFile(filename, location, { readOnly, lock })
  const calls = new FileIo(opened, new SyncIoBudget(blocking))
  const status = () => fs.fstatSync(opened.fd)
  const metadata = new MetadataFile(`${location.path}.meta`, location.folder, async () => status())
  const holes = new Holes(() => opened.fd, (offset, data) => promised(cb => calls.writeMany(offset, [data], cb)))
  /** @type {LogFile} */
  const file = {
    filename,
    location,
    metadata,
    status,
    read: (offset, size, cb) => {
      const data = Buffer.allocUnsafeSlow(size)
      calls.readInto(offset, [data], (err) => err ? cb(err) : cb(null, data), opened.current)
    },
    readSmall: (offset, size, isShared, cb) => calls.readSmall(offset, size, isShared, cb),
    readMany: (offset, sizes, into, cb) => calls.readInto(offset, into ?? sizes.map(size => Buffer.allocUnsafeSlow(size)), cb),
    write: (offset, data, cb) => calls.writeMany(offset, [data], cb),
    writeMany: (offset, buffers, cb) => calls.writeMany(offset, buffers, cb),
    truncate: (offset, cb) => calls.call(done => fs.ftruncate(opened.fd, offset, done), cb),
    sync: (cb) => calls.sync(cb),
    punch: (offset, length, cb) => calls.call(done => holes.punch(offset, length).then(() => done(null), done), cb),
    canPunch: () => holes.arePossible,
    allocated: () => opened.identity.ino === 0n || calls.isClosing ? null : allocatedBytes(status),
    checkPath: (cb) => calls.checkPath(cb),
    prepareSuccessor: (fd) => opened.prepareSuccessor(fd),
    forgetSuccessor: () => opened.forgetSuccessor(),
    openSuccessor: () => opened.openSuccessor(),
    moveTo: (fd, base) => opened.moveTo(fd, base),
    tryLock: () => {
      const isOwned = opened.tryLock()
      if (isOwned) calls.startRecovery()
      return isOwned
    },
    unlock: () => {
      // another process may replace it
      metadata.release()
      opened.unlock()
      calls.giveUpRecovery()
    },
    watch: (onchange) => new FileWatch(location.path, `${location.path}.meta`, onchange, systemClock),
    io: {
      metadata,
      open: () => opened.open(),
      // a size from `fstat` is a floating point number to V8, and so would be every offset computed from it
      size: () => promised(cb => calls.call(done => fs.fstat(opened.fd, done), (err, stats) => err ? cb(err) : cb(null, Math.floor(stats.size)))),
      read: (offset, size) => promised(cb => file.read(offset, size, cb)),
      write: (offset, data) => promised(cb => file.write(offset, data, cb)),
      truncate: (offset) => promised(cb => file.truncate(offset, cb)),
      punch: (offset, length) => promised(cb => file.punch(offset, length, cb)),
      sync: () => promised(cb => file.sync(cb)),
      checkPath: () => promised(cb => file.checkPath(cb)),
      keepCut: (offset, end) => writeCutFile(file.io.read, location, offset, end),
      close: async () => {
        await new Promise(resolve => calls.close(() => resolve(null)))
        await metadata.close().catch(() => {})
        await opened.close()
      }
    }
  }
  return file
}

/**
 * @param {() => fs.Stats} status of an open file
 * @returns {number | null} bytes that it takes; null: not known
 */
function allocatedBytes (status) {
  try {
    return status().blocks * STAT_BLOCK_SIZE
  } catch {
    return null
  }
}

module.exports = { pathFile }
