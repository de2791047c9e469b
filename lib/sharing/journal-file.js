'use strict'

// The file of a journal: entries are appended to it, or replace it. All I/O is synchronous, since
// it is small and stays in the page cache: nothing is fsynced. Errors are returned.

const fs = require('fs')
const errors = require('../errors')
const { inherit } = require('../storage/inherit')
const { SALT_SIZE, decodeJournal, encodeEntries, encodeHeader, lastChecksum } = require('./journal-entries')

/** Windows replaces no file that is open. */
const REPLACES_OPEN = process.platform !== 'win32'

/** @typedef {import('./journal-entries').Entry} Entry */

class JournalFile {
  /**
   * @param {string} filename
   * @param {() => fs.Stats} logStatus of the log, whose mode and owner the file gets
   */
  constructor (filename, logStatus) {
    this.filename = filename
    this.logStatus = logStatus
    this.fd = -1
    /** Bytes of the file that are valid. 0: there is no file until `replace`. */
    this.size = 0
    /** A failed write has left something behind them. */
    this.mustTruncate = false
    /** Checksum of the last entry in front of `size`. */
    this.checksum = 0
  }

  /**
   * @returns {Entry[]} what an earlier process has left; empty if there is no journal, or nothing in it is valid
   * @throws the system's error if it cannot be read
   */
  read () {
    try {
      return decodeJournal(fs.readFileSync(this.filename))
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return []
      throw named(err, this.filename)
    }
  }

  /**
   * @param {Entry[]} entries at least one
   * @returns {Error | null}
   */
  append (entries) {
    if (this.size === 0) return errors.closed(this.filename)
    const bytes = encodeEntries(entries, this.checksum)
    try {
      if (this.fd === -1) this.fd = fs.openSync(this.filename, 'r+')
      if (this.mustTruncate) this.truncate()
      writeFully(this.fd, bytes, this.size)
    } catch (err) {
      this.mustTruncate = true
      return named(err, this.filename)
    }
    this.checksum = lastChecksum(bytes)
    this.size += bytes.length
    return null
  }

  /**
   * The entries of a failed write must not count behind the next ones. Their checksums make them
   * invalid there, but not if the next write starts with the same entries.
   */
  truncate () {
    fs.ftruncateSync(this.fd, this.size)
    this.mustTruncate = false
  }

  /**
   * All or nothing: if it fails, the file is as it was.
   * @param {Entry[]} entries all that it will have
   * @returns {Error | null}
   */
  replace (entries) {
    const unfinished = this.filename + '.new'
    // only then: this file is loaded with every log
    const { randomBytes } = require('crypto')
    const header = encodeHeader(randomBytes(SALT_SIZE))
    const bytes = Buffer.concat([header, encodeEntries(entries, lastChecksum(header))])
    let fd = -1
    try {
      fs.rmSync(unfinished, { force: true })
      // not readable by others until it has the log's mode
      fd = fs.openSync(unfinished, 'wx', 0o600)
      inherit(fd, this.logStatus())
      writeFully(fd, bytes, 0)
      if (!REPLACES_OPEN) {
        fs.closeSync(fd)
        fd = -1
        this.release()
      }
      fs.renameSync(unfinished, this.filename)
    } catch (err) {
      if (fd !== -1) closeQuietly(fd)
      removeQuietly(unfinished)
      return named(err, this.filename)
    }
    this.release()
    this.fd = fd
    this.checksum = lastChecksum(bytes)
    this.size = bytes.length
    this.mustTruncate = false
    return null
  }

  /**
   * @returns {Error | null} null: there is no file any more
   */
  remove () {
    this.close()
    removeQuietly(this.filename + '.new')
    try {
      fs.rmSync(this.filename, { force: true })
      return null
    } catch (err) {
      return named(err, this.filename)
    }
  }

  /** The file stays. */
  close () {
    this.release()
    this.size = 0
  }

  release () {
    if (this.fd !== -1) closeQuietly(this.fd)
    this.fd = -1
  }
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @param {number} offset
 */
function writeFully (fd, bytes, offset) {
  for (let done = 0; done < bytes.length;) {
    done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done)
  }
}

/** @param {number} fd */
function closeQuietly (fd) {
  try {
    fs.closeSync(fd)
  } catch {}
}

/** @param {string} filename */
function removeQuietly (filename) {
  try {
    fs.unlinkSync(filename)
  } catch {}
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

module.exports = { JournalFile }
