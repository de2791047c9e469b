'use strict'

// A simulated disk: inodes, directories and locks as POSIX has them, in two versions: what processes see, and what is durable. A power cut
// leaves of each page, of each file's length and of each name in a directory one of the versions since the last fsync.

const { DiskFile } = require('../disk-file')

/** Bytes of what is written to the disk as one: a page, or on some disks a sector. */
const PAGE_SIZE = 4096
/** Kinds of inodes, as the upper bits of `st_mode`. */
const TYPES = { file: 0o100000, directory: 0o040000, link: 0o120000, socket: 0o140000 }

class Inode {
  /**
   * @param {number} number
   * @param {keyof TYPES} type
   * @param {number} mode
   * @param {number} time
   */
  constructor (number, type, mode, time) {
    this.number = number
    this.type = type
    this.permissions = mode & 0o777
    this.uid = 0
    this.gid = 0
    this.modified = this.changed = this.born = time
    this.names = 0
    this.opens = 0
    this.content = new DiskFile()
    /** Fsyncs in progress. */
    this.syncs = 0
    /** How often an fsync of it has failed. */
    this.failedSyncs = 0
    /** Of a directory. @type {Map<string, Inode>} */
    this.entries = new Map()
    /** Of a directory: its durable names. @type {Map<string, Inode>} */
    this.durable = new Map()
    /** Of a directory: what was changed since, each time the names that are changed together. @type {Array<Record<string, Inode | null>>} */
    this.changes = []
    /** Of a link. */
    this.target = ''
    /** Of a socket: who listens. @type {any} */
    this.listener = null
    /** Who has it locked, and whether others may have it, too. @type {Map<object, boolean>} */
    this.locks = new Map()
    /** Called when it changes. @type {Set<(event: string) => void>} */
    this.watchers = new Set()
  }

  get mode () {
    return TYPES[this.type] | this.permissions
  }

  get size () {
    return this.content.length
  }
}

class Disk {
  /**
   * @param {ReturnType<typeof import('../random').randomFrom>} random
   * @param {import('./timeline').Timeline} timeline
   */
  constructor (random, timeline) {
    this.random = random
    this.timeline = timeline
    this.inodes = 0
    /** Bytes of all files; a write beyond them fails with ENOSPC. */
    this.capacity = Infinity
    this.used = 0
    this.pageSize = PAGE_SIZE
    /** Whether an fsync of a file has failed. */
    this.hasFailedSyncs = false
    this.root = this.create('directory', 0o755)
  }

  /**
   * @param {keyof TYPES} type
   * @param {number} mode
   */
  create (type, mode) {
    return new Inode(++this.inodes, type, mode, this.timeline.time)
  }

  // Names

  /**
   * @param {string} path absolute
   * @param {string} call
   * @returns {{ folder: Inode, name: string }}
   */
  parentOf (path, call) {
    const parts = path.split('/').filter(part => part !== '')
    const name = parts.pop() ?? ''
    let folder = this.root
    for (const part of parts) {
      let next = folder.entries.get(part)
      if (next?.type === 'link') next = this.find(next.target, call)
      if (next === undefined) throw failure('ENOENT', call, path)
      if (next.type !== 'directory') throw failure('ENOTDIR', call, path)
      folder = next
    }
    return { folder, name }
  }

  /**
   * @param {string} path
   * @param {string} call
   * @param {boolean} [follows] a link at the end of the path
   * @returns {Inode}
   */
  find (path, call, follows = true) {
    if (path === '/') return this.root
    const { folder, name } = this.parentOf(path, call)
    const found = folder.entries.get(name)
    if (found === undefined) throw failure('ENOENT', call, path)
    return follows && found.type === 'link' ? this.find(found.target, call) : found
  }

  /**
   * One change of the names in a directory.
   * @param {Inode} folder
   * @param {Record<string, Inode | null>} names null: removed
   */
  change (folder, names) {
    for (const [name, inode] of Object.entries(names)) {
      const before = folder.entries.get(name)
      if (inode !== null) inode.names++
      if (inode === null) folder.entries.delete(name)
      else folder.entries.set(name, inode)
      if (before !== undefined) this.unlinked(before)
    }
    folder.changes.push(names)
  }

  /** @param {Inode} inode one of whose names is gone */
  unlinked (inode) {
    inode.names--
    inode.changed = this.timeline.time
    this.tell(inode, 'rename')
    this.considerFreeing(inode)
  }

  /** @param {Inode} inode */
  considerFreeing (inode) {
    if (inode.names === 0 && inode.opens === 0) this.used -= inode.size
  }

  // Contents

  /**
   * @param {Inode} inode
   * @param {number} offset
   * @param {Buffer} data
   * @returns {number} bytes written: fewer if the disk is full
   */
  write (inode, offset, data) {
    const grows = Math.max(0, offset + data.length - inode.size)
    const room = Math.max(0, this.capacity - this.used)
    const size = grows <= room ? data.length : Math.max(0, data.length - (grows - room))
    if (size === 0 && data.length > 0) throw failure('ENOSPC', 'write', '')
    const before = inode.size
    inode.content.write(offset, data.subarray(0, size), this.pageSize)
    this.used += inode.size - before
    this.modified(inode)
    return size
  }

  /**
   * @param {Inode} inode
   * @param {number} length
   */
  truncate (inode, length) {
    const before = inode.size
    inode.content.truncate(length, this.pageSize)
    this.used += inode.size - before
    this.modified(inode)
  }

  /** @param {Inode} inode */
  modified (inode) {
    inode.modified = inode.changed = this.timeline.time
    this.tell(inode, 'change')
  }

  /**
   * @param {Inode} inode
   * @param {string} event
   */
  tell (inode, event) {
    for (const watcher of inode.watchers) watcher(event)
  }

  // Durability

  /**
   * @param {{ inode: Inode, failedSyncs: number }} file that is open
   * @returns {(isDone?: boolean) => boolean} makes durable what is there now; false: it fails, and forgets that it had to. Returns whether the caller gets
   *   an error: on Linux, everybody who has the file open hears once of an fsync that has failed, whoever has called it
   */
  startSync (file) {
    const { inode } = file
    if (inode.type === 'directory') {
      const last = inode.changes[inode.changes.length - 1]
      return (isDone = true) => {
        if (isDone) for (const names of inode.changes.splice(0, inode.changes.indexOf(last) + 1)) apply(inode.durable, names)
        return !isDone
      }
    }
    const state = inode.content.state()
    return (isDone = true) => {
      if (isDone) inode.content.sync(state)
      else {
        inode.content.failSync(state)
        inode.failedSyncs++
        this.hasFailedSyncs = true
      }
      const hasFailed = file.failedSyncs !== inode.failedSyncs
      file.failedSyncs = inode.failedSyncs
      return hasFailed
    }
  }

  /** The power goes: of what was not fsynced, any part is left, and nobody has anything open. */
  cutPower () {
    const seen = new Set()
    const visit = (/** @type {Inode} */ inode) => {
      if (seen.has(inode)) return
      seen.add(inode)
      inode.locks.clear()
      inode.watchers.clear()
      inode.opens = inode.syncs = inode.failedSyncs = 0
      inode.listener = null
      if (inode.type === 'file') inode.content = inode.content.afterPowerLoss(this.random, this.pageSize)
      if (inode.type !== 'directory') return
      // a name is lost or kept whatever becomes of others, unless a rename has changed both
      for (const changes of chainsOf(inode.changes)) {
        for (const names of changes.slice(0, this.random.below(changes.length + 1))) apply(inode.durable, names)
      }
      inode.entries = new Map(inode.durable)
      inode.changes = []
      for (const entry of inode.entries.values()) visit(entry)
    }
    visit(this.root)
    this.used = 0
    for (const inode of seen) {
      inode.names = 1
      this.used += inode.size
    }
  }
}

/**
 * @param {Map<string, Inode>} entries
 * @param {Record<string, Inode | null>} names
 */
function apply (entries, names) {
  for (const [name, inode] of Object.entries(names)) {
    if (inode === null) entries.delete(name)
    else entries.set(name, inode)
  }
}

/**
 * @param {Array<Record<string, Inode | null>>} changes in order
 * @returns {Array<Array<Record<string, Inode | null>>>} those of each name, and of the names that are changed together with it
 */
function chainsOf (changes) {
  /** @type {Array<{ names: Set<string>, numbers: number[] }>} */
  let chains = []
  changes.forEach((change, number) => {
    const chain = { names: new Set(Object.keys(change)), numbers: [number] }
    const others = chains.filter(({ names }) => {
      const isConnected = [...chain.names].some(name => names.has(name))
      if (isConnected) for (const name of names) chain.names.add(name)
      return isConnected
    })
    for (const { numbers } of others) chain.numbers.push(...numbers)
    chains = [...chains.filter(other => !others.includes(other)), chain]
  })
  return chains.map(({ numbers }) => numbers.sort((a, b) => a - b).map(number => changes[number]))
}

/**
 * @param {string} code
 * @param {string} call
 * @param {string} path
 */
function failure (code, call, path) {
  // where it was made is of no interest, and the most expensive part of it
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error = new Error(`${code}: simulated, ${call}${path === '' ? '' : ` '${path}'`}`)
  Error.stackTraceLimit = stackTraceLimit
  return Object.assign(error, { code, syscall: call, ...(path === '' ? {} : { path }), errno: -1 })
}

module.exports = { Disk, Inode, failure, PAGE_SIZE }
