'use strict'

// Reads a file from front to back, in large pieces; the next one is read while the caller parses. What the caller has not
// consumed of a piece, since it is only the start of a record, is put before the next piece.

const fs = require('fs')
const { promisify } = require('util')
const errors = require('../errors')

const read = /** @type {(fd: number, buffer: Buffer, offset: number, length: number, position: number) => Promise<{ bytesRead: number }>} */ (
  promisify(fs.read))

/** Bytes read at a time. With less, the time that it takes to wake up after each read shows. */
const PIECE_SIZE = 4 * 1024 * 1024
/** Room before each piece, for the start of a record that ends in it. */
const HEAD_SIZE = 256 * 1024
/** The bytes that a reader needs in the memory that it is given. */
const MEMORY_SIZE = 2 * (HEAD_SIZE + PIECE_SIZE)

class PieceReader {
  /**
   * @param {number} fd
   * @param {string} filename for errors
   * @param {number} size of the file, in bytes: nothing after it is read
   * @param {number} offset where to start
   * @param {Buffer} [memory] whose first MEMORY_SIZE bytes pieces are read into; default: each piece gets memory of its own
   */
  constructor (fd, filename, size, offset, memory) {
    this.fd = fd
    this.filename = filename
    this.size = size
    this.memory = memory
    /** What was read; the caller may use it from `position` to `end`. */
    this.bytes = memory ?? Buffer.alloc(0)
    this.position = 0
    this.end = 0
    /** offset in the file of the first byte of `bytes`, as if all of it was the file's */
    this.base = offset
    /** the half of the memory that the next piece is read into */
    this.half = 0
    this.next = this.start(offset)
  }

  /** Whether the file ends at `end`. */
  get isLast () {
    return this.base + this.end >= this.size
  }

  /**
   * @param {number} offset
   * @returns {Promise<{ bytes: Buffer, from: number, size: number, offset: number }>} a piece, in `bytes` at `from`
   */
  start (offset) {
    const { memory } = this
    const size = Math.max(0, Math.min(PIECE_SIZE, this.size - offset))
    const bytes = memory ?? Buffer.allocUnsafeSlow(HEAD_SIZE + size)
    const from = memory === undefined ? HEAD_SIZE : this.half * (HEAD_SIZE + PIECE_SIZE) + HEAD_SIZE
    this.half = 1 - this.half
    const reading = this.readAll(bytes, from, size, offset).then(() => ({ bytes, from, size, offset }))
    // it is awaited only when the piece before it has been parsed
    reading.catch(() => {})
    return reading
  }

  /**
   * @param {Buffer} bytes
   * @param {number} from
   * @param {number} size
   * @param {number} offset in the file
   */
  async readAll (bytes, from, size, offset) {
    for (let done = 0; done < size;) {
      const { bytesRead } = await read(this.fd, bytes, from + done, size - done, offset + done)
      if (bytesRead === 0) throw errors.shrunk(this.filename, this.size, offset + done)
      done += bytesRead
    }
  }

  /**
   * Adds what follows in the file to what has not been consumed.
   * @param {number} needed bytes from `position` on, at least, as far as the file has them
   */
  async more (needed) {
    const rest = this.end - this.position
    if (rest > HEAD_SIZE || needed > HEAD_SIZE) return this.readLarge(Math.max(needed, 2 * rest))
    const { bytes, from, size, offset } = await this.next
    const at = from - rest
    // within one memory, this also is what moves it without an object
    if (bytes === this.bytes) bytes.copyWithin(at, this.position, this.end)
    else this.bytes.copy(bytes, at, this.position, this.end)
    this.bytes = bytes
    this.position = at
    this.end = from + size
    this.base = offset - from
    this.next = this.start(offset + size)
  }

  /**
   * For a record that is larger than what is usually kept.
   * @param {number} needed bytes
   */
  async readLarge (needed) {
    const offset = this.base + this.position
    const size = Math.min(needed, this.size - offset)
    const bytes = Buffer.allocUnsafeSlow(size)
    await this.readAll(bytes, 0, size, offset)
    await this.next.catch(() => {})
    this.bytes = bytes
    this.position = 0
    this.end = size
    this.base = offset
    this.half = 0
    this.next = this.start(offset + size)
  }

  /**
   * Continues elsewhere.
   * @param {number} offset
   */
  async seek (offset) {
    await this.next.catch(() => {})
    this.position = this.end = 0
    this.base = offset
    this.next = this.start(offset)
  }

  /** @returns {Promise<void>} nothing is being read any more */
  async stop () {
    await this.next.catch(() => {})
  }
}

module.exports = { PieceReader, MEMORY_SIZE }
