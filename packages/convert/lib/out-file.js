'use strict'

// A file that is written from front to back: one buffer is filled while others are written.

const fs = require('fs')
const { layout } = require('flumelog-random-access-file/blocks')

// looked up once: see lib/format/layout.js
const { set } = Uint8Array.prototype

/** Bytes per write. */
const CHUNK_SIZE = 2 * 1024 * 1024
/** Buffers besides the one that is filled: with more than one, a slow write does not stop who reads. */
const SPARE_BUFFERS = 3
/** With room for the record that fills it, and the end of a block. */
const BUFFER_SIZE = CHUNK_SIZE + 256 * 1024
/** Bytes that are being written, beyond which no buffer is filled meanwhile: large records are held in few of them. */
const MAX_PENDING = SPARE_BUFFERS * BUFFER_SIZE

class OutFile {
  /**
   * @param {string} name of a file that nobody else uses; it is overwritten
   */
  static async create (name) {
    return new OutFile(await fs.promises.open(name, 'w', 0o600))
  }

  /** @param {fs.promises.FileHandle} handle */
  constructor (handle) {
    this.handle = handle
    /** What is being filled, from `used` on. */
    this.buffer = Buffer.allocUnsafeSlow(BUFFER_SIZE)
    this.used = 0
    /** Those that are not being written. */
    this.spare = Array.from({ length: SPARE_BUFFERS }, () => Buffer.allocUnsafeSlow(BUFFER_SIZE))
    /** Offset in the file of the buffer. */
    this.offset = 0
    /** Up to where it is written. */
    this.written = 0
    this.writing = Promise.resolve()
    /** What was copied last, and where it is in memory. @type {Buffer} */
    this.source = this.buffer
    /** @type {ArrayBufferLike} */
    this.memory = this.buffer.buffer
    this.memoryOffset = 0
  }

  /** Of the file, with what is not written yet. */
  get size () {
    return this.offset + this.used
  }

  /** @returns {boolean} whether to call `write` */
  get isFull () {
    return this.used >= CHUNK_SIZE
  }

  /** @param {number} size that `buffer` has to have room for, from `used` on */
  reserve (size) {
    if (this.used + size <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(this.used + size + BUFFER_SIZE)
    this.buffer.copy(larger, 0, 0, this.used)
    this.buffer = larger
  }

  /**
   * @param {number} at in the buffer, which has room
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  copy (at, bytes, start, end) {
    // what was copied last is of the same block, mostly: `buffer` of a Buffer takes longer than the rest
    if (bytes !== this.source) {
      this.source = bytes
      this.memory = bytes.buffer
      this.memoryOffset = bytes.byteOffset
    }
    set.call(this.buffer, layout.view(this.memory, this.memoryOffset + start, end - start), at)
  }

  /** @param {string} text */
  addText (text) {
    // UTF-8 takes at most three bytes per UTF-16 code unit
    this.reserve(text.length * 3)
    this.used += this.buffer.write(text, this.used)
  }

  /**
   * Starts to write what was added, if there is another buffer for what comes next.
   * @returns {boolean} whether there is; otherwise, wait for `write`
   */
  startWrite () {
    const { buffer, used, offset } = this
    const next = offset - this.written > MAX_PENDING ? undefined : this.spare.pop()
    if (next === undefined) return false
    this.buffer = next
    this.offset += used
    this.used = 0
    this.writing = this.writing.then(() => this.writeAll(buffer, used, offset)).then(() => {
      this.written = offset + used
      this.spare.push(buffer.length === BUFFER_SIZE ? buffer : Buffer.allocUnsafeSlow(BUFFER_SIZE))
    })
    // it is awaited by `write`
    this.writing.catch(() => {})
    return true
  }

  /** @returns {Promise<void>} there is room to add more */
  async write () {
    while (!this.startWrite()) await this.writing
  }

  /**
   * @param {Buffer} buffer
   * @param {number} size
   * @param {number} offset
   */
  async writeAll (buffer, size, offset) {
    for (let done = 0; done < size;) {
      const { bytesWritten } = await this.handle.write(buffer, done, size - done, offset + done)
      done += bytesWritten
    }
  }

  /** @returns {Promise<void>} everything is durable */
  async sync () {
    await this.write()
    await this.writing
    await this.handle.datasync()
  }

  async close () {
    await this.writing.catch(() => {})
    await this.handle.close()
  }
}

module.exports = { OutFile }
