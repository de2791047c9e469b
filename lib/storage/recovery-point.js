'use strict'

// The small file beside a log with its recovery point: up to where everything is durable,
// and, while its writer is alive, up to where it has acknowledged appends.

const fs = require('fs')
const { callbackify, promisify } = require('util')
const { datasync } = require('./datasync')
const { nullIfMissing, syncFolder } = require('./directory')
const { lockIfPossible, isLocked } = require('./lock')
const { acknowledgedLine, parsePoint, pointLine } = require('./recovery-point-text')
const { isRoot } = require('./user')

/** How often a file is read again that was replaced, or published to, in the middle of reading it. */
const MAX_READS = 10
/** Windows replaces no file that is open, so there the file is not kept open, and nothing is published. */
const KEEPS_OPEN = process.platform !== 'win32'

/** Bytes: more than a recovery point without deletions has. */
const SHORT_POINT = 4096
/** Bytes of the first line of a recovery point that tell it from any other: it starts with a checksum. */
const PEEK_SIZE = 64

const open = promisify(fs.open)
const read = promisify(fs.read)
const readFile = promisify(fs.readFile)
const fstat = promisify(fs.fstat)
const close = promisify(fs.close)
const writeFile = promisify(fs.writeFile)
const write = promisify(fs.write)
const fchmod = promisify(fs.fchmod)
const fchown = promisify(fs.fchown)

/**
 * What a writer leaves beside the log while it has it open.
 * @typedef {object} RecoveryPoint
 * @property {number} offset up to here everything was durable when this was written
 * @property {Rewrite[]} rewrites deletions that were in progress
 * @property {string} [id] another one each time it is written
 * @property {number | null} acknowledged up to here the writer has acknowledged appends, if it is alive; null: not known
 * @property {boolean} isHeld whether its writer is alive; false if that cannot be known here
 *
 * @typedef {object} Rewrite
 * @property {number} offset of a block in the log
 * @property {Buffer} data bytes that belong there
 * @property {Buffer} [replaces] CRC-32 (uint32, little-endian) of what was there before, for each line of the block in which
 *   a deleted record has data (see `rewriteImage` in lib/recovery/rewrites.js); missing in recovery points of earlier versions
 *
 * @typedef {{ offset: number, rewrites: Rewrite[], acknowledged: number }} NewPoint
 */

/**
 * @typedef {object} PointFile
 * @property {(cb: (err: Error | null, point?: RecoveryPoint | null) => void) => void} read null: there is none, or none that is whole
 * @property {(point: NewPoint, cb: import('./path-file').Done) => void} write replaces it, all or nothing; it is durable before cb
 * @property {(acknowledged: number) => void} publish tells readers in other processes how far appends are acknowledged: one
 *   small write, which is not synced and whose errors do not matter. Does nothing while there is no recovery point
 * @property {(cb: import('./path-file').Done) => void} remove
 * @property {() => string | null} peek the start of the file, which is another one after each `write`; empty if there is no file. Null:
 *   that cannot be known without waiting. Uses synchronous I/O
 * @property {() => void} release the writer is gone, though the file stays
 */

/**
 * A recovery point by its path. The file is replaced by renaming a new one over it, so its
 * first line is always whole; the second is rewritten in place, and has a checksum for a
 * reader to notice that it was read half-written. The writer keeps the file open and locked:
 * if a reader can lock it, the writer is gone.
 */
class PathPoint {
  /**
   * @param {string} filename
   * @param {string} folder that it is in
   * @param {() => Promise<fs.Stats>} logStatus of the log, whose mode and owner the file gets
   * @param {boolean} blocking whether `publish` may use synchronous I/O
   */
  constructor (filename, folder, logStatus, blocking) {
    this.filename = filename
    this.folder = folder
    this.logStatus = logStatus
    this.blocking = blocking
    /** Settled when nothing is being published by asynchronous I/O. */
    this.published = Promise.resolve()
    this.isPublishDue = false
    /** The file that is in place, locked; -1: none. */
    this.fd = -1
    /** Where its second line starts. */
    this.lineOffset = 0
    /** The file that is about to take its place, complete but for its name. @type {{ fd: number, lineOffset: number } | null} */
    this.next = null
    /** What the second line says, or will say once there is a file. */
    this.acknowledged = 0
  }

  /** @returns {Promise<RecoveryPoint | null>} */
  async read () {
    for (let reads = 1; ; reads++) {
      const { isCurrent, point } = await this.readOnce()
      const isTorn = point !== null && point.isHeld && point.acknowledged === null
      if (reads === MAX_READS || (isCurrent && !isTorn)) return point
    }
  }

  /** @returns {Promise<{ isCurrent: boolean, point: RecoveryPoint | null }>} isCurrent: the file was not replaced meanwhile */
  async readOnce () {
    const fd = await open(this.filename, 'r').catch(nullIfMissing)
    if (fd === null) return { isCurrent: true, point: null }
    try {
      const text = await readText(fd)
      const isHeld = isLocked(fd)
      // a writer that is alive unlocks the file only after another is in its place, or none
      const isCurrent = isHeld || await isSameFile(fd, this.filename)
      return { isCurrent, point: parsePoint(text, isHeld) }
    } catch (err) {
      throw named(err, this.filename)
    } finally {
      fs.close(fd, () => {})
    }
  }

  /** @returns {string | null} */
  peek () {
    if (!this.blocking) return null
    let fd = -1
    try {
      fd = fs.openSync(this.filename, 'r')
      const bytes = Buffer.allocUnsafe(PEEK_SIZE)
      return bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, PEEK_SIZE, 0)).split('\n')[0]
    } catch (err) {
      return /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? '' : null
    } finally {
      if (fd !== -1) fs.closeSync(fd)
    }
  }

  /** @param {NewPoint} point */
  async write ({ offset, rewrites, acknowledged }) {
    const unfinished = this.filename + '.new'
    const first = pointLine(offset, rewrites)
    this.acknowledged = acknowledged
    let fd = -1
    try {
      // not readable by others until it has the log's mode: deletions in it hold data
      fd = await open(unfinished, 'w', 0o600)
      await this.shareAsLog(fd)
      await writeFile(fd, first + acknowledgedLine(acknowledged))
      await datasync(fd, unfinished)
      lockIfPossible(fd)
      // what is published from now on goes into both files: readers never find less than they found before
      this.next = { fd, lineOffset: first.length }
      if (this.acknowledged !== acknowledged) this.publish(this.acknowledged)
      await this.published
      await fs.promises.rename(unfinished, this.filename)
    } catch (err) {
      this.next = null
      if (fd !== -1) await this.closeFile(fd)
      // on a full disk what there is of it would take the last room
      await fs.promises.unlink(unfinished).catch(() => {})
      throw named(err, this.filename)
    }
    const before = this.fd
    this.fd = fd
    this.lineOffset = first.length
    this.next = null
    if (!KEEPS_OPEN) this.release()
    if (before !== -1) await this.closeFile(before)
    await syncFolder(this.folder)
  }

  /**
   * Readers need the file as they need the log: it gets the log's mode, whatever the umask,
   * and its owner and group, as far as this process may give them.
   * @param {number} fd
   */
  async shareAsLog (fd) {
    const { mode, uid, gid } = await this.logStatus()
    // some file systems have no owners, or no modes; then there is nothing to give
    await fchown(fd, isRoot() ? uid : -1, gid).catch(() => {})
    await fchmod(fd, mode & 0o777).catch(() => {})
  }

  /** @param {number} acknowledged */
  publish (acknowledged) {
    this.acknowledged = acknowledged
    if (!this.blocking) this.publishLater()
    else for (const { fd, lineOffset } of this.files()) writeLine(fd, acknowledged, lineOffset)
  }

  /** One write after the other, so that the last one stays; each takes what is acknowledged by then. */
  publishLater () {
    if (this.isPublishDue) return
    this.isPublishDue = true
    this.published = this.published.then(() => {
      this.isPublishDue = false
      return this.publishAsync()
    })
  }

  async publishAsync () {
    const bytes = Buffer.from(acknowledgedLine(this.acknowledged), 'latin1')
    for (const { fd, lineOffset } of this.files()) {
      await write(fd, bytes, 0, bytes.length, lineOffset).catch(() => {})
    }
  }

  /**
   * The next one comes first: it may take the other's place between the writes, and must not say less.
   * @returns {Array<{ fd: number, lineOffset: number }>} those that say what is acknowledged
   */
  files () {
    const files = this.fd === -1 ? [] : [{ fd: this.fd, lineOffset: this.lineOffset }]
    return this.next === null ? files : [this.next, ...files]
  }

  async remove () {
    const { fd } = this
    this.fd = -1
    try {
      await fs.promises.unlink(this.filename + '.new').catch(nullIfMissing)
      await fs.promises.unlink(this.filename).catch(nullIfMissing)
    } finally {
      // not before: while there is a file, readers must know that its writer is alive
      if (fd !== -1) await this.closeFile(fd)
    }
    await syncFolder(this.folder)
  }

  /** @param {number} fd */
  async closeFile (fd) {
    await this.published
    await close(fd).catch(() => {})
  }

  release () {
    const { fd } = this
    this.fd = -1
    if (fd === -1) return
    if (this.blocking) fs.closeSync(fd)
    else this.closeFile(fd)
  }
}

/**
 * @param {string} filename
 * @param {string} folder that it is in
 * @param {() => Promise<fs.Stats>} logStatus of the log
 * @param {boolean} [blocking] whether `publish` may use synchronous I/O
 * @returns {PointFile}
 */
function pointFile (filename, folder, logStatus, blocking = true) {
  const point = new PathPoint(filename, folder, logStatus, blocking)
  return {
    read: callbackify(() => point.read()),
    write: callbackify((/** @type {NewPoint} */ next) => point.write(next)),
    publish: (acknowledged) => point.publish(acknowledged),
    remove: callbackify(() => point.remove()),
    peek: () => point.peek(),
    release: () => point.release()
  }
}

/**
 * @param {number} fd
 * @param {number} acknowledged
 * @param {number} lineOffset
 */
function writeLine (fd, acknowledged, lineOffset) {
  try {
    // as bytes: of a string, Deno ignores the position
    const bytes = Buffer.from(acknowledgedLine(acknowledged), 'latin1')
    fs.writeSync(fd, bytes, 0, bytes.length, lineOffset)
  } catch {
    // readers see the log end where it did until the next one
  }
}

/**
 * @param {number} fd
 * @returns {Promise<string>} its contents; one read, unless deletions make it long
 */
async function readText (fd) {
  const bytes = Buffer.allocUnsafe(SHORT_POINT)
  const { bytesRead } = await read(fd, bytes, 0, SHORT_POINT, 0)
  if (bytesRead < SHORT_POINT) return bytes.toString('latin1', 0, bytesRead)
  // from its start: the read before was by position
  return (await readFile(fd)).toString('latin1')
}

/**
 * @param {number} fd
 * @param {string} filename
 * @returns {Promise<boolean>} whether the name leads to the open file
 */
async function isSameFile (fd, filename) {
  const [mine, there] = await Promise.all([
    fstat(fd, { bigint: true }),
    fs.promises.stat(filename, { bigint: true }).catch(nullIfMissing)
  ])
  return there !== null && mine.ino === there.ino && mine.dev === there.dev
}

/**
 * @param {any} err of the system, which knows no name for an open file
 * @param {string} filename
 */
function named (err, filename) {
  if (err.path !== undefined) return err
  err.path = filename
  err.message += ` '${filename}'`
  return err
}

module.exports = { pointFile }
