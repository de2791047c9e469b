'use strict'

// Records on their way to standard output, gathered so that not each of them costs
// a call, and no more of them than the reader keeps up with.

/** Bytes that are written at a time. */
const CHUNK_SIZE = 64 * 1024
const NEWLINE = 0x0a

class Output {
  /** @param {NodeJS.WritableStream} stream */
  constructor (stream) {
    this.stream = stream
    /** One is being filled while the other is being written. */
    this.filling = Buffer.allocUnsafeSlow(CHUNK_SIZE)
    this.other = Buffer.allocUnsafeSlow(CHUNK_SIZE)
    this.used = 0
    this.writing = false
    this.mustFlush = false
    /** @type {(() => void) | null} */
    this.onroom = null
    this.onwritten = this.onwritten.bind(this)
  }

  /** @returns {boolean} the reader is behind; `onroom` is called when it has caught up */
  get isFull () {
    return this.writing && this.used >= CHUNK_SIZE
  }

  /** @param {Buffer | string} data */
  add (data) {
    const length = typeof data === 'string' ? Buffer.byteLength(data) : data.length
    if (this.used + length > this.filling.length) this.grow(this.used + length)
    if (typeof data === 'string') this.filling.write(data, this.used)
    else this.filling.set(data, this.used)
    this.used += length
  }

  endLine () {
    if (this.used === this.filling.length) this.grow(this.used + 1)
    this.filling[this.used++] = NEWLINE
  }

  /** @param {number} size */
  grow (size) {
    const larger = Buffer.allocUnsafeSlow(size + CHUNK_SIZE)
    this.filling.copy(larger, 0, 0, this.used)
    this.filling = larger
  }

  /** To be called after each record: writes once that is worth it. */
  mark () {
    if (this.used >= CHUNK_SIZE && !this.writing) this.write()
  }

  /** Writes all there is, without waiting for more. */
  flush () {
    if (this.used === 0) return
    if (this.writing) this.mustFlush = true
    else this.write()
  }

  write () {
    const chunk = this.filling.subarray(0, this.used)
    this.filling = this.other
    this.other = Buffer.from(chunk.buffer)
    this.used = 0
    this.mustFlush = false
    this.writing = true
    this.stream.write(chunk, this.onwritten)
  }

  /** @param {Error | null | undefined} err */
  onwritten (err) {
    if (err) return // the stream's error event says so too
    this.writing = false
    if (this.mustFlush || this.used >= CHUNK_SIZE) this.flush()
    const { onroom } = this
    if (onroom === null) return
    this.onroom = null
    onroom()
  }

  /** @returns {Promise<void>} all is written */
  async end () {
    this.flush()
    while (this.writing) {
      await new Promise(resolve => { this.onroom = () => resolve(undefined) })
      this.flush()
    }
  }
}

module.exports = { Output }
