'use strict'

// Watches the file descriptors of this process: none may be used after it was closed. Can
// also make the disk full. To be required before the log, which keeps functions of `fs`.

const fs = require('fs')

/** Of the arguments of each call that writes: the offset, and the bytes. */
const WRITES = {
  write: ([, data, from, length, offset]) => ({ offset, length }),
  writeSync: ([, data, from, length, offset]) => ({ offset, length }),
  writev: ([, buffers, offset]) => ({ offset, length: sizeOf(buffers) }),
  writevSync: ([, buffers, offset]) => ({ offset, length: sizeOf(buffers) })
}
const OTHERS = ['read', 'readv', 'readSync', 'readvSync', 'fdatasync', 'fsync', 'ftruncate', 'fstat']

/** Those that were opened since, and not closed. */
const open = new Set()
const watch = {
  /** Calls with a descriptor that is not open. @type {string[]} */
  misuses: [],
  /** Bytes that a file can have. */
  capacity: Infinity
}

replaceAll()

/** @returns {typeof watch} */
function watchDescriptors () {
  watch.misuses = []
  watch.capacity = Infinity
  return watch
}

function replaceAll () {
  replace('open', (openFile, ...args) => {
    const cb = args.pop()
    openFile(...args, (err, fd) => {
      if (!err) open.add(fd)
      cb(err, fd)
    })
  })
  replace('openSync', (openSync, ...args) => {
    const fd = openSync(...args)
    open.add(fd)
    return fd
  })
  const openHandle = fs.promises.open
  fs.promises.open = async (...args) => {
    const handle = await openHandle(...args)
    const { fd, close } = handle
    open.add(fd)
    handle.close = () => {
      open.delete(fd)
      return close.call(handle)
    }
    return handle
  }
  for (const name of ['close', 'closeSync']) {
    replace(name, (close, fd, ...args) => {
      check(name, fd)
      open.delete(fd)
      return close(fd, ...args)
    })
  }
  for (const name of OTHERS) {
    replace(name, (call, fd, ...args) => {
      check(name, fd)
      return call(fd, ...args)
    })
  }
  for (const [name, whatOf] of Object.entries(WRITES)) {
    replace(name, (call, ...args) => {
      check(name, args[0])
      const { offset, length } = whatOf(args)
      if (length === 0 || !(offset + length > watch.capacity)) return call(...args)
      const err = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      if (name.endsWith('Sync')) throw err
      setImmediate(args.at(-1), err)
    })
  }
}

/**
 * @param {string} name of a function of `fs`
 * @param {(call: Function, ...args: any[]) => any} wrapper
 */
function replace (name, wrapper) {
  const call = fs[name]
  fs[name] = (...args) => wrapper(call, ...args)
}

/**
 * @param {string} name
 * @param {number} fd
 */
function check (name, fd) {
  if (!open.has(fd) && fd > 2) watch.misuses.push(`${name} of a descriptor that is not open`)
}

function sizeOf (buffers) {
  return buffers.reduce((sum, { length }) => sum + length, 0)
}

module.exports = { watchDescriptors }
