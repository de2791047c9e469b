'use strict'

// Packs records into frames that are sent to the owner, where a log of one process packs
// them into blocks. It numbers the records: what is a seq there is a number here, until
// the owner says at which offset the record is. A record that does not fit into a block is
// sent as its chunks, in one frame. Pure.

const layout = require('../format/layout')
const { LAST_HEADER, Splitter } = require('../format/chunk')
const { APPEND_SIZE, ATOMIC, FORCED, MAX_FRAME, writeAppendHeader } = require('./frames')

/** Bytes of a frame with single records; a batch may make one larger. */
const FULL_FRAME = 32 * 1024
const SMALLEST_FRAME = 512

class Frame {
  /**
   * @param {number} first number of the first record
   * @param {number} size bytes to start with
   */
  constructor (first, size) {
    this.buffer = Buffer.allocUnsafe(size)
    /** Bytes that are used, with what stands in front of the records. */
    this.size = APPEND_SIZE
    this.first = first
    this.count = 0
    this.flags = 0
    /** Records that the owner has acknowledged, and where the next one starts. */
    this.acknowledged = 0
    this.position = APPEND_SIZE
    this.isSent = false
    /** Its callers were told that the outcome is unknown. */
    this.isGivenUp = false
    /** The seqs of an atomic batch, for its callback. @type {number[] | null} */
    this.seqs = null
  }

  /** The number of the last record. */
  get last () {
    return this.first + this.count - 1
  }

  /** @param {number} bytes more that it must hold */
  makeRoom (bytes) {
    if (this.size + bytes <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.size + bytes))
    this.buffer.copy(larger, 0, 0, this.size)
    this.buffer = larger
  }

  /**
   * @param {number} epoch
   * @param {number} answered
   * @returns {Buffer} what to send
   */
  bytes (epoch, answered) {
    const { first, count, flags, size } = this
    writeAppendHeader(this.buffer, size, { epoch, first, count, answered, flags })
    return this.buffer.subarray(0, size)
  }
}

class FramePacker {
  constructor () {
    /** All that are not acknowledged, oldest first; the last one may be filling. @type {Frame[]} */
    this.frames = []
    /** The frame that is being filled. @type {Frame | null} */
    this.filling = null
    /** The number of the last record. */
    this.end = 0
    /** The size that the last frame had grown to. */
    this.usualSize = SMALLEST_FRAME
    /** Bytes that a record may have in the log; larger ones are sent as chunks. Infinity: there are no larger ones. */
    this.most = Infinity
  }

  /**
   * @param {Uint8Array} data a record
   * @returns {number} its number, or that of its last chunk
   */
  add (data) {
    const frame = this.frameFor(this.bytesFor(data.length))
    if (data.length > this.most) return this.addChunks(frame, data)
    frame.size = layout.writeRecord(frame.buffer, frame.size, data)
    frame.count++
    return ++this.end
  }

  /**
   * @param {Frame} frame with room for them
   * @param {Uint8Array} data
   * @returns {number} the number of the last chunk
   */
  addChunks (frame, data) {
    const splitter = new Splitter(data)
    for (; !splitter.isDone; frame.count++, this.end++) frame.size = splitter.write(frame.buffer, frame.size, this.most)
    return this.end
  }

  /**
   * @param {number} bytes
   * @returns {Frame} the frame to which they are added, with room for them
   */
  frameFor (bytes) {
    const frame = this.filling
    // a batch that was reserved stays in one frame
    if (frame === null || frame.size + bytes > Math.max(FULL_FRAME, frame.buffer.length)) return this.startFrame(bytes)
    frame.makeRoom(bytes)
    return frame
  }

  /**
   * @param {number} length of a record, or of several with their lengths
   * @returns {number} the most bytes that they need, with lengths and headers of chunks
   */
  bytesFor (length) {
    if (length <= this.most) return length + layout.FRAME_SIZE
    const chunks = 2 * Math.ceil(length / (this.most - LAST_HEADER))
    return length + chunks * (LAST_HEADER + layout.FRAME_SIZE)
  }

  /** A frame grows by what is added, so the size has to be known. */
  addText () {
    return 0
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {number[]} their numbers; when they are stored, it has their seqs
   */
  addAtomic (batch) {
    // one that was reserved for it has none yet
    if (this.filling !== null && this.filling.count > 0) this.closeFrame()
    const numbers = batch.map(data => this.add(data))
    const frame = /** @type {Frame} */ (/** @type {unknown} */ (this.filling))
    frame.flags |= ATOMIC
    frame.seqs = numbers
    this.closeFrame()
    return frame.seqs
  }

  /**
   * Records that follow go into one frame, as far as one can hold them.
   * @param {number} bytes with their lengths
   */
  reserve (bytes) {
    if (bytes === 0) return
    const needed = this.most === Infinity ? bytes : this.bytesFor(bytes)
    const frame = this.filling
    if (frame !== null && frame.size + needed <= FULL_FRAME) return frame.makeRoom(needed)
    this.startFrame(Math.min(needed, MAX_FRAME - APPEND_SIZE))
  }

  /**
   * @param {number} bytes of records that it must hold
   * @returns {Frame}
   */
  startFrame (bytes) {
    this.closeFrame()
    const frame = new Frame(this.end + 1, Math.max(APPEND_SIZE + bytes, this.usualSize))
    this.filling = frame
    this.frames.push(frame)
    return frame
  }

  /** What follows goes into another frame. */
  closeFrame () {
    if (this.filling === null) return
    this.usualSize = Math.max(SMALLEST_FRAME, Math.min(FULL_FRAME, this.filling.buffer.length, 2 * this.filling.size))
    // reserved for what was not added then
    if (this.filling.count === 0) this.frames.pop()
    this.filling = null
  }

  /**
   * @param {number} end frames up to this number are to be durable before they are acknowledged
   */
  force (end) {
    for (let i = this.frames.length - 1; i >= 0 && !this.frames[i].isSent; i--) {
      if (this.frames[i].first <= end) this.frames[i].flags |= FORCED
    }
  }

  /** Forgets what is not acknowledged. */
  rollBack () {
    this.frames = []
    this.filling = null
  }
}

module.exports = { FramePacker, Frame, FULL_FRAME }
