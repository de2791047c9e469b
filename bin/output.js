'use strict'

// Buffers records for standard output, to save system calls, and applies backpressure
// when the reader is slow.

/** Bytes per write. */
const CHUNK_SIZE = 256 * 1024
const NEWLINE = 0x0a

class Output {
  /** @param {NodeJS.WritableStream} stream */
  constructor (stream) {
    this.stream = stream
    /** Filled while the other buffer is being written. */
    this.filling = Buffer.allocUnsafeSlow(CHUNK_SIZE)
    this.other = Buffer.allocUnsafeSlow(CHUNK_SIZE)
    this.used = 0
    this.writing = false
    this.mustFlush = false
    /** @type {(() => void) | null} */
    this.ondrain = null
    this.onwritten = this.onwritten.bind(this)
  }

  /** @returns {boolean} whether to wait: `ondrain` is called when there is room again */
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

  /** Call this after each record: writes if a chunk is full. */
  mark () {
    if (this.used >= CHUNK_SIZE && !this.writing) this.write()
  }

  /** Writes everything buffered, without waiting for a full chunk. */
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
    if (err) return // reported by the stream's error event
    this.writing = false
    if (this.mustFlush || this.used >= CHUNK_SIZE) this.flush()
    const { ondrain } = this
    if (ondrain === null) return
    this.ondrain = null
    ondrain()
  }

  /** @returns {Promise<void>} resolves when everything is written */
  async end () {
    this.flush()
    while (this.writing) {
      await new Promise(resolve => { this.ondrain = () => resolve(undefined) })
      this.flush()
    }
  }
}

module.exports = { Output }
