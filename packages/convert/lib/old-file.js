'use strict'

// The file of another log, open for reading.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('./errors')

const open = promisify(fs.open)
const close = promisify(fs.close)
const fstat = promisify(fs.fstat)
const stat = promisify(fs.stat)
const read = /** @type {(fd: number, buffer: Buffer, offset: number, length: number, position: number) => Promise<{ bytesRead: number }>} */ (
  promisify(fs.read))

class OldFile {
  /**
   * @param {string} filename
   * @returns {Promise<OldFile>} the caller closes it
   */
  static async open (filename) {
    // opening a FIFO would wait for a process at its other end
    const found = await stat(filename)
    if (!found.isFile() && !found.isDirectory()) throw errors.notRegular(filename)
    const fd = await open(filename, 'r')
    try {
      const stats = await fstat(fd)
      // as the system says it: a directory can be opened, but not read
      if (!stats.isFile()) await read(fd, Buffer.alloc(1), 0, 1, 0)
      return new OldFile(fd, filename, stats.size)
    } catch (err) {
      await close(fd)
      throw err
    }
  }

  /**
   * @param {number} fd
   * @param {string} filename
   * @param {number} size
   */
  constructor (fd, filename, size) {
    this.fd = fd
    this.filename = filename
    /** in bytes; what is appended later is not read */
    this.size = size
  }

  /**
   * @param {number} offset
   * @param {number} size
   * @returns {Promise<Buffer>}
   */
  read (offset, size) {
    return this.readInto(Buffer.allocUnsafe(size), offset)
  }

  /**
   * @param {Buffer} bytes to be filled
   * @param {number} offset
   * @returns {Promise<Buffer>} the same
   */
  async readInto (bytes, offset) {
    for (let done = 0; done < bytes.length;) {
      const { bytesRead } = await read(this.fd, bytes, done, bytes.length - done, offset + done)
      if (bytesRead === 0) throw errors.shrunk(this.filename, this.size, offset + done)
      done += bytesRead
    }
    return bytes
  }

  close () {
    return close(this.fd)
  }
}

module.exports = { OldFile }
