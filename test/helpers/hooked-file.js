'use strict'

// The file of a log, whose reads and writes a test counts, holds back or has fail.

const fs = require('fs')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { newFile } = require('./folder')

/**
 * @typedef {(call: { offset: number, size: number }, run: () => void, cb: (err: Error) => void) => void} OnRead
 * @typedef {(call: { offset: number, buffers: Buffer[] }, run: () => void, cb: (err: Error) => void) => void} OnWrite
 */

const pass = (_, run) => run()

/**
 * @param {string} name
 * @param {import('../../lib/options').Settings} settings
 * @param {{ onread?: OnRead, onwrite?: OnWrite }} hooks each either makes the call, by `run`, or fails it, by `cb`
 * @returns {import('../../lib/storage/path-file').LogFile}
 */
function hookedFile (name, settings, { onread = pass, onwrite = pass }) {
  const file = pathFile(name, settings)
  const { read, readSmall, readMany, write, writeMany } = file
  return Object.assign(file, {
    read: (offset, size, cb) => onread({ offset, size }, () => read.call(file, offset, size, cb), cb),
    readSmall: (offset, size, isShared, cb) => onread({ offset, size }, () => readSmall.call(file, offset, size, isShared, cb), cb),
    readMany: (offset, sizes, into, cb) => {
      const size = sizes.reduce((sum, size) => sum + size, 0)
      onread({ offset, size }, () => readMany.call(file, offset, sizes, into, cb), cb)
    },
    write: (offset, data, cb) => onwrite({ offset, buffers: [data] }, () => write.call(file, offset, data, cb), cb),
    writeMany: (offset, buffers, cb) => onwrite({ offset, buffers }, () => writeMany.call(file, offset, buffers, cb), cb)
  })
}

/**
 * @param {Parameters<typeof hookedFile>[2]} hooks
 * @param {object} [options] of the log
 * @param {string} [name]
 */
function openHooked (hooks, options = {}, name = newFile()) {
  const settings = settingsOf(options)
  return createLog(hookedFile(name, settings, hooks), settings)
}

/**
 * A log whose writes wait until they are released.
 * @param {object} [options]
 */
function openHeld (options) {
  /** @type {Array<() => void>} */
  const held = []
  let isReleased = false
  const log = openHooked({ onwrite: (_, run) => isReleased ? run() : held.push(run) }, options)
  const release = () => {
    isReleased = true
    for (const run of held) run()
  }
  return { log, release }
}

/**
 * A log whose file has room for `capacity` bytes: a write that does not fit fails with ENOSPC.
 * @param {number} capacity
 * @param {{ onfull?: () => void, onsync?: () => void }} [events] onfull: called while such a write is pending
 */
function openSmall (capacity, events = {}) {
  const settings = settingsOf({})
  const file = hookedFile(newFile(), settings, {
    onwrite: ({ offset, buffers }, run, cb) => {
      if (offset + buffers.reduce((sum, { length }) => sum + length, 0) <= capacity) return run()
      events.onfull?.()
      setImmediate(cb, Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }))
    }
  })
  const { sync } = file
  file.sync = (cb) => {
    events.onsync?.()
    sync.call(file, cb)
  }
  return createLog(file, settings)
}

/** Reads, in order, as a hook of `openHooked` notes them. */
class CountedReads {
  constructor () {
    /** @type {Array<{ offset: number, size: number }>} */
    this.reads = []
    /** @type {OnRead} */
    this.onread = (call, run) => {
      this.reads.push(call)
      run()
    }
  }

  forget () {
    this.reads.length = 0
  }
}

/**
 * A log whose reads are answered before their calls return, as small ones of the page cache are.
 * @param {string} name
 * @param {object} [options]
 */
function openImmediate (name, options = {}) {
  const settings = settingsOf(options)
  const file = pathFile(name, settings)
  const readNow = (offset, buffers, cb) => {
    const fd = fs.openSync(name, 'r')
    fs.readvSync(fd, buffers, offset)
    fs.closeSync(fd)
    cb(null, buffers)
  }
  return createLog(Object.assign(file, {
    readSmall: (offset, size, isShared, cb) => readNow(offset, [Buffer.alloc(size)], (err, [data]) => cb(err, data)),
    readMany: (offset, sizes, into, cb) => readNow(offset, into ?? sizes.map(size => Buffer.alloc(size)), cb)
  }), settings)
}

module.exports = { hookedFile, openHooked, openHeld, openSmall, openImmediate, CountedReads }
