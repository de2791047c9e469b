'use strict'

// `fs` over the volumes that are mounted: the calls that the log makes, in their synchronous form, with callbacks and with promises. OPFS
// opens files asynchronously and does all else with synchronous calls, so only what creates a file has no synchronous form.

const { volumes } = require('../mounts')
const { failure, translated } = require('../errors')
const { later } = require('../later')
const { promisify } = require('./util')

/** Those of Linux. */
const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, COPYFILE_EXCL: 1 }
const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC } = constants
/** @type {Record<string, number>} */
const FLAGS = { r: 0, 'r+': O_RDWR, a: O_WRONLY | O_CREAT, w: O_WRONLY | O_CREAT | O_TRUNC, wx: O_WRONLY | O_CREAT | O_EXCL, 'w+': O_RDWR | O_CREAT | O_TRUNC, 'wx+': O_RDWR | O_CREAT | O_EXCL }
const FOLDER = '/'
const FILE_MODE = 0o100600
const FOLDER_MODE = 0o040700
const STAT_BLOCK_SIZE = 512

/** Of the file of a cursor, which the worker locks and writes that holds the cursor. */
const CURSOR = '.cursor-'
/** Of FILE.meta, and of the file that is going to replace it. */
const META = ['.meta', '.meta.new']
/** Bytes at the start of FILE.meta that say up to where appends are acknowledged: see format.md. */
const PUBLISHED_SIZE = 26
/** Of files that count when they have another name. */
const UNFINISHED = '.unfinished'

/**
 * @typedef {import('../inode').Inode} Inode
 * @typedef {import('../shared-volume').SharedVolume} SharedVolume
 * @typedef {{ inode: Inode | null, name: string, isWritable: boolean, isLockedElsewhere: boolean }} OpenFile inode: null: the folder.
 *   isLockedElsewhere: of the file of a cursor in a shared log, when it was opened
 */

/** By file descriptor. @type {Map<number, OpenFile>} */
const files = new Map()
let nextFd = 3

/**
 * @param {string} path of a file: /NAME, or /NAME.suffix
 * @param {string} call
 * @returns {import('../volume').Volume} that of the log with the longest name that it can belong to
 */
function volumeOf (path, call) {
  let found = null
  for (const { mounted } of volumes.values()) {
    if (mounted === null || !(path === FOLDER + mounted.name || path.startsWith(`${FOLDER}${mounted.name}.`))) continue
    if (found === null || mounted.name.length > found.name.length) found = mounted
  }
  if (found === null) throw failure('ENOENT', call, path)
  return found
}

/**
 * @param {string} path
 * @param {string} call
 * @returns {Inode | null} null: the folder
 */
function find (path, call) {
  if (path === FOLDER) return null
  const volume = volumeOf(path, call)
  volume.refresh()
  const inode = volume.inodes.get(path.slice(FOLDER.length))
  if (inode === undefined) throw failure('ENOENT', call, path)
  return inode
}

/** @param {string} path */
function exists (path) {
  try {
    find(path, 'stat')
    return true
  } catch {
    return false
  }
}

/**
 * @param {number} fd
 * @param {string} call
 */
function fileOf (fd, call) {
  const file = files.get(fd)
  if (file === undefined) throw failure('EBADF', call)
  return file
}

/**
 * @param {number} fd
 * @param {string} call
 */
function inodeOf (fd, call) {
  const { inode, isWritable } = fileOf(fd, call)
  if (inode === null || (!isWritable && (call === 'write' || call === 'ftruncate'))) throw failure('EBADF', call)
  return inode
}

/**
 * @template T
 * @param {string} call
 * @param {() => T} run uses a handle
 * @returns {T}
 */
function translating (call, run) {
  try {
    return run()
  } catch (err) {
    throw translated(err, call, '')
  }
}

class Status {
  /**
   * @param {Inode | null} inode null: the folder
   * @param {(value: number) => any} numberOf
   */
  constructor (inode, numberOf) {
    this.isFolder = inode === null
    this.dev = numberOf(inode === null ? 0 : inode.volume.device)
    this.ino = numberOf(inode === null ? 0 : inode.id)
    inode?.volume.refresh()
    this.nlink = numberOf(inode === null ? 1 : inode.names)
    this.mode = numberOf(inode === null ? FOLDER_MODE : FILE_MODE)
    this.uid = this.gid = numberOf(0)
    this.size = numberOf(inode === null ? 0 : inode.size)
    this.blocks = numberOf(inode === null ? 0 : Math.ceil(inode.stored / STAT_BLOCK_SIZE))
  }

  isFile () { return !this.isFolder }
  isDirectory () { return this.isFolder }
  isSymbolicLink () { return false }
}

/**
 * @param {Inode | null} inode
 * @param {{ bigint?: boolean }} [options]
 */
function statusOf (inode, { bigint = false } = {}) {
  return new Status(inode, bigint ? BigInt : Number)
}

/**
 * @param {string} path
 * @param {number} flags
 * @returns {number} a file descriptor
 */
function openExisting (path, flags) {
  if (flags & O_EXCL) throw failure('EEXIST', 'open', path)
  const inode = find(path, 'open')
  // another worker has created it a moment ago, and this one is opening it
  if (inode?.handle === null) throw failure(path.startsWith(`${FOLDER}${inode.volume.name}${UNFINISHED}`) ? 'ENOENT' : 'EBUSY', 'open', path)
  if (inode !== null && flags & O_TRUNC) translating('open', () => inode.truncate(0))
  return openInode(path, inode, flags)
}

/**
 * @param {string} path
 * @param {Inode | null} inode
 * @param {number} flags
 */
function openInode (path, inode, flags) {
  if (inode !== null) inode.opens++
  files.set(nextFd, { inode, name: path, isWritable: (flags & (O_WRONLY | O_RDWR)) !== 0, isLockedElsewhere: false })
  return nextFd++
}

/**
 * @param {string} path
 * @param {string | number} [flags]
 * @returns {Promise<number>}
 */
async function open (path, flags = 'r') {
  const bits = typeof flags === 'number' ? flags : FLAGS[flags]
  const volume = path === FOLDER ? null : volumeOf(path, 'open')
  if (volume?.isShared) return openShared(/** @type {SharedVolume} */ (volume), path, bits)
  return openHere(path, bits)
}

/**
 * @param {string} path
 * @param {number} bits
 * @returns {Promise<number>}
 */
async function openHere (path, bits) {
  if (!(bits & O_CREAT) || exists(path)) return openExisting(path, bits)
  const volume = volumeOf(path, 'open')
  const inode = await volume.create().catch((err) => { throw translated(err, 'open', path) })
  try {
    // another call may have been faster
    if (exists(path)) return openExisting(path, bits)
    volume.change(path.slice(FOLDER.length), inode)
    return openInode(path, inode, bits)
  } finally {
    inode.considerRemoving()
  }
}

/**
 * @param {SharedVolume} volume
 * @param {string} path
 * @param {number} bits
 * @returns {Promise<number>}
 */
async function openShared (volume, path, bits) {
  const name = path.slice(FOLDER.length)
  if (bits & O_CREAT && !volume.isOwner && !exists(path)) await volume.ask({ call: 'create', name })
  const fd = await openWhenReady(volume, name, () => openHere(path, bits))
  const file = fileOf(fd, 'open')
  const { inode } = file
  if (inode === null || !isOfCursor(file)) return fd
  if (file.isWritable) await volume.lockFile(inode)
  else file.isLockedElsewhere = await volume.isLockedElsewhere(inode)
  return fd
}

/**
 * The name may lead to another file at any moment, which this worker has to open first.
 * @param {SharedVolume} volume
 * @param {string} name
 * @param {() => Promise<number>} run
 * @returns {Promise<number>}
 */
async function openWhenReady (volume, name, run) {
  for (;;) {
    await volume.whenOpened(name).catch((err) => { throw translated(err, 'open', name) })
    try {
      return await run()
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'EBUSY') throw err
    }
  }
}

/** @param {OpenFile} file */
function isOfCursor ({ inode, name }) {
  return name.startsWith(`${FOLDER}${inode?.volume.name}${CURSOR}`)
}

/** @param {OpenFile} file that is closed, or unlocked */
function unlock (file) {
  const { inode } = file
  if (inode === null) return
  inode.locks.delete(file)
  if (inode.volume.isShared) /** @type {SharedVolume} */ (inode.volume).unlock(file)
}

/** Calls that are synchronous. @type {Record<string, (...args: any[]) => any>} */
const calls = {
  close (fd) {
    const file = fileOf(fd, 'close')
    files.delete(fd)
    if (file.inode === null) return
    unlock(file)
    file.inode.opens--
    if (file.inode.opens === 0) {
      file.inode.unlock?.()
      file.inode.unlock = null
    }
    file.inode.considerRemoving()
  },
  stat: (path, options) => statusOf(find(path, 'stat'), options),
  lstat: (path, options) => statusOf(find(path, 'lstat'), options),
  fstat: (fd, options) => statusOf(fileOf(fd, 'fstat').inode, options),
  realpath (path) {
    find(path, 'realpath')
    return path
  },
  readdir: () => Array.from(volumes.values(), ({ mounted }) => mounted === null ? [] : [...mounted.inodes.keys()]).flat().sort(),
  unlink (path) {
    if (find(path, 'unlink') !== null) volumeOf(path, 'unlink').change(path.slice(FOLDER.length), null)
  },
  rm (path, { force = false } = {}) {
    if (!force || exists(path)) calls.unlink(path)
  },
  link (from, to) {
    const inode = find(from, 'link')
    if (exists(to)) throw failure('EEXIST', 'link', to)
    volumeOf(to, 'link').change(to.slice(FOLDER.length), inode)
  },
  rename (from, to) {
    const inode = find(from, 'rename')
    const volume = volumeOf(to, 'rename')
    if (inode === null || inode.volume !== volume) throw failure('EINVAL', 'rename', to)
    if (volume.inodes.get(to.slice(FOLDER.length)) !== inode) volume.change(to.slice(FOLDER.length), inode, from.slice(FOLDER.length))
  },
  read (fd, buffer, offset, length, position) {
    return translating('read', () => inodeOf(fd, 'read').read(part(buffer, offset, length), position))
  },
  readv: (fd, buffers, position) => eachBuffer(calls.read, fd, buffers, position),
  write (fd, buffer, offset, length, position) {
    const inode = inodeOf(fd, 'write')
    const bytes = part(buffer, offset, length)
    return translating('write', () => position === 0 && isForReaders(inode, fileOf(fd, 'write').name, length) ? inode.writeLater(bytes) : inode.write(bytes, position))
  },
  writev: (fd, buffers, position) => eachBuffer(calls.write, fd, buffers, position),
  ftruncate (fd, length = 0) {
    translating('ftruncate', () => inodeOf(fd, 'ftruncate').truncate(length))
  },
  fsync (fd) {
    const { inode } = fileOf(fd, 'fsync')
    translating('fsync', () => {
      if (inode !== null) inode.sync()
      else for (const { mounted } of volumes.values()) mounted?.sync()
    })
  },
  fdatasync: (fd) => calls.fsync(fd),
  readFile (path, encoding) {
    const inode = find(path, 'open')
    if (inode === null) throw failure('EINVAL', 'read', path)
    const bytes = Buffer.alloc(inode.size)
    translating('read', () => inode.read(bytes, 0))
    return encoding === undefined ? bytes : bytes.toString(encoding)
  },
  mkdir (path) {
    throw failure('ENOSYS', 'mkdir', path)
  },
  // files have no owner, and no mode
  chmod () {},
  fchmod () {},
  fchown () {}
}

/**
 * Whether what is written to the start of a file is for readers alone: no other worker can have the files of a log open that is not shared.
 * @param {Inode} inode
 * @param {string} name
 * @param {number} length
 */
function isForReaders ({ volume, stored }, name, length) {
  return length === PUBLISHED_SIZE && !volume.isShared && stored >= length && isMeta(volume, name)
}

/**
 * @param {import('../volume').Volume} volume
 * @param {string} name
 */
function isMeta (volume, name) {
  return META.includes(name.slice(FOLDER.length + volume.name.length))
}

/**
 * @param {(fd: number, buffer: Uint8Array, offset: number, length: number, position: number) => number} call reads or writes
 * @param {number} fd
 * @param {Uint8Array[]} buffers
 * @param {number} position
 * @returns {number} bytes done: fewer if the call did less
 */
function eachBuffer (call, fd, buffers, position) {
  let done = 0
  for (const buffer of buffers) {
    const count = call(fd, buffer, 0, buffer.length, position + done)
    done += count
    if (count < buffer.length) break
  }
  return done
}

/**
 * @param {Uint8Array} buffer
 * @param {number} offset
 * @param {number} length
 * @returns {Uint8Array}
 */
function part (buffer, offset, length) {
  return offset === 0 && length === buffer.length ? buffer : new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length)
}

class FileHandle {
  /** @param {number} fd */
  constructor (fd) {
    this.fd = fd
  }

  async close () { calls.close(this.fd) }
  async sync () { calls.fsync(this.fd) }
  async datasync () { calls.fsync(this.fd) }
  async truncate (/** @type {number} */ length) { calls.ftruncate(this.fd, length) }
  async stat (/** @type {any} */ options) { return calls.fstat(this.fd, options) }
  async read (/** @type {Uint8Array} */ buffer, /** @type {number} */ offset, /** @type {number} */ length, /** @type {number} */ position) {
    return { bytesRead: calls.read(this.fd, buffer, offset, length, position), buffer }
  }
}

/** Names of the results of calls with several, for `promisify`. @type {Record<string, string[]>} */
const RESULTS = { read: ['bytesRead', 'buffer'], write: ['bytesWritten', 'buffer'], readv: ['bytesRead', 'buffers'], writev: ['bytesWritten', 'buffers'] }

/** @type {any} */
const fs = { constants, promises: { constants } }

for (const [name, call] of Object.entries(calls)) {
  fs[`${name}Sync`] = call
  // as in Node.js, with promises there is a class in place of file descriptors
  fs.promises[name] = async (/** @type {any[]} */ ...args) => call(...args)
  // at once, as a system call starts at once; what a message has asked for may come in between it and its callback
  fs[name] = (/** @type {any[]} */ ...args) => {
    const cb = args.pop()
    try {
      const result = call(...args)
      later(() => cb(null, result, args[1]))
    } catch (err) {
      later(() => cb(err))
    }
  }
  if (name in RESULTS) {
    const [count, buffer] = RESULTS[name]
    fs[name][promisify.custom] = async (/** @type {any[]} */ ...args) => ({ [count]: call(...args), [buffer]: args[1] })
  }
}
fs.existsSync = exists
for (const name of ['statSync', 'lstatSync']) {
  fs[name] = (/** @type {string} */ path, /** @type {any} */ options = {}) => options.throwIfNoEntry === false && !exists(path) ? undefined : calls.stat(path, options)
}
fs.openSync = (/** @type {string} */ path, /** @type {string | number} */ flags = 'r') => openExisting(path, typeof flags === 'number' ? flags : FLAGS[flags])
fs.open = (/** @type {string} */ path, /** @type {any[]} */ ...rest) => {
  const cb = rest.pop()
  open(path, rest[0]).then(fd => later(() => cb(null, fd)), err => later(() => cb(err)))
}
for (const name of /** @type {const} */ (['rename', 'unlink'])) {
  const here = fs.promises[name]
  fs.promises[name] = async (/** @type {string} */ path, /** @type {string} */ to = path) => {
    const volume = /** @type {SharedVolume} */ (volumeOf(path, name))
    if (!volume.isShared || volume.isOwner) return here(path, to)
    if (!exists(path)) throw failure('ENOENT', name, path)
    await volume.ask({ call: name, name: path.slice(FOLDER.length), to: to.slice(FOLDER.length) })
  }
}
fs.promises.readdir = async () => {
  // what they lead to may be opened next, by synchronous calls
  for (const { mounted } of volumes.values()) if (mounted?.isShared) await /** @type {SharedVolume} */ (mounted).whenOpened(mounted.name)
  return calls.readdir()
}
fs.promises.open = async (/** @type {string} */ path, /** @type {string} */ flags) => new FileHandle(await open(path, flags))
// readers poll instead
fs.watch = (/** @type {string} */ path) => { throw failure('ENOSYS', 'watch', path) }

/**
 * Whether no other worker has locked a file of a shared log: its owner has locked all but those of cursors, for as long as they have names.
 * @param {SharedVolume} volume
 * @param {Inode} inode
 * @param {OpenFile} file
 * @param {boolean} shared
 */
function mayLock (volume, inode, file, shared) {
  if (isOfCursor(file)) {
    if (!file.isWritable) return !file.isLockedElsewhere
    // for the next attempt
    if (inode.unlock === null) volume.lockFile(inode)
    return inode.unlock !== null
  }
  if (!shared && !isMeta(volume, file.name)) return volume.lock(file)
  volume.refresh()
  return volume.isOwner || inode.names === 0
}

/** Locks and holes, as the package fs-native-extensions has them: within this worker, unless the log is shared. */
const native = {
  /**
   * @param {number} fd
   * @param {{ shared?: boolean }} [options]
   */
  tryLock (fd, { shared = false } = {}) {
    const file = fileOf(fd, 'lock')
    const inode = inodeOf(fd, 'lock')
    for (const [other, isShared] of inode.locks) if (other !== file && !(shared && isShared)) return false
    if (inode.volume.isShared && !mayLock(/** @type {SharedVolume} */ (inode.volume), inode, file, shared)) return false
    inode.locks.set(file, shared)
    return true
  },
  unlock (/** @type {number} */ fd) {
    unlock(fileOf(fd, 'lock'))
  },
  async trim () {
    throw Object.assign(new Error('OPFS has no holes'), { code: 'ENOTSUP' })
  }
}

fs.native = native

module.exports = fs
