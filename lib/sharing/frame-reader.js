'use strict'

// Takes the bytes from a socket apart into frames. What it keeps of an unfinished frame is
// what has arrived of it, never what was announced.

const errors = require('../errors')
const { APPEND, HEADER_SIZE, LENGTH_SIZE, MAX_APPEND, MAX_FRAME } = require('./frames')

const NOTHING = Buffer.alloc(0)
/** Bytes to start with. */
const SMALLEST = 1024

class FrameReader {
  /**
   * @param {(type: number, body: Buffer) => void} onframe the body is a view of what was received
   */
  constructor (onframe) {
    this.onframe = onframe
    /** What has arrived of an unfinished frame, in its first `bytes` bytes. @type {Buffer} */
    this.unfinished = NOTHING
    this.bytes = 0
    /** Its size, with the length; as long as that is not known, the size of a header. */
    this.wanted = HEADER_SIZE
  }

  /**
   * @param {Buffer} chunk
   * @throws flumelog:protocol, and whatever `onframe` throws
   */
  push (chunk) {
    if (this.bytes > 0) {
      this.keep(chunk)
      if (this.bytes < this.wanted) return
      chunk = this.unfinished.subarray(0, this.bytes)
      this.unfinished = NOTHING
      this.bytes = 0
    }
    let at = 0
    while (chunk.length - at >= HEADER_SIZE) {
      const size = this.sizeAt(chunk, at)
      if (chunk.length - at < size) {
        this.wanted = size
        return this.keep(chunk.subarray(at))
      }
      this.onframe(chunk[at + LENGTH_SIZE], chunk.subarray(at + HEADER_SIZE, at + size))
      at += size
    }
    this.wanted = HEADER_SIZE
    if (at < chunk.length) this.keep(chunk.subarray(at))
  }

  /**
   * Copies it, into memory that grows with what arrives: a list of chunks would take a hundred times as
   * much if they had one byte each.
   * @param {Buffer} chunk
   */
  keep (chunk) {
    const size = this.bytes + chunk.length
    if (size > this.unfinished.length) {
      // not more than the frame has, though: there may be a thousand clients
      const wanted = Math.max(this.wanted, size)
      const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(2 * this.unfinished.length, size, SMALLEST), wanted))
      this.unfinished.copy(larger, 0, 0, this.bytes)
      this.unfinished = larger
    }
    chunk.copy(this.unfinished, this.bytes)
    this.bytes = size
  }

  /**
   * @param {Buffer} chunk
   * @param {number} at
   */
  sizeAt (chunk, at) {
    const length = chunk.readUInt32LE(at)
    if (length < 1) throw errors.protocol('a frame has a length of 0')
    const most = chunk[at + LENGTH_SIZE] === APPEND ? MAX_APPEND : MAX_FRAME
    if (length + LENGTH_SIZE > most) throw errors.protocol(`a frame of ${length} bytes was announced; the maximum is ${most - LENGTH_SIZE}`)
    return length + LENGTH_SIZE
  }
}

module.exports = { FrameReader }
