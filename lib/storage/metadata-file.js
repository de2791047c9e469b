'use strict'

// FILE.meta beside a log, as the one process writes it that has the log's lock: entries are appended, and a snapshot replaces the file. The
// file is kept open and locked, so that readers know that its writer is alive. metadata-reader.js reads it.

const fs = require('fs')
const { promisify } = require('util')
const { closeQuietly, nullIfMissing, syncFolder } = require('./directory')
const { inherit } = require('./inherit')
const { lockIfPossible } = require('./lock')
const { MetadataReader, named } = require('./metadata-reader')
const { PUBLISHED_SIZE, apply, formatEntry, formatMetadata, setPublished } = require('./metadata-text')
const { NEW } = require('./whole-file')
const { writeAll } = require('./buffers')

/** The file grows by pages, so that what is appended on a full disk has room in the last one. */
const PAGE_SIZE = 4096
/** Bytes behind the entries that only urgent ones use. */
const RESERVE = 1024
/** Bytes of the file from which on a snapshot should replace it. */
const MAX_SIZE = 256 * 1024
/** A snapshot does not replace it before it is this many times as large as the last one. */
const MAX_GROWTH = 4
/** How often the lock of an existing file is tried: readers hold it for the time of a call. */
const MAX_LOCKS = 100

const open = promisify(fs.open)
const close = promisify(fs.close)
const datasync = promisify(fs.fdatasync)

/** @typedef {import('./metadata-text').Metadata} Metadata @typedef {import('./metadata-text').Entry} Entry */

class MetadataFile {
  /**
   * @param {string} filename
   * @param {string} folder that it is in
   * @param {() => Promise<fs.Stats>} logStatus of the log, whose mode and owner the file gets
   */
  constructor (filename, folder, logStatus) {
    this.filename = filename
    this.folder = folder
    this.logStatus = logStatus
    this.reader = new MetadataReader(filename)
    /** What the file says; null: there is none, or it does not belong to the log. @type {Metadata | null} */
    this.metadata = null
    /** Whether a snapshot has to replace the file before anything is appended: an entry may be in it that must not count, something follows its entries, or an fsync has failed. */
    this.mustReplace = false
    /** Why an entry was written in part. One in its place could have its end after a power cut, and the beginning of this one. @type {unknown} */
    this.torn = null
    /** -1: not open. */
    this.fd = -1
    /** Bytes of the entries that count, and of the file. */
    this.size = this.allocated = 0
    /** The same of the last snapshot. */
    this.snapshotSize = 0
    /** Whether a power cut may bring back the file that was in its place before. */
    this.isNameUnsynced = false
    /** Entries that were appended since the snapshot in progress was started; null: none is. @type {Array<{ bytes: Buffer, entry: Entry }> | null} */
    this.since = null
    this.acknowledged = 0
    this.line = Buffer.alloc(PUBLISHED_SIZE)
  }

  /** Whether entries would make it too long for readers, which read all of them. */
  get isLong () {
    return this.size > Math.max(MAX_SIZE, MAX_GROWTH * this.snapshotSize)
  }

  /** @returns {ReturnType<MetadataReader['read']>} what another process may be writing; null: there is no file, or none that counts */
  read () {
    return this.reader.read()
  }

  /** @returns {ReturnType<MetadataReader['peek']>} version: another one after each change that readers of blocks have to know */
  peek () {
    return this.reader.peek()
  }

  /**
   * Before the process appends to the file.
   * @param {Metadata | null} metadata what was read of it; null: it does not belong to the log
   * @param {number} size bytes of the lines that count
   */
  load (metadata, size) {
    // the reader keeps its own
    this.metadata = metadata && { ...metadata, deletions: [...metadata.deletions], clients: { ...metadata.clients } }
    this.size = size
    // what is appended in front of it would make another line of it, or make it count
    this.mustReplace = metadata !== null && this.reader.hasRemains
    this.torn = null
    // an earlier process may have ended before it had fsynced the directory, which has the name of the log, too
    this.isNameUnsynced = metadata !== null
  }

  /**
   * Marks the writer of the log as alive, and keeps the file open.
   * @param {number} acknowledged
   * @returns {Promise<boolean>} false: it cannot be locked, and has to be replaced
   */
  async lock (acknowledged) {
    this.ensureOpen()
    this.publish(acknowledged)
    for (let locks = 0; locks < MAX_LOCKS; locks++) {
      if (lockIfPossible(this.fd)) return true
      await new Promise(resolve => setImmediate(resolve))
    }
    return false
  }

  /** What the file says may not be true: a snapshot replaces it before anything is appended. */
  distrust () {
    this.mustReplace = true
  }

  /**
   * An fsync of an earlier process may have failed, and has marked the entries as written without writing them (as Linux does): they are
   * written again, so that the next fsync makes them durable.
   */
  ensureOpen () {
    if (this.fd !== -1) return
    const fd = fs.openSync(this.filename, 'r+')
    try {
      const bytes = Buffer.alloc(this.size)
      writeFully(fd, bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0)), 0)
      this.allocated = fs.fstatSync(fd).size
    } catch (err) {
      fs.closeSync(fd)
      throw err
    }
    this.fd = fd
  }

  /**
   * Synchronous I/O: it goes into the page cache. It is not durable before `sync`.
   * @param {Entry} entry
   * @param {boolean} [isUrgent] whether it may use the last room on a full disk
   */
  append (entry, isUrgent = false) {
    if (this.torn !== null) throw this.torn
    const bytes = Buffer.from(formatEntry(entry), 'latin1')
    try {
      this.ensureOpen()
      this.writeEntry(bytes, isUrgent)
    } catch (err) {
      throw named(err, this.filename)
    }
    this.size += bytes.length
    this.since?.push({ bytes, entry })
    apply(/** @type {Metadata} */ (this.metadata), entry)
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isUrgent
   */
  writeEntry (bytes, isUrgent) {
    const { fd, size, allocated } = this
    const end = size + bytes.length
    const needed = roundUp(end)
    try {
      // first: of an entry for which there is no room, nothing may be in the file
      if (needed > allocated) writeFully(fd, Buffer.alloc(needed - allocated), allocated)
      this.allocated = Math.max(needed, allocated)
    } catch (err) {
      if (!isUrgent || end > allocated) throw err
    }
    try {
      writeFully(fd, bytes, size)
    } catch (err) {
      this.mustReplace = true
      this.torn = err
      throw err
    }
  }

  /**
   * Replaces the file by a snapshot, all or nothing. It is durable then. No other call but `append` and `publish` may be in progress.
   * @param {Metadata} metadata
   * @param {number} [acknowledged] offset, as for `publish`; default: as it was published
   * @returns {Promise<void>}
   */
  async replace (metadata, acknowledged = this.acknowledged) {
    this.acknowledged = acknowledged
    const unfinished = this.filename + NEW
    const before = { metadata: this.metadata, mustReplace: this.mustReplace }
    const bytes = padded(Buffer.from(formatMetadata(metadata, this.acknowledged), 'latin1'), 0)
    const size = bytes.indexOf(0)
    this.since = []
    this.metadata = metadata
    this.mustReplace = false
    let fd = -1
    try {
      // not readable by others until it has the log's mode: it tells of the log
      fd = await open(unfinished, 'w', 0o600)
      inherit(fd, await this.logStatus())
      await writeAll(fd, [bytes], 0)
      await datasync(fd)
      lockIfPossible(fd)
      this.takePlace(fd, size, bytes.length, unfinished)
    } catch (err) {
      for (const { entry } of this.since ?? []) if (before.metadata !== null) apply(before.metadata, entry)
      // there may be room later; and what it says may have become untrue meanwhile
      Object.assign(this, { metadata: before.metadata, mustReplace: before.mustReplace || this.mustReplace, since: null, snapshotSize: this.size })
      if (fd !== -1 && fd !== this.fd) await close(fd).catch(() => {})
      // a partial file would use the remaining space
      await fs.promises.unlink(unfinished).catch(() => {})
      throw named(err, this.filename)
    }
    await this.syncName()
  }

  /**
   * In one turn: nothing is appended or published between the copy and the rename.
   * @param {number} fd of the new file
   * @param {number} size of its entries, in bytes
   * @param {number} allocated bytes
   * @param {string} unfinished its name
   */
  takePlace (fd, size, allocated, unfinished) {
    const since = Buffer.concat((this.since ?? []).map(({ bytes }) => bytes))
    const added = since.length === 0 ? since : padded(since, size)
    writeFully(fd, added, size)
    setPublished(this.line, this.acknowledged)
    writeFully(fd, this.line, 0)
    fs.renameSync(unfinished, this.filename)
    closeQuietly(this.fd)
    this.fd = fd
    this.size = size + since.length
    this.snapshotSize = size
    this.allocated = Math.max(allocated, size + added.length)
    this.since = this.torn = null
    this.isNameUnsynced = true
  }

  async syncName () {
    if (!this.isNameUnsynced) return
    await syncFolder(this.folder).catch((err) => {
      // a power cut may bring back what the snapshot has replaced
      this.mustReplace = true
      throw err
    })
    this.isNameUnsynced = false
  }

  /** What was appended before the call is durable then. As for `replace`. @returns {Promise<void>} */
  async sync () {
    const isOpen = this.fd !== -1
    try {
      this.ensureOpen()
      await datasync(this.fd)
      await this.syncName()
    } catch (err) {
      this.mustReplace = true
      throw named(err, this.filename)
    } finally {
      if (!isOpen) this.release()
    }
  }

  /**
   * Tells readers in other processes how far appends are acknowledged. It is not durable, and its errors do not matter: readers see the log end
   * where it did until the next one.
   * @param {number} acknowledged offset
   */
  publish (acknowledged) {
    this.acknowledged = acknowledged
    if (this.fd === -1) return
    setPublished(this.line, acknowledged)
    // once more if it fails: a client reads what was acknowledged to it
    if (!this.writeLine()) this.writeLine()
  }

  /** @returns {boolean} whether it is done */
  writeLine () {
    try {
      return fs.writeSync(this.fd, this.line, 0, PUBLISHED_SIZE, 0) === PUBLISHED_SIZE
    } catch {
      return false
    }
  }

  /** The file stays, and its writer is gone. */
  release () {
    const { fd } = this
    this.fd = -1
    closeQuietly(fd)
  }

  /** The same, and nothing reads it any more. */
  close () {
    this.release()
    return this.reader.close()
  }

  /** Removes what a process has left that was killed. */
  async removeUnfinished () {
    if (fs.existsSync(this.filename + NEW)) await fs.promises.unlink(this.filename + NEW).catch(nullIfMissing)
  }
}

/**
 * @param {number} size of entries, in bytes
 * @returns {number} of the file: a page has room for the reserve
 */
function roundUp (size) {
  return Math.ceil((size + RESERVE) / PAGE_SIZE) * PAGE_SIZE
}

/**
 * @param {Buffer} bytes
 * @param {number} offset of them in the file
 * @returns {Buffer} with zeros behind them
 */
function padded (bytes, offset) {
  const all = Buffer.alloc(roundUp(offset + bytes.length) - offset)
  bytes.copy(all)
  return all
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @param {number} offset
 */
function writeFully (fd, bytes, offset) {
  for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done)
}

module.exports = { MetadataFile }
