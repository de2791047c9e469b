'use strict'

// Packs records into frames that are sent to the owner, where a log of one process packs
// them into blocks. It numbers the records: what is a seq there is a number here, until
// the owner says at which offset the record is. A record that does not fit into a block is
// sent as its chunks, in one frame. Pure.

const layout = require('../format/layout')
const { LAST_HEADER, Splitter } = require('../format/chunk')
const { APPEND_SIZE, ATOMIC, CONDITIONAL, CONDITION_SIZE, SYNC, MAX_FRAME, costOf, writeAppendHeader } = require('./frames')

/** Bytes of a frame with single records; a batch may make one larger. */
const FULL_FRAME = 32 * 1024
const SMALLEST_FRAME = 512

class Frame {
  /**
   * @param {number} first number of the first record
   * @param {number} bytes of records to start with
   * @param {number | null} after the seq that the log's last record must have; -1: there must be none; null: there is no condition
   */
  constructor (first, bytes, after) {
    this.after = after
    /** Where the records start in the buffer. */
    this.start = APPEND_SIZE + (after === null ? 0 : CONDITION_SIZE)
    this.buffer = Buffer.allocUnsafe(this.start + bytes)
    /** Bytes that are used, with what stands in front of the records. */
    this.size = this.start
    this.first = first
    this.count = 0
    this.flags = after === null ? 0 : CONDITIONAL
    /** The seqs of an atomic batch, for its callback. @type {number[] | undefined} */
    this.seqs = undefined
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
   * @param {number} answered
   * @returns {Buffer} what to send
   */
  bytes (answered) {
    const { first, count, flags, size, after } = this
    writeAppendHeader(this.buffer, size, { first, count, answered, flags, after })
    return this.buffer.subarray(0, size)
  }

  /** The records, with their lengths. */
  get records () {
    return this.buffer.subarray(this.start, this.size)
  }

  /** Bytes of the window that it takes. */
  get cost () {
    return costOf(this.size)
  }
}

/**
 * @typedef {object} Request what a client asks of the owner besides appends
 * @property {number} request its number
 * @property {import('./frames').Ask} ask
 * @property {number} end the number of the last record that was appended before
 * @property {number} cost bytes of the window that it takes
 * @property {(err?: Error | null, result?: any) => void} cb
 */

class FramePacker {
  constructor () {
    /** What is not sent, in the order of the calls; the last one may be filling. @type {Array<Frame | Request>} */
    this.queue = []
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
    if (frame === null || !this.fits(frame, bytes)) return this.startFrame(bytes)
    frame.makeRoom(bytes)
    return frame
  }

  /**
   * A batch that was reserved stays in one frame, and so do records with a condition, which holds for their frame.
   * @param {Frame} frame
   * @param {number} bytes
   * @returns {boolean}
   */
  fits ({ after, buffer, size }, bytes) {
    return after !== null || size + bytes <= Math.max(FULL_FRAME, buffer.length)
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
    if (frame !== null && this.fits(frame, needed)) return frame.makeRoom(needed)
    this.startFrame(Math.min(needed, MAX_FRAME - APPEND_SIZE))
  }

  /**
   * @param {Uint8Array[]} batch
   * @returns {number} the most bytes that they need
   */
  bytesForAll (batch) {
    return batch.reduce((bytes, { length }) => bytes + this.bytesFor(length), 0)
  }

  /**
   * @param {number} bytes of records that it must hold
   * @param {number | null} [after] see Frame
   * @returns {Frame}
   */
  startFrame (bytes, after = null) {
    this.closeFrame()
    const frame = new Frame(this.end + 1, Math.max(bytes, this.usualSize - APPEND_SIZE), after)
    this.filling = frame
    this.queue.push(frame)
    return frame
  }

  /** What follows goes into another frame. */
  closeFrame () {
    if (this.filling === null) return
    this.usualSize = Math.max(SMALLEST_FRAME, Math.min(FULL_FRAME, this.filling.buffer.length, 2 * this.filling.size))
    // reserved for what was not added then
    if (this.filling.count === 0) this.queue.pop()
    this.filling = null
  }

  /**
   * @param {number} end frames up to this number are to be durable before they are acknowledged
   */
  syncTo (end) {
    for (const item of this.queue) if (item instanceof Frame && item.first <= end) item.flags |= SYNC
  }
}

module.exports = { FramePacker, Frame, FULL_FRAME }
