'use strict'

// A file that is only appended to, beside a log that is being imported: the map, and what was skipped.

const fs = require('fs')
const { promisify } = require('util')

const open = promisify(fs.open)
const close = promisify(fs.close)
const datasync = promisify(fs.fdatasync)
const truncate = promisify(fs.ftruncate)
const write = /** @type {(fd: number, buffer: Buffer, offset: number, length: number, position: number) => Promise<{ bytesWritten: number }>} */ (
  promisify(fs.write))

class SideFile {
  /**
   * @param {string} name
   * @param {number} size in bytes, of what is kept of it
   */
  static async open (name, size) {
    const fd = await open(name, size > 0 ? 'r+' : 'w+', 0o600)
    await truncate(fd, size)
    return new SideFile(fd, size)
  }

  /**
   * @param {number} fd
   * @param {number} size
   */
  constructor (fd, size) {
    this.fd = fd
    /** of the file, with what was added and not yet written */
    this.size = size
    this.written = size
    /** Whether the file may have something that is not durable; at first, its size. */
    this.isUnsynced = true
    /** @type {Buffer[]} */
    this.added = []
    /** Writes, one after the other. */
    this.writing = Promise.resolve()
  }

  /** @param {Buffer} bytes which nobody changes any more */
  add (bytes) {
    this.added.push(bytes)
    this.size += bytes.length
  }

  /** @returns {Promise<void>} what was added before is written */
  flush () {
    this.writing = this.writing.then(async () => {
      if (this.added.length === 0) return
      this.isUnsynced = true
      const bytes = Buffer.concat(this.added)
      this.added = []
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await write(this.fd, bytes, done, bytes.length - done, this.written)
        done += bytesWritten
        this.written += bytesWritten
      }
    })
    // every call tells its own caller
    this.writing.catch(() => {})
    return this.writing
  }

  /** @returns {Promise<void>} what was added before is durable */
  async sync () {
    await this.flush()
    if (!this.isUnsynced) return
    this.isUnsynced = false
    await datasync(this.fd).catch(err => { this.isUnsynced = true; throw err })
  }

  async close () {
    await this.writing.catch(() => {})
    await close(this.fd)
  }
}

module.exports = { SideFile }
