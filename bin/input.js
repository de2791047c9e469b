'use strict'

// Reads standard input in chunks.

const fs = require('fs')
const { promisify } = require('util')

/** Bytes per read of a file. A stream reads 64 KiB at a time, and each read is a round trip to the thread pool. */
const CHUNK_SIZE = 256 * 1024
/** Milliseconds within which a signal reaches all programs of a pipeline. */
const SIGNAL_TIME = 50

const read = promisify(fs.read)

class Input {
  constructor () {
    this.size = sizeOfFile(0)
    this.source = this.size === null ? process.stdin : chunksOfFile(0)
    this.isStopped = false
    /** Why it could not be read to its end. @type {Error | null} */
    this.error = null
  }

  /** @returns {AsyncGenerator<Buffer>} each chunk is valid until the next one is asked for */
  async * chunks () {
    try {
      for await (const chunk of this.source) {
        if (this.isStopped) return
        yield chunk
      }
    } catch (err) {
      // a stream that is destroyed to stop it fails
      if (!this.isStopped) this.error = /** @type {Error} */ (err)
    }
  }

  /**
   * Call this before the bytes after the last newline are taken for a line. Ctrl-C ends the program that writes the pipe, too, and the
   * end of the pipe may be seen before the signal.
   * @returns {Promise<void>} signals sent to all programs of the pipeline have arrived
   */
  async settled () {
    if (this.size === null) await new Promise(resolve => setTimeout(resolve, SIGNAL_TIME))
  }

  /** No further chunks are read. */
  stop () {
    this.isStopped = true
    if (this.size === null) process.stdin.destroy()
  }
}

/**
 * Fills one of two buffers while the caller uses the other.
 * @param {number} fd
 */
async function * chunksOfFile (fd) {
  /** @type {Buffer} */
  let unused = Buffer.allocUnsafeSlow(CHUNK_SIZE)
  /** @type {Promise<{ bytesRead: number, buffer: Buffer }>} */
  let next = read(fd, Buffer.allocUnsafeSlow(CHUNK_SIZE), 0, CHUNK_SIZE, null)
  for (;;) {
    const { buffer, bytesRead } = await next
    if (bytesRead === 0) return
    next = read(fd, unused, 0, CHUNK_SIZE, null)
    // its error is handled when it is awaited, if it is
    next.catch(() => {})
    yield buffer.subarray(0, bytesRead)
    unused = buffer
  }
}

/**
 * @param {number} fd
 * @returns {number | null} null: it is not a file
 */
function sizeOfFile (fd) {
  try {
    const stat = fs.fstatSync(fd)
    return stat.isFile() ? stat.size : null
  } catch {
    return null
  }
}

module.exports = { Input }
