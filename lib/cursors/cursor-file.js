'use strict'

// The file of a cursor, which the process that holds the cursor has locked. It is created with both its lines and under
// another name, and from then on only overwritten: that needs no room on a full disk, and the lock stays with the file.

const fs = require('fs')
const path = require('path')
const { promisify } = require('util')
const errors = require('../errors')
const { TO_READ, nullIfMissing, syncFolder } = require('../storage/directory')
const { canLock, isLocked, tryLock } = require('../storage/lock')
const { isSameFile, named } = require('../storage/metadata-reader')
const { inherit } = require('../storage/inherit')
const { NEW } = require('../storage/whole-file')
const { LINE_SIZE, decodeLines, encodeLine } = require('./cursor-text')

/** How often the lock is tried: another process may only look whether the cursor is held, or be about to end. */
const MAX_TRIES = 10
/** Milliseconds between these. */
const PAUSE = 20
/** How often a file is read in which no line is valid: it may have been read half-written. */
const MAX_READS = 5

const open = promisify(fs.open)
const close = promisify(fs.close)
const datasync = promisify(fs.fdatasync)
const read = promisify(fs.read)
const write = promisify(fs.write)

/**
 * @typedef {import('./cursor-text').Position} Position
 *
 * @typedef {object} CursorFileOptions
 * @property {string} given its name with the path of the log as the caller gave it, for errors
 * @property {string} folder that it is in
 * @property {() => fs.Stats} logStatus of the log, whose mode and owner the file gets
 * @property {boolean} isLocking whether to lock it
 */

class CursorFile {
  /**
   * @param {string} filename
   * @param {string} name the cursor's
   * @param {CursorFileOptions} options
   */
  constructor (filename, name, options) {
    this.filename = filename
    this.given = options.given
    this.name = name
    this.options = options
    this.fd = -1
    /** What it says. @type {Position} */
    this.position = { id: '', seq: -1, next: 0, tie: null }
    /** Of the line that says so. */
    this.number = 1
    /** The line that is durable, and stays as it is until the other one is, too. */
    this.durableLine = 1
    /** Whether the other one has been written since. */
    this.isUnsynced = false
    /** Whether a write or an fsync of the other one has failed, so that it has to be written again. */
    this.mustRewrite = false
  }

  /**
   * Opens and locks it.
   * @param {Position | null} initial with which it is created if there is none; null: that is an error
   * @param {(position: Position) => Promise<void>} onread called with what it says, before that is made durable
   */
  async open (initial, onread) {
    for (;;) {
      const fd = await open(this.filename, 'r+').catch((err) => {
        if (initial === null) throw err
        return nullIfMissing(err)
      })
      const isOwn = fd === null ? await this.create(/** @type {Position} */ (initial)) : await this.take(fd, onread)
      // otherwise the cursor was deleted, or another process has created it meanwhile
      if (isOwn) return
    }
  }

  /**
   * @param {number} fd of the file
   * @param {(position: Position) => Promise<void>} onread
   * @returns {Promise<boolean>} false: another file is in its place, or none
   */
  async take (fd, onread) {
    return await this.own(fd, this.filename, async () => {
      const bytes = await readAll(fd, this.filename)
      const found = decodeLines(bytes)
      if (found === null) throw errors.corruptCursor(this.given, this.name)
      const { line, index } = found
      if (line.name !== this.name && line.name.toLowerCase() === this.name.toLowerCase()) throw errors.otherCase(this.given, this.name, line.name)
      const position = { id: line.id, seq: line.seq, next: line.next, tie: line.tie }
      await onread(position)
      // the process that has written it may have been killed before it was durable, or an fsync may have failed, which marks it as written
      // without writing it (as Linux does)
      await write(fd, bytes, 0, bytes.length, 0)
      await datasync(fd)
      await syncFolder(this.options.folder)
      this.position = position
      this.number = line.number
      this.durableLine = index
      return true
    })
  }

  /**
   * @param {Position} initial
   * @returns {Promise<boolean>} false: another process has created it
   */
  async create (initial) {
    const unfinished = this.filename + NEW
    const fd = await open(unfinished, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
    return await this.own(fd, unfinished, async () => {
      try {
        if (await exists(this.filename)) {
          await fs.promises.unlink(unfinished).catch(nullIfMissing)
          return false
        }
        inherit(fd, this.options.logStatus())
        const lines = Buffer.concat([this.lineOf(initial, 0), this.lineOf(initial, 1)])
        const { bytesWritten } = await write(fd, lines, 0, lines.length, 0)
        if (bytesWritten < lines.length) throw noSpace()
        await datasync(fd)
        await fs.promises.rename(unfinished, this.filename)
      } catch (err) {
        await fs.promises.unlink(unfinished).catch(() => {})
        throw named(err, this.filename)
      }
      await syncFolder(this.options.folder)
      this.position = initial
      return true
    })
  }

  /**
   * Locks an open file, and keeps it open if `run` says so.
   * @param {number} fd
   * @param {string} filename of it
   * @param {() => Promise<boolean>} run called when it is locked and in its place
   * @returns {Promise<boolean>}
   */
  async own (fd, filename, run) {
    let isOwn = false
    try {
      await this.lock(fd)
      isOwn = await isSameFile(fd, filename) && await run()
    } finally {
      if (isOwn) this.fd = fd
      else await close(fd)
    }
    return isOwn
  }

  /** @param {number} fd */
  async lock (fd) {
    if (!canLock || !this.options.isLocking) return
    for (let tries = 1; !tryLock(fd); tries++) {
      if (tries === MAX_TRIES) throw errors.cursorLocked(this.given, this.name)
      await new Promise(resolve => setTimeout(resolve, PAUSE))
    }
  }

  /**
   * Is not durable yet. If it fails, the position is the one before.
   * @param {Position} position
   */
  async write (position) {
    this.mustRewrite = true
    this.put(this.lineOf(position, this.number + 1))
    this.number++
    this.position = position
    this.isUnsynced = true
    this.mustRewrite = false
  }

  /**
   * Makes durable what was written. No other call may be in progress.
   */
  async sync () {
    if (!this.isUnsynced) return
    // the line that a failed write or fsync has left must not become the one to rely on
    if (this.mustRewrite) this.put(this.lineOf(this.position, this.number))
    this.mustRewrite = false
    try {
      await datasync(this.fd)
    } catch (err) {
      this.mustRewrite = true
      throw named(err, this.filename)
    }
    this.durableLine = 1 - this.durableLine
    this.isUnsynced = false
  }

  /** @param {Buffer} line in the place of the one that is not the durable one */
  put (line) {
    const { fd } = this
    const offset = (1 - this.durableLine) * LINE_SIZE
    try {
      if (fs.writeSync(fd, line, 0, line.length, offset) < line.length) throw noSpace()
    } catch (err) {
      throw named(err, this.filename)
    }
  }

  /**
   * @param {Position} position
   * @param {number} number
   */
  lineOf (position, number) {
    return encodeLine({ name: this.name, ...position, number })
  }

  /** Releases the lock. */
  async close () {
    const { fd } = this
    this.fd = -1
    if (fd !== -1) await close(fd)
  }
}

/**
 * @param {number} fd
 * @param {string} filename
 * @returns {Promise<Buffer>} what the file has, as far as it is long enough to matter
 */
async function readAll (fd, filename) {
  const bytes = Buffer.alloc(2 * LINE_SIZE)
  const { bytesRead } = await read(fd, bytes, 0, bytes.length, 0).catch((err) => { throw named(err, filename) })
  return bytes.subarray(0, bytesRead)
}

/** @param {string} filename */
async function exists (filename) {
  return await fs.promises.stat(filename).catch(nullIfMissing) !== null
}

/** Of a write that was done in part: the next one would say why. */
function noSpace () {
  return Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}

/**
 * @template T
 * @param {string} filename of a cursor that another process may hold
 * @param {string | number} flags
 * @param {(fd: number) => Promise<T>} run
 * @returns {Promise<T | null>} null: there is none
 */
async function withFile (filename, flags, run) {
  const fd = await open(filename, flags).catch(nullIfMissing)
  if (fd === null) return null
  try {
    return await run(fd)
  } finally {
    await close(fd)
  }
}

/**
 * @param {string} filename
 * @returns {Promise<{ position: Position & import('./cursor-text').Line | null, isHeld: boolean } | null>} without a position, it
 *   is corrupt; null: there is none
 */
function readCursor (filename) {
  return withFile(filename, TO_READ, async (fd) => {
    let found = null
    for (let reads = 0; found === null && reads < MAX_READS; reads++) found = decodeLines(await readAll(fd, filename))
    return { position: found?.line ?? null, isHeld: isLocked(fd) }
  })
}

/**
 * A process that was killed may not have made durable what it has written.
 * @param {string} filename
 */
async function syncCursor (filename) {
  await withFile(filename, TO_READ, fd => datasync(fd))
}

/**
 * @param {string} filename
 * @param {string} given the same with the path of the log as the caller gave it, for errors
 * @param {string} name the cursor's
 * @returns {Promise<boolean>} false: there is no such cursor
 */
async function deleteCursor (filename, given, name) {
  const isDone = await withFile(filename, 'r+', async (fd) => {
    if (canLock && !tryLock(fd)) throw errors.cursorLocked(given, name)
    if (!await isSameFile(fd, filename)) return false
    await fs.promises.unlink(filename)
    await syncFolder(path.dirname(filename))
    return true
  })
  // another file has its name meanwhile
  return isDone === false ? deleteCursor(filename, given, name) : isDone === true
}

module.exports = { CursorFile, readCursor, syncCursor, deleteCursor }
