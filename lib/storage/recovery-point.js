'use strict'

// The small file beside a log with its recovery point: up to where everything is durable;
// deletions that the log may not have yet; and, while its writer is alive, up to where it has
// acknowledged appends.

const fs = require('fs')
const { randomUUID } = require('crypto')
const { callbackify, promisify } = require('util')
const { datasync } = require('./datasync')
const { nullIfMissing, syncFolder } = require('./directory')
const { lockIfPossible } = require('./lock')
const { named, readPoint } = require('./recovery-point-reader')
const { ACKNOWLEDGED_SIZE, acknowledgedLine, deletionsLine, pointLine, setAcknowledged } = require('./recovery-point-text')
const { inherit } = require('./inherit')

/** Bytes of deletions: readers in other processes read all of them. */
const MAX_RECORDED = 32 * 1024
/** Windows replaces no file that is open, so there the file is not kept open, and nothing is published. */
const KEEPS_OPEN = process.platform !== 'win32'

const open = promisify(fs.open)
const close = promisify(fs.close)
const writeFile = promisify(fs.writeFile)
const write = promisify(fs.write)

/**
 * What a writer leaves beside the log while it has it open.
 * @typedef {object} RecoveryPoint
 * @property {number} offset up to here everything was durable when this was written
 * @property {Deletion[]} deletions that the log may not have yet, in the order in which they were made
 * @property {string} id another one each time it is written, or a deletion is recorded
 * @property {string} writer another one each time a log is opened
 * @property {number} dropped the highest number of a deletion of this writer that is not listed any more: the log has it
 * @property {import('../recovery/count-records').CountMark} [counted] records in front of an offset that is not greater than `offset`;
 *   missing: not known
 * @property {number} [start] of the log; missing: nothing was trimmed
 * @property {Trimming} [trimming] the blocks before `start` may not be zeros yet
 * @property {number | null} acknowledged up to here the writer has acknowledged appends, if it is alive; null: not known
 * @property {boolean} isHeld whether its writer is alive; false if that cannot be known here
 *
 * @typedef {object} Trimming
 * @property {number} from offset of the first block that may not be zeros yet
 * @property {import('../recovery/deletions').DeletedRecord} tie the record at `start`, as if it were to be deleted: without it, the file is another one
 *
 * @typedef {import('../recovery/deletions').Deletion} Deletion
 * @typedef {Pick<RecoveryPoint, 'start' | 'trimming'>} PointStart
 * @typedef {{ offset: number, deletions: Deletion[], acknowledged: number, dropped?: number, counted?: RecoveryPoint['counted'] } & PointStart} NewPoint
 */

/**
 * @typedef {object} PointFile
 * @property {(cb: (err: Error | null, point?: RecoveryPoint | null) => void) => void} read null: there is none, or none that is whole
 * @property {(point: NewPoint, cb: import('./path-file').Done) => void} write replaces it, all or nothing; it is durable before cb
 * @property {number} maxRecorded bytes of deletions, about, beyond which it is to be written anew
 * @property {(deletions: Deletion[], cb: import('./path-file').Done) => void} record appends them; only when there is a recovery point,
 *   and no other call is in progress. If it fails, they may be there or not, and the file has to be written anew
 * @property {(cb: import('./path-file').Done) => void} sync makes durable what was recorded
 * @property {(acknowledged: number) => Promise<void> | null} publish tells readers in other processes how far appends are acknowledged: one
 *   small write, which is not synced and whose errors do not matter. Null: it is done. Does nothing while there is no recovery point
 * @property {(cb: import('./path-file').Done) => void} remove
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
    /** What tells this writer from others; null: it has not written a recovery point yet. @type {string | null} */
    this.writer = null
    /** Settled when nothing is being published by asynchronous I/O. */
    this.published = Promise.resolve()
    this.isPublishDue = false
    /** The second line, as bytes. */
    this.line = Buffer.alloc(ACKNOWLEDGED_SIZE)
    /** The file that is in place, locked; -1: none. */
    this.fd = -1
    /** Where its second line starts. */
    this.lineOffset = 0
    /** Of the file, in bytes. What follows is left of a `record` that failed. */
    this.size = 0
    /** Whether a power cut may bring back the file that was in its place before. */
    this.isNameUnsynced = true
    /** The file that is about to take its place, complete but for its name. @type {{ fd: number, lineOffset: number } | null} */
    this.next = null
    /** What the second line says, or will say once there is a file. */
    this.acknowledged = 0
  }

  /** @param {NewPoint} point */
  async write (point) {
    const { deletions, acknowledged } = point
    const unfinished = this.filename + '.new'
    this.writer ??= randomUUID()
    const first = pointLine(point, this.writer)
    const text = first + acknowledgedLine(acknowledged) + deletionsLine(deletions)
    this.acknowledged = acknowledged
    let fd = -1
    try {
      // not readable by others until it has the log's mode: deletions in it tell of data
      fd = await open(unfinished, 'w', 0o600)
      inherit(fd, await this.logStatus())
      await writeFile(fd, text)
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
    this.size = text.length
    this.isNameUnsynced = true
    this.next = null
    if (!KEEPS_OPEN) this.release()
    if (before !== -1) await this.closeFile(before)
    await this.syncName()
  }

  async syncName () {
    await syncFolder(this.folder)
    this.isNameUnsynced = false
  }

  /** @param {Deletion[]} deletions */
  async record (deletions) {
    // as bytes: of a string, Deno ignores the position
    const line = Buffer.from(deletionsLine(deletions), 'latin1')
    await this.withFile(async (fd) => {
      const bytesWritten = this.blocking
        ? fs.writeSync(fd, line, 0, line.length, this.size)
        : (await write(fd, line, 0, line.length, this.size)).bytesWritten
      // the next one would say why
      if (bytesWritten < line.length) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    })
    this.size += line.length
  }

  async sync () {
    await this.withFile(fd => datasync(fd, this.filename))
    if (this.isNameUnsynced) await this.syncName()
  }

  /** @param {(fd: number) => Promise<void>} run given the file that is in place */
  async withFile (run) {
    const isOpen = this.fd !== -1
    const fd = isOpen ? this.fd : await open(this.filename, 'r+')
    try {
      await run(fd)
    } catch (err) {
      throw named(err, this.filename)
    } finally {
      if (!isOpen) await close(fd)
    }
  }

  /**
   * @param {number} acknowledged
   * @returns {Promise<void> | null} null: it is done
   */
  publish (acknowledged) {
    this.acknowledged = acknowledged
    if (this.fd === -1 && this.next === null) return null
    if (!this.blocking) return this.publishLater()
    const { line, next } = this
    setAcknowledged(line, acknowledged)
    // the next one comes first: it may take the other's place between the writes, and must not say less
    if (next !== null) writeLine(next.fd, line, next.lineOffset)
    if (this.fd !== -1) writeLine(this.fd, line, this.lineOffset)
    return null
  }

  /** One write after the other, so that the last one stays; each takes what is acknowledged by then. */
  publishLater () {
    if (!this.isPublishDue) {
      this.isPublishDue = true
      this.published = this.published.then(() => {
        this.isPublishDue = false
        return this.publishAsync()
      })
    }
    return this.published
  }

  async publishAsync () {
    const { fd, lineOffset, next, line } = this
    setAcknowledged(line, this.acknowledged)
    // in this order, as in `publish`
    if (next !== null) await write(next.fd, line, 0, line.length, next.lineOffset).catch(() => {})
    if (fd !== -1) await write(fd, line, 0, line.length, lineOffset).catch(() => {})
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
 * @param {boolean} [blocking] whether `publish` and `read` may use synchronous I/O
 * @returns {PointFile}
 */
function pointFile (filename, folder, logStatus, blocking = true) {
  const point = new PathPoint(filename, folder, logStatus, blocking)
  return {
    maxRecorded: MAX_RECORDED,
    read: callbackify(async () => isThere(filename) ? readPoint(filename, blocking) : null),
    write: callbackify((/** @type {NewPoint} */ next) => point.write(next)),
    record: callbackify((/** @type {Deletion[]} */ deletions) => point.record(deletions)),
    sync: callbackify(() => point.sync()),
    publish: (acknowledged) => point.publish(acknowledged),
    remove: callbackify(() => point.remove()),
    release: () => point.release()
  }
}

/**
 * A log that was closed has no recovery point.
 * @param {string} filename
 */
function isThere (filename) {
  return fs.statSync(filename, { throwIfNoEntry: false }) !== undefined
}

/**
 * @param {number} fd
 * @param {Buffer} line
 * @param {number} lineOffset
 */
function writeLine (fd, line, lineOffset) {
  try {
    fs.writeSync(fd, line, 0, line.length, lineOffset)
  } catch {
    // readers see the log end where it did until the next one
  }
}

module.exports = { pointFile }
