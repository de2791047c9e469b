'use strict'

// `fs` as one simulated process has it: the calls that the log makes, in their synchronous form, with callbacks and with promises. All three
// do the same to the disk; the last two do it at some time between the call and its answer.

const { EventEmitter } = require('events')
const { constants } = require('fs')
const path = require('path')
const { promisify } = require('util')
const { failure } = require('./disk')

const ROOT = path.resolve(__dirname, '..', '..', '..')

const FLAGS = { r: constants.O_RDONLY, 'r+': constants.O_RDWR, w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 'w+': constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC, 'wx+': constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND }

/**
 * @typedef {import('./disk').Inode} Inode
 * @typedef {{ inode: Inode, flags: number, path: string, failedSyncs: number, missedSyncs: number }} OpenFile failedSyncs: all but those of which its holder
 *   hears next; missedSyncs: those before it was opened, of which it never does
 */

/** The calls of one process, as functions that do all at once. */
class Calls {
  /** @param {import('./process').Process} owner */
  constructor (owner) {
    this.owner = owner
    this.disk = owner.world.disk
    /** @type {Map<number, OpenFile>} */
    this.files = new Map()
    this.nextFd = 10
  }

  // Names

  open (name, flags = 'r', mode = 0o666) {
    const bits = typeof flags === 'number' ? flags : FLAGS[flags]
    const { disk } = this
    const { folder, name: last } = disk.parentOf(absolute(name), 'open')
    let inode = last === '' ? disk.root : folder.entries.get(last)
    if (inode?.type === 'link' && (bits & constants.O_NOFOLLOW)) throw failure('ELOOP', 'open', name)
    if (inode?.type === 'link') inode = disk.find(inode.target, 'open')
    if (inode === undefined && !(bits & constants.O_CREAT)) throw failure('ENOENT', 'open', name)
    if (inode !== undefined && (bits & constants.O_EXCL)) throw failure('EEXIST', 'open', name)
    if (inode?.type === 'socket') throw failure('ENXIO', 'open', name)
    if (inode?.type === 'directory' && (bits & 3) !== constants.O_RDONLY) throw failure('EISDIR', 'open', name)
    if (bits & constants.O_DIRECT) throw failure('EINVAL', 'open', name)
    if (inode === undefined) {
      inode = disk.create('file', mode & ~0o022)
      disk.change(folder, { [last]: inode })
    } else if (bits & constants.O_TRUNC) disk.truncate(inode, 0)
    inode.opens++
    const fd = this.nextFd++
    this.files.set(fd, { inode, flags: bits, path: name, failedSyncs: inode.failedSyncs, missedSyncs: inode.failedSyncs })
    return fd
  }

  close (fd) {
    const file = this.file(fd, 'close')
    this.files.delete(fd)
    this.release(file)
  }

  /** @param {OpenFile} file */
  release (file) {
    file.inode.locks.delete(file)
    file.inode.opens--
    this.disk.considerFreeing(file.inode)
  }

  closeAll () {
    for (const file of this.files.values()) this.release(file)
    this.files.clear()
  }

  file (fd, call) {
    const file = this.files.get(fd)
    if (file === undefined) throw failure('EBADF', call, '')
    return file
  }

  stat (name, options = {}) {
    return statusOf(this.disk.find(absolute(name), 'stat'), options)
  }

  lstat (name, options = {}) {
    return statusOf(this.disk.find(absolute(name), 'lstat', false), options)
  }

  fstat (fd, options = {}) {
    return statusOf(this.file(fd, 'fstat').inode, options)
  }

  statfs () {
    const bsize = 4096
    const free = Math.floor(Math.min(2 ** 40, Math.max(0, this.disk.capacity - this.disk.used)) / bsize)
    return { type: 0, bsize, blocks: 2 ** 28, bfree: free, bavail: free, files: 2 ** 20, ffree: 2 ** 20 }
  }

  mkdir (name, options = {}) {
    const { mode = 0o777, recursive = false } = typeof options === 'number' ? { mode: options } : options
    if (recursive) {
      const parts = absolute(name).split('/').filter(part => part !== '')
      for (let i = 1; i <= parts.length; i++) {
        const part = '/' + parts.slice(0, i).join('/')
        if (!this.exists(part)) this.mkdir(part, { mode })
      }
      return undefined
    }
    const { folder, name: last } = this.disk.parentOf(absolute(name), 'mkdir')
    if (folder.entries.has(last) || last === '') throw failure('EEXIST', 'mkdir', name)
    this.disk.change(folder, { [last]: this.disk.create('directory', mode & ~0o022) })
  }

  mkdtemp (prefix) {
    const name = prefix + Array.from({ length: 6 }, () => 'abcdefghijklmnop'[this.owner.random.below(16)]).join('')
    this.mkdir(name, { mode: 0o700 })
    return name
  }

  readdir (name, options = {}) {
    const inode = this.disk.find(absolute(name), 'scandir')
    if (inode.type !== 'directory') throw failure('ENOTDIR', 'scandir', name)
    const names = [...inode.entries.keys()].sort()
    if (!options?.withFileTypes) return names
    return names.map(entry => Object.assign(new Status(/** @type {Inode} */ (inode.entries.get(entry)), SAME), { name: entry, parentPath: name, path: name }))
  }

  rmdir (name) {
    const { folder, name: last } = this.disk.parentOf(absolute(name), 'rmdir')
    const inode = folder.entries.get(last)
    if (inode === undefined) throw failure('ENOENT', 'rmdir', name)
    if (inode.type !== 'directory') throw failure('ENOTDIR', 'rmdir', name)
    if (inode.entries.size > 0) throw failure('ENOTEMPTY', 'rmdir', name)
    this.disk.change(folder, { [last]: null })
  }

  unlink (name) {
    const { folder, name: last } = this.disk.parentOf(absolute(name), 'unlink')
    const inode = folder.entries.get(last)
    if (inode === undefined) throw failure('ENOENT', 'unlink', name)
    if (inode.type === 'directory') throw failure('EISDIR', 'unlink', name)
    this.disk.change(folder, { [last]: null })
  }

  rm (name, { force = false, recursive = false } = {}) {
    if (!this.lexists(name)) {
      if (force) return
      throw failure('ENOENT', 'rm', name)
    }
    const inode = this.disk.find(absolute(name), 'rm', false)
    if (inode.type !== 'directory') return this.unlink(name)
    if (recursive) for (const entry of [...inode.entries.keys()]) this.rm(path.join(name, entry), { recursive })
    this.rmdir(name)
  }

  rename (from, to) {
    const source = this.disk.parentOf(absolute(from), 'rename')
    const target = this.disk.parentOf(absolute(to), 'rename')
    const inode = source.folder.entries.get(source.name)
    if (inode === undefined) throw failure('ENOENT', 'rename', from)
    const there = target.folder.entries.get(target.name)
    if (there === inode) return
    if (there?.type === 'directory') throw failure(inode.type === 'directory' ? 'ENOTEMPTY' : 'EISDIR', 'rename', to)
    if (source.folder !== target.folder) {
      // not one step after a power cut, as between two directories it need not be
      this.disk.change(target.folder, { [target.name]: inode })
      this.disk.change(source.folder, { [source.name]: null })
    } else this.disk.change(source.folder, { [target.name]: inode, [source.name]: null })
  }

  link (from, to) {
    const inode = this.disk.find(absolute(from), 'link', false)
    const { folder, name } = this.disk.parentOf(absolute(to), 'link')
    if (folder.entries.has(name)) throw failure('EEXIST', 'link', to)
    this.disk.change(folder, { [name]: inode })
  }

  symlink (target, name) {
    const { folder, name: last } = this.disk.parentOf(absolute(name), 'symlink')
    if (folder.entries.has(last)) throw failure('EEXIST', 'symlink', name)
    const inode = this.disk.create('link', 0o777)
    inode.target = target
    this.disk.change(folder, { [last]: inode })
  }

  readlink (name) {
    const inode = this.disk.find(absolute(name), 'readlink', false)
    if (inode.type !== 'link') throw failure('EINVAL', 'readlink', name)
    return inode.target
  }

  realpath (name) {
    const { folder, name: last } = this.disk.parentOf(absolute(name), 'realpath')
    const inode = last === '' ? folder : folder.entries.get(last)
    if (inode === undefined) throw failure('ENOENT', 'realpath', name)
    return inode.type === 'link' ? this.realpath(inode.target) : absolute(name)
  }

  exists (name) {
    try {
      this.stat(name)
      return true
    } catch {
      return false
    }
  }

  lexists (name) {
    try {
      this.lstat(name)
      return true
    } catch {
      return false
    }
  }

  // Contents

  read (fd, buffer, offset, length, position) {
    const { inode } = this.file(fd, 'read')
    if (inode.type === 'directory') throw failure('EISDIR', 'read', '')
    return inode.content.readInto(position, buffer.subarray(offset, offset + length))
  }

  readv (fd, buffers, position) {
    let done = 0
    for (const buffer of buffers) done += this.read(fd, buffer, 0, buffer.length, position + done)
    return done
  }

  write (fd, data, offset, length, position) {
    const file = this.file(fd, 'write')
    if ((file.flags & 3) === constants.O_RDONLY) throw failure('EBADF', 'write', '')
    if (length === 0) return 0
    const { tornAt, random, world: { shortWrites } } = this.owner
    const at = position ?? file.inode.size
    if (tornAt > 0) {
      // most of it, often: what is whole of several records, the log could take for stored
      length = random() < 0.5 ? 1 + random.below(length) : Math.max(1, length - random.below(8))
      length -= (at + length) % tornAt
      if (length <= 0) return 0
    }
    // a disk without room, a quota, or a limit to the file's size cuts what is new
    const least = Math.max(1, file.inode.size - at)
    const size = shortWrites > 0 && least < length && random() < shortWrites ? least + random.below(length - least) : length
    return this.disk.write(file.inode, at, Buffer.from(data.buffer, data.byteOffset + offset, size))
  }

  writev (fd, buffers, position) {
    const data = Buffer.concat(buffers)
    return this.write(fd, data, 0, data.length, position)
  }

  ftruncate (fd, length = 0) {
    this.disk.truncate(this.file(fd, 'ftruncate').inode, length)
  }

  fchmod (fd, mode) {
    this.file(fd, 'fchmod').inode.permissions = mode & 0o777
  }

  fchown (fd, uid, gid) {
    setOwner(this.file(fd, 'fchown').inode, uid, gid)
  }

  chmod (name, mode) {
    this.disk.find(absolute(name), 'chmod').permissions = mode & 0o777
  }

  chown (name, uid, gid) {
    setOwner(this.disk.find(absolute(name), 'chown'), uid, gid)
  }

  lchown (name, uid, gid) {
    setOwner(this.disk.find(absolute(name), 'lchown', false), uid, gid)
  }

  readFile (file, options) {
    const encoding = typeof options === 'string' ? options : options?.encoding
    const inode = typeof file === 'number' ? this.file(file, 'read').inode : this.disk.find(absolute(file), 'open')
    if (inode.type === 'directory') throw failure('EISDIR', 'read', '')
    const bytes = inode.content.bytes
    return encoding ? bytes.toString(encoding) : bytes
  }

  writeFile (file, data, options = {}) {
    const bytes = typeof data === 'string' ? Buffer.from(data, options?.encoding ?? (typeof options === 'string' ? options : 'utf8')) : Buffer.from(data)
    const fd = typeof file === 'number' ? file : this.open(file, options?.flag ?? 'w', options?.mode ?? 0o666)
    try {
      const { inode } = this.file(fd, 'write')
      let done = 0
      while (done < bytes.length) done += this.disk.write(inode, typeof file === 'number' ? inode.size : done, bytes.subarray(done))
    } finally {
      if (fd !== file) this.close(fd)
    }
  }

  copyFile (from, to, flags = 0) {
    if (flags & constants.COPYFILE_FICLONE_FORCE) throw failure('ENOTSUP', 'copyfile', from)
    if (flags & constants.COPYFILE_EXCL && this.lexists(to)) throw failure('EEXIST', 'copyfile', to)
    this.writeFile(to, this.readFile(from), {})
  }

  // Locks and holes, as fs-native-extensions has them

  tryLock (fd, { shared = false } = {}) {
    const file = this.file(fd, 'lock')
    for (const [other, isShared] of file.inode.locks) if (other !== file && !(shared && isShared)) return false
    file.inode.locks.set(file, shared)
    return true
  }

  unlock (fd) {
    const file = this.file(fd, 'lock')
    file.inode.locks.delete(file)
  }

  punch (fd, offset, length) {
    const { inode } = this.file(fd, 'fallocate')
    const end = Math.min(offset + length, inode.size)
    if (end > offset) this.disk.write(inode, offset, Buffer.alloc(end - offset))
  }
}

/** Number of values behind the error in a callback, for `promisify`. */
const RESULTS = { read: ['bytesRead', 'buffer'], write: ['bytesWritten', 'buffer'], readv: ['bytesRead', 'buffers'], writev: ['bytesWritten', 'buffers'] }
const NAMES = ['open', 'close', 'stat', 'lstat', 'fstat', 'statfs', 'mkdir', 'mkdtemp', 'readdir', 'rmdir', 'unlink', 'rm', 'rename', 'link', 'symlink', 'readlink', 'realpath', 'read', 'readv', 'write', 'writev', 'ftruncate', 'fchmod', 'fchown', 'chmod', 'chown', 'lchown', 'readFile', 'writeFile', 'copyFile']

/**
 * @param {{ user: import('./process').Process }} modules whose `fs` it is
 * @returns {any} a module `fs`
 */
function fileSystem (modules) {
  /** @type {any} */
  const fs = { constants, promises: { constants } }

  for (const name of NAMES) {
    fs[`${name}Sync`] = (...args) => {
      const { user } = modules
      return user.callNow(name, args, () => user.calls[name](...args))
    }
    const withCallback = (...args) => {
      const { user } = modules
      const cb = args.pop()
      user.callLater(name, args, () => user.calls[name](...args), (err, result) => err ? cb(err) : cb(null, result, bufferOf(name, args)))
    }
    fs[name] = withCallback
    const withPromise = (...args) => new Promise((resolve, reject) => withCallback(...args, (err, result) => err ? reject(err) : resolve(result)))
    if (RESULTS[name] !== undefined) {
      const [count, buffer] = RESULTS[name]
      withCallback[promisify.custom] = (...args) => withPromise(...args).then(done => ({ [count]: done, [buffer]: args[1] }))
    }
    if (!/^f[a-z]/.test(name) && !['read', 'readv', 'write', 'writev', 'close'].includes(name)) fs.promises[name] = withPromise
  }
  fs.realpathSync.native = fs.realpathSync
  fs.existsSync = (name) => modules.user.calls.exists(name)
  for (const [name, exists] of [['stat', 'exists'], ['lstat', 'lexists']]) {
    const plain = fs[`${name}Sync`]
    fs[`${name}Sync`] = (path, options = {}) => {
      const { user } = modules
      // a file of the code, which asks for it once after it was loaded
      if (String(path).startsWith(ROOT)) return undefined
      return options.throwIfNoEntry === false ? user.callNow(name, [path], () => user.calls[exists](path) ? user.calls[name](path, options) : undefined) : plain(path, options)
    }
  }
  for (const name of ['fsync', 'fdatasync']) {
    fs[name] = (fd, cb) => {
      const { user } = modules
      user.syncLater(name, fd, cb)
    }
    fs[`${name}Sync`] = (fd) => {
      const { user } = modules
      user.syncNow(name, fd)
    }
  }
  const ofHandles = new Map()
  /** @param {string} name of a call, which a file handle makes */
  const promisified = (name) => {
    let made = ofHandles.get(name)
    if (made === undefined) ofHandles.set(name, made = promisify(fs[name]))
    return made
  }
  fs.promises.open = (...args) => new Promise((resolve, reject) => fs.open(...args, (err, fd) => err ? reject(err) : resolve(new FileHandle(promisified, fd))))
  for (const name of ['readFile', 'writeFile']) {
    const plain = fs.promises[name]
    fs.promises[name] = (file, ...args) => plain(file instanceof FileHandle ? file.fd : file, ...args)
  }
  fs.watch = (name, options, onevent) => new Watcher(modules.user, modules.user.calls.disk.find(absolute(name), 'watch'), onevent)
  return fs
}

function bufferOf (name, args) {
  return RESULTS[name] === undefined ? undefined : args[1]
}

class FileHandle {
  /**
   * @param {(name: string) => (...args: any[]) => Promise<any>} promisified
   * @param {number} fd
   */
  constructor (promisified, fd) {
    this.promisified = promisified
    this.fd = fd
  }

  call (name, ...args) {
    return this.promisified(name)(this.fd, ...args)
  }

  sync () { return this.call('fsync') }
  datasync () { return this.call('fdatasync') }
  stat (options = {}) { return this.call('fstat', options) }
  truncate (length = 0) { return this.call('ftruncate', length) }
  chmod (mode) { return this.call('fchmod', mode) }
  chown (uid, gid) { return this.call('fchown', uid, gid) }
  readv (buffers, position) { return this.call('readv', buffers, position) }
  writev (buffers, position) { return this.call('writev', buffers, position) }
  readFile (options) { return this.call('readFile', options) }
  writeFile (data, options) { return this.call('writeFile', data, options) }
  read (buffer, offset = 0, length = buffer.length - offset, position = 0) { return this.call('read', buffer, offset, length, position) }
  write (data, offset = 0, length = data.length - offset, position = null) { return this.call('write', Buffer.isBuffer(data) ? data : Buffer.from(data), offset, length, position) }

  async close () {
    const { fd } = this
    if (fd === -1) return
    this.fd = -1
    await this.promisified('close')(fd)
  }

  async [Symbol.asyncDispose] () { await this.close() }
}

/** Events come late, several as one, or not at all, as those of the system may. */
class Watcher extends EventEmitter {
  constructor (owner, inode, onevent) {
    super()
    this.inode = inode
    let isDue = false
    this.onchange = (event) => {
      if (isDue || owner.random() < owner.world.lostEvents) return
      isDue = true
      owner.after(owner.world.latency('watch'), () => {
        isDue = false
        if (inode.watchers.has(this.onchange)) onevent(event, '')
      })
    }
    inode.watchers.add(this.onchange)
    owner.watchers.add(this)
  }

  close () {
    this.inode.watchers.delete(this.onchange)
  }

  ref () { return this }
  unref () { return this }
}

/** @param {string} name */
function absolute (name) {
  return path.resolve('/', String(name))
}

function setOwner (inode, uid, gid) {
  if (uid !== -1) inode.uid = uid
  if (gid !== -1) inode.gid = gid
}

/** What is asked of each status, and not computed before. */
class Status {
  /**
   * @param {Inode} inode
   * @param {(value: number) => any} number makes one of the kind that was asked for
   */
  constructor (inode, number) {
    this.type = inode.type
    this.dev = number(1)
    this.ino = number(inode.number)
    this.mode = number(inode.mode)
    this.nlink = number(inode.names)
    this.uid = number(inode.uid)
    this.gid = number(inode.gid)
    this.size = number(inode.size)
    this.blocks = number(Math.ceil(inode.size / 4096) * 8)
    this.blksize = number(4096)
    this.mtimeMs = this.atimeMs = number(inode.modified)
    this.ctimeMs = number(inode.changed)
    this.birthtimeMs = number(inode.born)
  }

  get mtime () { return new Date(Number(this.mtimeMs)) }
  get atime () { return this.mtime }
  get ctime () { return new Date(Number(this.ctimeMs)) }
  get birthtime () { return new Date(Number(this.birthtimeMs)) }
  isFile () { return this.type === 'file' }
  isDirectory () { return this.type === 'directory' }
  isSymbolicLink () { return this.type === 'link' }
  isSocket () { return this.type === 'socket' }
  isFIFO () { return false }
  isBlockDevice () { return false }
  isCharacterDevice () { return false }
}

const SAME = (/** @type {number} */ value) => value
const BIGINT = (/** @type {number} */ value) => BigInt(Math.floor(value))

/** @param {Inode} inode */
function statusOf (inode, { bigint = false } = {}) {
  const status = new Status(inode, bigint ? BIGINT : SAME)
  if (!bigint) return status
  const nanoseconds = (/** @type {number} */ time) => BigInt(Math.floor(time * 1e6))
  return Object.assign(status, { mtimeNs: nanoseconds(inode.modified), atimeNs: nanoseconds(inode.modified), ctimeNs: nanoseconds(inode.changed), birthtimeNs: nanoseconds(inode.born) })
}

module.exports = { Calls, fileSystem }
