'use strict'

// Packs records of a log with large ones into frames: what does not fit into a block is sent
// as its chunks, in frames that belong together. Pure.

const layout = require('../format/layout')
const { LAST_HEADER, Splitter } = require('../format/chunk')
const { FramePacker } = require('./frame-packer')
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
    const { most } = this
    let frame = this.startFrame(this.bytesFor(data.length))
    while (!splitter.isDone) {
      const bytes = Math.min(splitter.lastSize, most) + layout.FRAME_SIZE
      if (frame.size + bytes > MAX_FRAME) {
        frame.flags |= CONTINUED
        frame = this.startFrame(this.bytesFor(splitter.lastSize))
      }
      frame.makeRoom(bytes)
      frame.size = splitter.write(frame.buffer, frame.size, most)
      frame.count++
      this.end++
    }
    // or one large record after the other would belong together
    this.closeFrame()
    return this.end
  }

  /**
   * @param {number} length of data
   * @returns {number} bytes of its chunks with their lengths, as many as a frame holds
   */
  bytesFor (length) {
    const chunks = Math.ceil(length / (this.most - LAST_HEADER)) + 1
    return Math.min(length + chunks * (LAST_HEADER + layout.FRAME_SIZE), MAX_FRAME - APPEND_SIZE)
  }
}

module.exports = { LargeFramePacker }
