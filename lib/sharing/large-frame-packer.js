'use strict'

// Packs records of a log with large ones into frames: what does not fit into a block is sent
// as its chunks, in one frame, or in several that belong together. Pure.

const layout = require('../format/layout')
const { LAST_HEADER, Splitter } = require('../format/chunk')
const { FULL_FRAME, FramePacker } = require('./frame-packer')
const { APPEND_SIZE, CONTINUED, MAX_FRAME } = require('./frames')

class LargeFramePacker extends FramePacker {
  constructor () {
    super()
    /** Bytes that a record in the log may have; known when the owner has told its block size. */
    this.most = Infinity
  }

  /**
   * @param {Uint8Array} data
   * @returns {number} the number of the record, or of its last chunk
   */
  add (data) {
    if (data.length <= this.most) return super.add(data)
    const splitter = new Splitter(data)
    const { most, end } = this
    const frame = this.filling
    const bytes = this.bytesFor(data.length)
    if (frame === null || frame.size + bytes > Math.max(frame.buffer.length, FULL_FRAME)) this.startFrame(Math.min(bytes, MAX_FRAME - APPEND_SIZE))
    while (!splitter.isDone) {
      const filling = this.frameFor(Math.min(splitter.lastSize, most) + layout.FRAME_SIZE, splitter)
      filling.size = splitter.write(filling.buffer, filling.size, most)
      filling.count++
      this.end++
    }
    // or the next large record would belong to this one, and so on
    const hasContinued = this.filling !== null && this.filling.first > end + 1
    if (hasContinued) this.closeFrame()
    return this.end
  }

  /**
   * @param {number} bytes of the next chunk, with its lengths
   * @param {Splitter} splitter
   * @returns {import('./frame-packer').Frame} the frame in which it goes
   */
  frameFor (bytes, splitter) {
    let frame = /** @type {import('./frame-packer').Frame} */ (this.filling)
    if (frame.size + bytes > MAX_FRAME) {
      frame.flags |= CONTINUED
      frame = this.startFrame(Math.min(this.bytesFor(splitter.lastSize), MAX_FRAME - APPEND_SIZE))
    }
    frame.makeRoom(bytes)
    return frame
  }

  /**
   * @param {number} bytes
   */
  reserve (bytes) {
    super.reserve(bytes === 0 ? 0 : this.bytesFor(bytes))
  }

  /**
   * @param {number} length of data
   * @returns {number} the most bytes that it takes if some of it, or all, is split into chunks
   */
  bytesFor (length) {
    const chunks = 2 * Math.ceil(length / (this.most - LAST_HEADER))
    return length + chunks * (LAST_HEADER + layout.FRAME_SIZE)
  }
}

module.exports = { LargeFramePacker }
