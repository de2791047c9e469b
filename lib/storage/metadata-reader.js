'use strict'

// Reads FILE.meta, which another process may be replacing, or appending to.

const fs = require('fs')
const { promisify } = require('util')
const { nullIfMissing } = require('./directory')
const { isLocked } = require('./lock')
const { MetadataLines, PUBLISHED_SIZE, parsePublished } = require('./metadata-text')

/** How often a file is read again that was replaced, or published to, in the middle of reading it. */
const MAX_READS = 10
/** Bytes read at a time; most files have no more. A longer line is read with twice as many. */
const READ_SIZE = 4096
/** Bytes after the first line that tell a snapshot from others: it starts with a checksum and a random id. */
const HEAD_SIZE = 64

const fstat = promisify(fs.fstat)
/** Reading a file that is in the page cache is faster without the thread pool. */
const now = {
  open: (/** @type {string} */ filename) => fs.openSync(filename, 'r'),
  read: (/** @type {number} */ fd, /** @type {Buffer} */ bytes, /** @type {number} */ offset) => fs.readSync(fd, bytes, 0, bytes.length, offset),
  close: fs.closeSync
}
const later = {
  open: promisify((/** @type {string} */ filename, /** @type {(err: Error | null, fd: number) => void} */ cb) => fs.open(filename, 'r', cb)),
  read: async (/** @type {number} */ fd, /** @type {Buffer} */ bytes, /** @type {number} */ offset) => (await promisify(fs.read)(fd, bytes, 0, bytes.length, offset)).bytesRead,
  close: promisify(fs.close)
}

/**
 * @typedef {import('./metadata-text').Lines & { published: number | null, isHeld: boolean }} Read published: up to here the writer has acknowledged
 *   appends, if it is alive. isHeld: whether it is alive; false if that cannot be known here
 */

class MetadataReader {
  /**
   * @param {string} filename
   * @param {boolean} blocking whether it may use synchronous I/O
   */
  constructor (filename, blocking) {
    this.filename = filename
    this.calls = blocking ? now : later
    /** What was read already, of the snapshot that starts with this. */
    this.head = ''
    this.lines = new MetadataLines()
    /** @type {number | null} */
    this.published = null
    this.isHeld = false
    /** Settled when it is not being read. @type {Promise<unknown>} */
    this.last = Promise.resolve()
  }

  /**
   * One at a time: what is read is added to what was read before.
   * @returns {Promise<Read | null>} null: there is no file, or none that counts
   */
  read () {
    const done = this.last.then(() => this.readCurrent())
    this.last = done.catch(() => {})
    return done
  }

  /** @returns {Promise<Read | null>} */
  async readCurrent () {
    // most often there is one, or no log
    if (!fs.existsSync(this.filename)) return null
    for (let reads = 1; ; reads++) {
      const { isCurrent, found } = await this.readOnce()
      const isTorn = found !== null && found.isHeld && found.published === null
      if (reads === MAX_READS || (isCurrent && !isTorn)) return found
    }
  }

  /** @returns {Promise<{ isCurrent: boolean, found: Read | null }>} isCurrent: the file was not replaced meanwhile */
  async readOnce () {
    const { calls, filename } = this
    const fd = await open(calls, filename)
    if (fd === null) return { isCurrent: true, found: null }
    try {
      const { head, published: before } = this
      const published = this.published = await this.readLines(fd)
      // a writer that publishes is alive: asking for its lock takes longer than all the rest
      const isPublishing = this.isHeld && head === this.head && published !== null && published !== before
      const isHeld = this.isHeld = isPublishing || isLocked(fd)
      // a writer that is alive unlocks the file only after another is in its place
      const isCurrent = isHeld || await isSameFile(fd, filename)
      const { metadata, version, size } = this.lines
      return { isCurrent, found: metadata && { metadata: { ...metadata, deletions: [...metadata.deletions] }, version, size, published, isHeld } }
    } catch (err) {
      throw named(err, filename)
    } finally {
      await calls.close(fd)
    }
  }

  /**
   * Reads what was appended since the last time.
   * @param {number} fd
   * @returns {Promise<number | null>} what is published
   */
  async readLines (fd) {
    const first = Buffer.allocUnsafe(READ_SIZE)
    const text = first.toString('latin1', 0, await this.calls.read(fd, first, 0))
    const head = text.slice(PUBLISHED_SIZE, PUBLISHED_SIZE + HEAD_SIZE)
    if (head !== this.head) this.lines = new MetadataLines()
    this.head = head
    const { lines } = this
    lines.add(text.slice(lines.size))
    // there is more if it does not end with the zeros behind the lines
    for (let size = READ_SIZE, rest = text.slice(Math.min(lines.size, text.length)); text.length === READ_SIZE && !rest.includes('\0');) {
      const before = lines.size
      const bytes = Buffer.allocUnsafe(size)
      const bytesRead = await this.calls.read(fd, bytes, before)
      rest = bytes.toString('latin1', 0, bytesRead)
      lines.add(rest)
      rest = rest.slice(lines.size - before)
      if (bytesRead < size) break
      if (lines.size === before) size *= 2
    }
    return parsePublished(text)
  }

  /** @returns {Promise<string>} the version as it is now; empty if there is no file */
  currentVersion () {
    const done = this.last.then(async () => {
      const { calls, filename } = this
      const fd = await open(calls, filename)
      if (fd === null) return ''
      try {
        await this.readLines(fd)
        return this.lines.version
      } finally {
        await calls.close(fd)
      }
    })
    this.last = done.catch(() => {})
    return done
  }

  /**
   * Uses synchronous I/O.
   * @returns {string | null} the version; empty if there is none. Null: the file cannot be read
   */
  readVersion () {
    try {
      const lines = new MetadataLines()
      lines.add(fs.readFileSync(this.filename, 'latin1').slice(PUBLISHED_SIZE))
      return lines.metadata === null ? '' : lines.version
    } catch (err) {
      return /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? '' : null
    }
  }
}

/**
 * @param {typeof now | typeof later} calls
 * @param {string} filename
 * @returns {Promise<number | null>} null: there is no such file
 */
async function open (calls, filename) {
  try {
    return await calls.open(filename)
  } catch (err) {
    return nullIfMissing(/** @type {NodeJS.ErrnoException} */ (err))
  }
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
  if (typeof err?.path === 'string') return err
  err.path = filename
  err.message += ` '${filename}'`
  return err
}

module.exports = { MetadataReader, isSameFile, named }
