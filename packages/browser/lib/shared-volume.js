'use strict'

// The files of a log that several workers have open, of all tabs: with handles that do not exclude each other. The worker with the Web Lock
// of the log is its owner. It alone changes names and writes files, but for those of cursors, which who holds the cursor writes; the others
// read. A worker that is no owner reads the table of the names again when that has changed, and asks the owner to create, rename or remove
// the file of a cursor.

const { failure, translated } = require('./errors')
const { Inode } = require('./inode')
const { later } = require('./later')
const { Volume, NAMES, SLOT_SIZE, directoryOf, openWhenReleased, readTable, rootDirectory } = require('./volume')
const { acquire, isHeld } = require('./web-locks')

/** Handles that do not exclude each other. */
const SHARED = { mode: 'readwrite-unsafe' }
/** Bytes of a slot that have its generation. */
const HEAD_SIZE = 64
/** Milliseconds for which this worker is the owner without having locked the log. */
const UNUSED_TIME = 1000
/** Milliseconds after which the owner is asked again: there may be another one. */
const ASK_INTERVAL = 100
/** Milliseconds after which it is tried again to remove a file that another worker has open. */
const SWEEP_INTERVAL = 1000

/** @typedef {{ call: 'create' | 'rename' | 'unlink', name: string, to?: string, number?: number }} Change of a name, by a worker that is no owner */

class SharedVolume extends Volume {
  /**
   * @param {string} name of the log
   * @param {any} directory a FileSystemDirectoryHandle
   * @param {import('./volume').SyncHandle} table
   */
  constructor (name, directory, table) {
    super(name, directory, table)
    this.isShared = true
    /** Whether this worker has the Web Lock of the log. */
    this.isOwner = false
    /** Whether it has opened all files since, and answers the others. */
    this.isReady = false
    /** Open files with which the log has locked itself. @type {Set<object>} */
    this.lockedFiles = new Set()
    /** Files that are open, or being opened, by their numbers. @type {Map<number, Inode>} */
    this.known = new Map()
    /** Numbers of files that are to be removed. @type {Set<number>} */
    this.garbage = new Set()
    this.isSweeping = false
    this.isCampaigning = false
    this.head = new Uint8Array(HEAD_SIZE)
    this.ending = new AbortController()
    this.releaseLock = () => {}
    this.channel = new BroadcastChannel(`flumelog files ${name}`)
    this.channel.onmessage = (/** @type {MessageEvent} */ { data }) => this.receive(data)
    /** Changes that wait for the owner, by their ids. @type {Map<string, { message: object, resolve: () => void, reject: (err: any) => void }>} */
    this.asked = new Map()
    /** Ids of changes in progress. @type {Set<string>} */
    this.changing = new Set()
  }

  /** The Web Lock of the owner. */
  get lockName () {
    return `flumelog owner ${this.name}`
  }

  /**
   * Creates the log, if there is none.
   * @param {string} name
   * @returns {Promise<SharedVolume>}
   * @throws flumelog:locked, flumelog:unsupported
   */
  static async mount (name) {
    await rootDirectory()
    mustBePossible(name)
    const directory = await directoryOf(name, true)
    const volume = new SharedVolume(name, directory, await openWhenReleased(name, directory, NAMES, true, SHARED))
    try {
      volume.refresh()
      if (!volume.inodes.has(name)) await volume.createLog()
      await volume.whenOpened(name)
    } catch (err) {
      await volume.unmount()
      throw translated(err, 'open', name)
    }
    return volume
  }

  async createLog () {
    const release = await acquire(this.lockName)
    try {
      this.own()
      await this.prepare()
      if (this.inodes.has(this.name)) return
      this.change(this.name, await this.create())
      this.sync()
    } finally {
      this.disown()
      release?.()
    }
  }

  // The owner

  /**
   * Locks the log, if this worker is the owner; otherwise waits to be it, for the next attempt.
   * @param {object} file open
   * @returns {boolean}
   */
  lock (file) {
    if (this.isOwner) this.lockedFiles.add(file)
    else this.campaign()
    return this.isOwner
  }

  /** @param {object} file that is closed, or unlocked */
  unlock (file) {
    if (this.lockedFiles.delete(file) && this.lockedFiles.size === 0) this.release()
  }

  async campaign () {
    const { signal } = this.ending
    if (this.isCampaigning || signal.aborted) return
    this.isCampaigning = true
    const release = await acquire(this.lockName, { signal })
    this.isCampaigning = false
    if (release === null) return
    if (signal.aborted) return release()
    this.releaseLock = release
    this.own()
    // a log that has failed does not want it any more
    setTimeout(() => { if (this.lockedFiles.size === 0 && this.releaseLock === release) this.release() }, UNUSED_TIME)
  }

  own () {
    this.refresh()
    this.isOwner = true
    // the owner before may have ended before it made its last change durable
    this.isUnsynced = true
  }

  disown () {
    this.isOwner = this.isReady = false
  }

  /** Another worker may become the owner. */
  release () {
    const { releaseLock } = this
    try {
      if (this.isOwner) this.sync()
    } finally {
      this.disown()
      this.releaseLock = () => {}
      releaseLock()
    }
  }

  /** The owner opens all files, so that synchronous calls can open them. */
  async prepare () {
    await Promise.all(Array.from(this.known.values(), ({ ready }) => ready))
    const present = await this.keys()
    this.nextNumber = Math.max(this.nextNumber, ...Array.from(present, key => Number(key) + 1))
    this.garbage = new Set(Array.from(present, Number).filter(number => !this.known.has(number)))
    this.isReady = true
    this.sweep()
  }

  /** @returns {Promise<Inode>} a file without a name */
  async create () {
    const number = this.nextNumber++
    const inode = new Inode(number, await this.openHandle(number, true), this)
    this.known.set(number, inode)
    return inode
  }

  /** @param {Inode} inode that has no name, and is not open here */
  remove (inode) {
    this.known.delete(inode.number)
    // not while a call that has found it by its name uses it
    later(() => {
      inode.handle?.close()
      this.garbage.add(inode.number)
      this.sweep()
    })
  }

  /** Removes what has no name. That fails while another worker has it open, and is tried again. */
  async sweep () {
    if (this.isSweeping) return
    this.isSweeping = true
    while (this.garbage.size > 0 && this.isOwner && !this.ending.signal.aborted) {
      for (const number of this.garbage) {
        this.removed = this.removeFile(String(number)).then(() => true, (/** @type {any} */ err) => err.name === 'NotFoundError')
        if (await this.removed) this.garbage.delete(number)
        if (!this.isOwner) break
      }
      if (this.garbage.size > 0) await new Promise(resolve => setTimeout(resolve, SWEEP_INTERVAL))
    }
    this.isSweeping = false
  }

  // Names that another worker changes

  /** @type {Volume['openHandle']} */
  openHandle (number, create) {
    return openWhenReleased(this.name, this.directory, String(number), create, SHARED)
  }

  refresh () {
    if (this.isOwner || this.ending.signal.aborted || this.nextGeneration() <= this.generation) return
    const { generation, next, files } = readTable(this.table)
    // it is being written
    if (generation <= this.generation) return
    this.generation = generation
    this.nextNumber = next
    for (const inode of this.known.values()) inode.names = 0
    this.inodes = new Map()
    for (const [name, [number, gapStart = 0, gapLength = 0]] of Object.entries(files)) {
      const inode = this.known.get(number) ?? this.adopt(number)
      Object.assign(inode, { gapStart, gapLength })
      inode.names++
      this.inodes.set(name, inode)
    }
    for (const inode of [...this.known.values()]) inode.considerRemoving()
  }

  /** @returns {number} of the table that is in the place of the one before the last that was read; 0: there is none */
  nextGeneration () {
    const at = (this.generation + 1) % 2 * SLOT_SIZE
    const text = new TextDecoder().decode(this.head.subarray(0, this.table.read(this.head, { at })))
    return Number(/^.{9}\{"generation":(\d+),/.exec(text)?.[1] ?? 0)
  }

  /** @param {number} number of a file that another worker has created */
  adopt (number) {
    const inode = new Inode(number, null, this)
    this.known.set(number, inode)
    inode.ready = this.openHandle(number, false).then((handle) => {
      // it may have lost its name meanwhile
      if (this.known.get(number) === inode && !this.ending.signal.aborted) inode.handle = handle
      else handle.close()
    }, (err) => {
      inode.problem = err
      this.known.delete(number)
    })
    return inode
  }

  sync () {
    // the owner may not have made durable yet what is visible here
    if (!this.isOwner) this.isUnsynced = true
    super.sync()
  }

  /**
   * @param {string} name of a file that is going to be opened
   * @returns {Promise<void>} when it can be
   */
  async whenOpened (name) {
    for (;;) {
      this.refresh()
      const inode = this.inodes.get(name)
      // all of them: synchronous calls may open others next
      await Promise.all(Array.from(this.known.values(), ({ ready }) => ready))
      if (inode?.problem && this.known.get(inode.number) === undefined) {
        // removed meanwhile, or there are too many files
        this.refresh()
        if (this.inodes.get(name) === inode) throw inode.problem
      } else if (this.inodes.get(name) === inode) return
    }
  }

  /** @param {Change} change done when this resolves, whichever worker is the owner */
  async ask (change) {
    const number = change.call === 'create' ? undefined : this.inodes.get(change.name)?.number
    const message = { id: crypto.randomUUID(), change: { ...change, number } }
    const { id } = message
    try {
      await new Promise((resolve, reject) => {
        this.asked.set(id, { message, resolve: () => resolve(undefined), reject })
        this.askAgain(id)
      })
    } finally {
      this.asked.delete(id)
    }
    this.refresh()
  }

  /** @param {string} id */
  askAgain (id) {
    const asked = this.asked.get(id)
    if (asked === undefined) return
    if (this.isReady) this.perform(/** @type {any} */ (asked.message).change).then(asked.resolve, asked.reject)
    else {
      this.channel.postMessage(asked.message)
      setTimeout(() => this.askAgain(id), ASK_INTERVAL)
    }
  }

  /** @param {any} message */
  async receive ({ id, change, answered, error }) {
    if (answered !== undefined) {
      const asked = this.asked.get(answered)
      if (error === null) asked?.resolve()
      else asked?.reject(failure(error.code, error.syscall, error.path))
      return
    }
    if (!this.isReady || this.changing.has(id)) return
    this.changing.add(id)
    const problem = await this.perform(change).then(() => null, err => err)
    this.changing.delete(id)
    // otherwise the next owner is asked
    if (this.isOwner) this.channel.postMessage({ answered: id, error: problem && { code: problem.code ?? 'EIO', syscall: problem.syscall ?? change.call, path: problem.path ?? change.name } })
  }

  /**
   * Once, however often it is asked for.
   * @param {Change} change
   */
  async perform ({ call, name, to, number }) {
    const inode = this.inodes.get(name)
    if (call === 'create') {
      if (inode !== undefined) return
      const created = await this.create()
      if (!this.isOwner) throw failure('EIO', 'open', name)
      if (this.inodes.has(name)) return created.considerRemoving()
      this.change(name, created)
    } else if (call === 'unlink') {
      if (inode === undefined || inode.number !== number) return
      this.change(name, null)
    } else {
      if (this.inodes.get(String(to))?.number === number) return
      if (inode === undefined || inode.number !== number) throw failure('ENOENT', call, name)
      this.change(String(to), inode, name)
    }
    this.sync()
  }

  // Locks of single files: those of cursors

  /** @param {Inode} inode */
  lockNameOf ({ number }) {
    return `flumelog file ${number} ${this.name}`
  }

  /** @param {Inode} inode which this worker locks, if no other one has */
  async lockFile (inode) {
    if (inode.unlock !== null) return
    const release = await acquire(this.lockNameOf(inode), { ifAvailable: true })
    if (release === null) return
    if (inode.opens === 0 || inode.unlock !== null) return release()
    inode.unlock = release
  }

  /** @param {Inode} inode */
  async isLockedElsewhere (inode) {
    return inode.unlock === null && await isHeld(this.lockNameOf(inode))
  }

  async unmount () {
    this.ending.abort()
    this.channel.close()
    for (const { reject } of this.asked.values()) reject(failure('EIO', 'close', this.name))
    try {
      this.release()
    } finally {
      await this.removed
      this.closeHandles()
    }
  }

  closeHandles () {
    for (const inode of this.known.values()) inode.handle?.close()
    this.table.close()
  }
}

/**
 * @param {string} name of the log
 * @throws flumelog:unsupported
 */
function mustBePossible (name) {
  const { FileSystemSyncAccessHandle, navigator, BroadcastChannel } = /** @type {any} */ (globalThis)
  const missing = FileSystemSyncAccessHandle === undefined || !('mode' in FileSystemSyncAccessHandle.prototype)
    ? 'createSyncAccessHandle({ mode: \'readwrite-unsafe\' })'
    : navigator.locks === undefined ? 'navigator.locks' : BroadcastChannel === undefined ? 'BroadcastChannel' : null
  if (missing === null) return
  throw failure('flumelog:unsupported', `${name}: \`shared\` needs ${missing}, which this browser does not have (Chromium 121 and later do): open the log without \`shared\`, in one tab at a time`)
}

/** @param {string} name */
function mountShared (name) {
  return SharedVolume.mount(name)
}

module.exports = { SharedVolume, mountShared }
