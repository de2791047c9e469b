'use strict'

// Reads FILE.meta, which another process may be replacing, or appending to. It was written a moment ago, so it is in the page cache: reading it is
// faster without the thread pool.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('../errors')
const { isZeros } = require('../format/zeros')
const { TO_READ, closeQuietly, nullIfMissing } = require('./directory')
const { isLocked } = require('./lock')
const { MetadataLines, PUBLISHED_SIZE, parsePublished } = require('./metadata-text')

/** How often a file is read again that was replaced, or published to, in the middle of reading it. */
const MAX_READS = 10
/** Bytes read at a time; most files have no more. A longer line is read with twice as many. */
const READ_SIZE = 4096

const open = promisify(fs.open)
const fstat = promisify(fs.fstat)

/**
 * @typedef {import('./metadata-text').Lines & { published: number | null, isHeld: boolean }} Read published: up to here the writer has acknowledged
 *   appends, if it is alive. isHeld: whether it is alive; false if that cannot be known here
 */

class MetadataReader {
  /** @param {string} filename */
  constructor (filename) {
    this.filename = filename
    /** The file that was read last: most often, it is in its place still. -1: none. */
    this.fd = -1
    /** What was read of it. */
    this.lines = new MetadataLines()
    /** @type {number | null} */
    this.published = null
    this.isHeld = false
    this.isClosed = false
    this.page = Buffer.alloc(READ_SIZE)
    this.line = Buffer.alloc(PUBLISHED_SIZE)
    /** Settled when it is not being read. @type {Promise<unknown>} */
    this.last = Promise.resolve()
  }

  /**
   * @returns {Promise<Read | null>} null: there is no file, or none that counts
   */
  read () {
    return this.exclusively(() => this.readCurrent())
  }

  /**
   * What is read is added to what was read before, so one at a time.
   * @template T
   * @param {() => Promise<T>} run
   * @returns {Promise<T>}
   */
  exclusively (run) {
    const done = this.last.then(run).catch((err) => {
      this.forget()
      throw named(err, this.filename)
    })
    this.last = done.catch(() => {})
    return done
  }

  /** @returns {Promise<Read | null>} */
  async readCurrent () {
    for (let reads = 1; ; reads++) {
      const { isCurrent, found } = await this.readOnce()
      const isTorn = found !== null && found.isHeld && found.published === null
      if (reads === MAX_READS || (isCurrent && !isTorn)) return found
    }
  }

  /** @returns {Promise<{ isCurrent: boolean, found: Read | null }>} isCurrent: the file was not replaced meanwhile */
  async readOnce () {
    const before = this.published
    const fd = await this.readLines()
    if (fd === -1) return { isCurrent: true, found: null }
    const { published } = this
    const { metadata, version, size } = this.lines
    // a writer that publishes is alive: asking for its lock takes longer than all the rest
    const isPublishing = this.isHeld && published !== null && published !== before
    const isHeld = this.isHeld = isPublishing || isLocked(fd)
    // a writer that is alive unlocks the file only after another is in its place
    const isCurrent = isHeld || await isSameFile(fd, this.filename)
    if (!isCurrent) this.forget()
    return { isCurrent, found: metadata && { metadata: { ...metadata, deletions: [...metadata.deletions] }, version, size, published, isHeld } }
  }

  /**
   * Reads what was appended since the last time.
   * @returns {Promise<number>} the file; -1: there is none
   */
  async readLines () {
    if (this.fd !== -1 && fs.fstatSync(this.fd).nlink === 0) this.forget()
    if (this.fd === -1 && !await this.open()) return -1
    const { fd, lines, page } = this
    // most files have no more than a page
    const isShort = lines.size < READ_SIZE
    const first = isShort ? page : this.line
    const text = first.toString('latin1', 0, fs.readSync(fd, first, 0, first.length, 0))
    this.published = parsePublished(text)
    let rest = isShort ? text.slice(lines.size) : ''
    let isAll = isShort && text.length < READ_SIZE
    for (let size = READ_SIZE; ; size *= 2) {
      const before = lines.size
      lines.add(rest)
      if (lines.isCorrupt) throw errors.corruptMetadata(this.filename, lines.size)
      // there is more if it does not end with the zeros behind the lines
      if (isAll || rest.slice(lines.size - before).includes('\0')) return fd
      if (lines.size > before) size = READ_SIZE
      const bytes = size === READ_SIZE ? page : Buffer.allocUnsafe(size)
      const bytesRead = fs.readSync(fd, bytes, 0, bytes.length, lines.size)
      rest = bytes.toString('latin1', 0, bytesRead)
      isAll = bytesRead < size
    }
  }

  /** @returns {Promise<boolean>} false: there is none */
  async open () {
    // by a reader that had begun before the log was closed
    if (this.isClosed) throw errors.closed(this.filename)
    // most often there is one, or no log
    if (!fs.existsSync(this.filename)) return false
    this.fd = await open(this.filename, TO_READ).catch(nullIfMissing) ?? -1
    return this.fd !== -1
  }

  /** Whether anything follows the lines that count in the file that was read last: a power cut or a failed write has left it. */
  get hasRemains () {
    const { fd, lines: { size } } = this
    const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(fd).size - size))
    return !isZeros(bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, size)))
  }

  /** The file is another one, or is not read any more. */
  forget () {
    const { fd } = this
    this.fd = -1
    this.lines = new MetadataLines()
    this.published = null
    this.isHeld = false
    closeQuietly(fd)
  }

  /** @returns {Promise<void>} */
  close () {
    this.isClosed = true
    return this.exclusively(async () => this.forget())
  }

  /** @returns {Promise<{ version: string, published: number | null }>} as it is now; an empty version if there is no file */
  peek () {
    return this.exclusively(async () => {
      const fd = await this.readLines()
      return { version: fd === -1 ? '' : this.lines.version, published: this.published }
    })
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
  if (typeof err?.path === 'string' || err?.filename !== undefined) return err
  err.path = filename
  err.message += ` '${filename}'`
  return err
}

module.exports = { MetadataReader, isSameFile, named }
