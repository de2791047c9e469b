'use strict'

// The files of one log in the origin private file system (OPFS). A log renames files that are open, in one step; OPFS can do neither. So the
// files of its directory have numbers, and `names` says which number has which name: to rename a file is to write that table.
//
//     names       two slots; each has the CRC-32 of a line of JSON, and that line: { generation, next, files: { name: [number, …] } }; see `entry`
//                 in inode.js. `next` is above the numbers of all files that had a name, so that none is used twice
//     1, 2, …     the files, as Node.js would have written them
//
// A change is written into the slot of the table before it, so a torn write leaves the last one. Only the worker that has `names` open uses
// the directory, since its handle is exclusive: it is the lock of the log. All files are open as long as the log is: opening one is
// asynchronous, and the log opens some with synchronous calls. A log with `shared` has another kind of volume: see shared-volume.js.

const { crc32 } = require('./crc32')
const { failure, translated, locked } = require('./errors')
const { Inode } = require('./inode')

/** The directory of all logs. */
const ROOT = 'flumelog'
const NAMES = 'names'
/** Bytes for a table: at least 500 names. */
const SLOT_SIZE = 64 * 1024
/** A worker that was terminated, or a page that was closed, releases its handles a moment later. Milliseconds. */
const RELEASE_TIME = 2000
const RETRY_INTERVAL = 20

let devices = 0

/**
 * @typedef {object} SyncHandle a FileSystemSyncAccessHandle
 * @property {(bytes: Uint8Array, options: { at: number }) => number} read
 * @property {(bytes: Uint8Array, options: { at: number }) => number} write
 * @property {(size: number) => void} truncate
 * @property {() => number} getSize
 * @property {() => void} flush
 * @property {() => void} close
 */

class Volume {
  /**
   * @param {string} name of the log
   * @param {any} directory a FileSystemDirectoryHandle
   * @param {SyncHandle} table
   */
  constructor (name, directory, table) {
    this.name = name
    this.directory = directory
    this.table = table
    /** As `dev` of stat(2): files of two volumes may have the same number. */
    this.device = ++devices
    /** @type {Map<string, Inode>} */
    this.inodes = new Map()
    /** Whether several workers have it open. */
    this.isShared = false
    this.generation = 0
    this.nextNumber = 1
    /** Whether a power cut may undo the last change of the table: also that of a worker that has ended. */
    this.isUnsynced = true
    /** Settled when no file is being removed. @type {Promise<unknown>} */
    this.removed = Promise.resolve()
  }

  /**
   * @param {string} name
   * @param {boolean} mustExist
   * @returns {Promise<Volume>}
   * @throws ENOENT, flumelog:locked, flumelog:unsupported
   */
  static async mount (name, mustExist) {
    const directory = await directoryOf(name, !mustExist)
    const volume = new Volume(name, directory, await openWhenReleased(name, directory, NAMES, !mustExist))
    try {
      await volume.load()
    } catch (err) {
      volume.closeHandles()
      throw translated(err, 'open', name)
    }
    return volume
  }

  async load () {
    const { generation, next, files } = readTable(this.table)
    this.generation = generation
    const present = await this.keys()
    this.nextNumber = Math.max(next, ...Array.from(present, key => Number(key) + 1))
    /** @type {Map<number, Inode>} */
    const opened = new Map()
    for (const [name, [number, ...gap]] of Object.entries(files)) {
      if (!present.has(String(number))) continue
      const inode = opened.get(number) ?? new Inode(number, await this.openHandle(number, false), this, ...gap)
      opened.set(number, inode)
      inode.names++
      this.inodes.set(name, inode)
    }
    // what a worker has left that was terminated
    for (const key of present) if (!opened.has(Number(key))) await this.removeFile(key)
  }

  /** @returns {Promise<Set<string>>} the files of the directory: numbers */
  async keys () {
    /** @type {Set<string>} */
    const present = new Set()
    for await (const key of this.directory.keys()) if (key !== NAMES) present.add(key)
    return present
  }

  /** Of a shared log, the names may be others by now. */
  refresh () {}

  /**
   * @param {number} number
   * @param {boolean} create
   * @returns {Promise<SyncHandle>}
   */
  openHandle (number, create) {
    return openWhenReleased(this.name, this.directory, String(number), create)
  }

  /** @returns {Promise<Inode>} a file without a name */
  async create () {
    const number = this.nextNumber++
    return new Inode(number, await this.openHandle(number, true), this)
  }

  /**
   * @param {string} name
   * @param {Inode | null} inode null: the name is removed
   * @param {string} [from] a name that it has no longer
   */
  change (name, inode, from) {
    const before = this.inodes.get(name)
    const next = new Map(this.inodes)
    if (from !== undefined) next.delete(from)
    if (inode === null) next.delete(name)
    else next.set(name, inode)
    this.writeTable(next)
    if (inode !== null && from === undefined) inode.names++
    if (before === undefined) return
    before.names--
    before.considerRemoving()
  }

  /**
   * Gives all of them their names in one step, durably. No other file has one then.
   * @param {Array<{ name: string, inode: Inode }>} files
   */
  addAll (files) {
    // of a backup that was interrupted
    const others = [...this.inodes.values()]
    this.writeTable(new Map(files.map(({ name, inode }) => /** @type {const} */ ([name, inode]))))
    for (const { inode } of files) inode.names++
    for (const inode of others) {
      inode.names--
      inode.considerRemoving()
    }
    this.sync()
  }

  /** @param {Map<string, Inode>} inodes */
  writeTable (inodes) {
    const files = Object.fromEntries(Array.from(inodes, ([name, { entry }]) => [name, entry]))
    const generation = this.generation + 1
    const bytes = new TextEncoder().encode(formatTable({ generation, next: this.nextNumber, files }))
    if (bytes.length > SLOT_SIZE) throw failure('ENFILE', 'open', this.name)
    try {
      // the table in the other slot is the one that a torn write would leave
      this.sync()
      this.isUnsynced = true
      const written = this.table.write(bytes, { at: generation % 2 * SLOT_SIZE })
      if (written < bytes.length) throw failure('ENOSPC', 'write', this.name)
    } catch (err) {
      throw translated(err, 'write', this.name)
    }
    this.generation = generation
    this.inodes = inodes
  }

  /** Makes the names durable. */
  sync () {
    if (this.isUnsynced) this.table.flush()
    this.isUnsynced = false
  }

  /** @param {Inode} inode that has no name, and is not open */
  remove (inode) {
    inode.handle.close()
    // if it fails, the next opening does it
    this.removed = this.removed.then(() => this.removeFile(String(inode.number))).catch(() => {})
  }

  /** @param {string} key of a file that has no name, which a power cut must not give back to it */
  async removeFile (key) {
    this.sync()
    await this.directory.removeEntry(key, { recursive: true })
  }

  async unmount () {
    try {
      this.sync()
    } finally {
      await this.removed
      this.closeHandles()
    }
    // no log was created, as by a backup or an import that was interrupted
    if (!this.inodes.has(this.name)) await (await rootDirectory()).removeEntry(directoryName(this.name), { recursive: true }).catch(() => {})
  }

  closeHandles () {
    for (const inode of new Set(this.inodes.values())) {
      inode.writeUnwritten()
      inode.handle.close()
    }
    this.table.close()
  }
}

/** @returns {Promise<any>} the directory of all logs */
async function rootDirectory () {
  const { navigator, isSecureContext } = /** @type {any} */ (globalThis)
  if (isSecureContext === false) throw failure('flumelog:unsupported', 'this page has no storage, since it is no secure context: serve it by HTTPS, or from localhost')
  if (navigator?.storage?.getDirectory === undefined) throw failure('flumelog:unsupported', 'this browser has no origin private file system (OPFS): use Chromium 108, Firefox 111, Safari 16.4 or later')
  try {
    const root = await navigator.storage.getDirectory()
    return await root.getDirectoryHandle(ROOT, { create: true })
  } catch (err) {
    if (/** @type {any} */ (err).name === 'QuotaExceededError') throw translated(err, 'open', ROOT)
    throw failure('flumelog:unsupported', `this page may not store files (${/** @type {Error} */ (err).message}): private windows of some browsers have no storage, and settings can block it`, { cause: err })
  }
}

/**
 * @param {string} name of a log
 * @returns {string}
 * @throws flumelog:invalid
 */
function directoryName (name) {
  if (typeof name !== 'string' || name === '' || name.includes('/') || name.includes('\0') || name === '.' || name === '..') {
    throw failure('flumelog:invalid', `the name of a log must be a string without "/"; it is ${typeof name === 'string' ? JSON.stringify(name) : typeof name}`)
  }
  try {
    return encodeURIComponent(name)
  } catch {
    throw failure('flumelog:invalid', `the name of a log must be well-formed Unicode; it is ${JSON.stringify(name)}`)
  }
}

/**
 * @param {string} name
 * @param {boolean} create
 */
async function directoryOf (name, create) {
  const directory = directoryName(name)
  const root = await rootDirectory()
  try {
    return await root.getDirectoryHandle(directory, { create })
  } catch (err) {
    throw translated(err, 'open', name)
  }
}

/**
 * @param {string} name of the log
 * @param {any} directory
 * @param {string} key of the file
 * @param {boolean} create
 * @param {object} [options] of createSyncAccessHandle
 * @returns {Promise<SyncHandle>}
 */
async function openWhenReleased (name, directory, key, create, options) {
  for (const giveUpAt = performance.now() + RELEASE_TIME; ;) {
    try {
      const file = await directory.getFileHandle(key, { create })
      if (file.createSyncAccessHandle === undefined) throw failure('flumelog:unsupported', 'files of the origin private file system can be opened in dedicated workers only')
      return await file.createSyncAccessHandle(options)
    } catch (err) {
      if (/** @type {any} */ (err).name !== 'NoModificationAllowedError') throw translated(err, 'open', name)
      if (performance.now() > giveUpAt) throw locked(name)
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_INTERVAL))
  }
}

/** @typedef {{ generation: number, next: number, files: Record<string, number[]> }} Table */

/**
 * @param {Table} table
 * @returns {string}
 */
function formatTable (table) {
  const text = JSON.stringify(table)
  return `${crc32(new TextEncoder().encode(text)).toString(16).padStart(8, '0')} ${text}\n`
}

/**
 * @param {SyncHandle} handle
 * @returns {Table} the last one that is whole
 */
function readTable (handle) {
  const bytes = new Uint8Array(2 * SLOT_SIZE)
  return tableIn(bytes.subarray(0, handle.read(bytes, { at: 0 })))
}

/**
 * @param {Uint8Array} bytes of both slots
 * @returns {Table} the last one that is whole
 */
function tableIn (bytes) {
  /** @type {Table} */
  let last = { generation: 0, next: 1, files: {} }
  for (const slot of [0, 1]) {
    const [line] = new TextDecoder().decode(bytes.subarray(slot * SLOT_SIZE, (slot + 1) * SLOT_SIZE)).split('\n', 1)
    try {
      const table = JSON.parse(line.slice(9))
      if (formatTable(table) === `${line}\n` && table.generation > last.generation) last = table
    } catch {
      // not written, or torn
    }
  }
  return last
}

/**
 * @param {any} directory of a log, which may be open
 * @param {string} name of the log
 * @returns {Promise<boolean>} false: an import or a backup into it was interrupted, or has not ended
 */
async function hasLog (directory, name) {
  try {
    const file = await (await directory.getFileHandle(NAMES)).getFile()
    return name in tableIn(new Uint8Array(await file.arrayBuffer())).files
  } catch (err) {
    // it may have been removed meanwhile
    if (/** @type {any} */ (err).name === 'NotFoundError') return false
    throw translated(err, 'read', directory.name)
  }
}

module.exports = { Volume, NAMES, SLOT_SIZE, directoryName, directoryOf, hasLog, openWhenReleased, readTable, rootDirectory }
