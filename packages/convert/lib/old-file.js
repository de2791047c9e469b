'use strict'

// The file of another log, open for reading.

const fs = require('fs')
const errors = require('./errors')

class OldFile {
  /**
   * @param {string} filename
   * @returns {Promise<OldFile>} the caller closes it
   */
  static async open (filename) {
    // opening a FIFO would wait for a process at its other end
    const found = await fs.promises.stat(filename)
    if (!found.isFile() && !found.isDirectory()) throw errors.notRegular(filename)
    const handle = await fs.promises.open(filename, 'r')
    try {
      const stats = await handle.stat()
      // as the system says it: a directory can be opened, but not read
      if (!stats.isFile()) await handle.read(Buffer.alloc(1))
      return new OldFile(handle, filename, stats.size)
    } catch (err) {
      await handle.close()
      throw err
    }
  }

  /**
   * @param {fs.promises.FileHandle} handle
   * @param {string} filename
   * @param {number} size
   */
  constructor (handle, filename, size) {
    this.handle = handle
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
      const { bytesRead } = await this.handle.read(bytes, done, bytes.length - done, offset + done)
      if (bytesRead === 0) throw errors.shrunk(this.filename, this.size, offset + done)
      done += bytesRead
    }
    return bytes
  }

  close () {
    return this.handle.close()
  }
}

module.exports = { OldFile }
