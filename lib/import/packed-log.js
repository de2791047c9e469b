'use strict'

// The file of a new log, written from front to back: records are copied right into blocks, and blocks are written while the
// next ones are filled.

const { leastRoom } = require('../format/chunk')
const layout = require('../format/layout')
const { crc32 } = require('../format/crc32')
const { combine } = require('../format/crc32-combine')
const { checksumAfter } = require('./block-checksum')

/** Bytes written at a time, about. */
const PIECE_SIZE = 1024 * 1024
/** One is filled, one is written, and one is free. */
const PIECES = 3

// looked up once: see lib/format/layout.js. Within one memory, `copyWithin` copies without making an object
const { copyWithin, set } = Uint8Array.prototype

/**
 * @param {number} blockSize
 * @returns {number} bytes of whole blocks
 */
function pieceSize (blockSize) {
  return Math.max(1, Math.floor(PIECE_SIZE / blockSize)) * blockSize
}

class PackedLog {
  /**
   * @param {import('../storage/promisified-file').Io} io open, and empty from `offset` on
   * @param {number} blockSize
   * @param {Buffer} memory has `PackedLog.memorySize(blockSize)` bytes at `from`; others may be the caller's
   * @param {number} from
   * @param {number} offset in the file, where a block starts
   * @param {number} digest of the records before it
   */
  constructor (io, blockSize, memory, from, offset, digest) {
    this.io = io
    this.blockSize = blockSize
    this.memory = memory
    this.from = from
    this.room = blockSize - layout.paddingSize(true)
    /** of all records in full blocks: the CRC-32 of their lengths and data, without padding */
    this.digest = digest
    /** index of the piece that is being filled */
    this.piece = 0
    /** in the memory: start of the block that is being filled, and end of its records */
    this.block = from
    this.position = from
    /** at which the records of the block have to end */
    this.limit = from + this.room
    /** offset in the file of the first byte of the memory, as if it was the file's */
    this.base = offset - from
    /** a piece that is full, and not yet being written: where it starts in the memory; -1: none */
    this.full = -1
    this.fullOffset = 0
    this.writing = Promise.resolve()
    /** seq of the last chunk */
    this.lastSeq = -1
    /** up to where the file is written */
    this.written = offset
  }

  /** @param {number} blockSize */
  static memorySize (blockSize) {
    return PIECES * pieceSize(blockSize)
  }

  /** Offset of the block that is being filled. */
  get blockOffset () {
    return this.base + this.block
  }

  /** Offset at which the next record starts, if it fits into the block. */
  get offset () {
    return this.base + this.position
  }

  /**
   * @param {number} length of a record
   * @returns {boolean} whether it starts a new block; if so, call `startBlock` before `add`
   */
  startsBlock (length) {
    return this.position + length + layout.FRAME_SIZE > this.limit
  }

  /**
   * Copies a record's data. It has to fit into the block.
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} length
   */
  add (bytes, start, length) {
    const { memory, position } = this
    const data = position + layout.LENGTH_SIZE
    const after = data + length
    memory[position] = length
    memory[position + 1] = length >>> 8
    if (bytes === memory) copyWithin.call(memory, data, start, start + length)
    else set.call(memory, layout.view(bytes.buffer, bytes.byteOffset + start, length), data)
    memory[after] = length
    memory[after + 1] = length >>> 8
    this.position = after + layout.LENGTH_SIZE
  }

  /**
   * Adds the next chunks of a large record, as the packer of a log does.
   * @param {import('../format/chunk').Splitter} splitter
   * @returns {boolean} whether a piece is full: call `write`, and this again
   */
  addChunks (splitter) {
    const least = leastRoom(this.room - layout.FRAME_SIZE)
    while (!splitter.isDone) {
      const room = this.limit - this.position - layout.FRAME_SIZE
      if (this.position > this.block && room < least && room < splitter.lastSize) {
        if (this.startBlock()) return true
      } else {
        this.lastSeq = this.offset
        this.position = splitter.write(this.memory, this.position, room)
      }
    }
    return false
  }

  /** Starts a block, unless one has just been started: call `writeBlocks` after that. */
  endBlock () {
    if (this.position > this.block) this.startBlock()
  }

  /** @param {number} length of data that is zeros */
  addDeleted (length) {
    const start = this.position + layout.LENGTH_SIZE
    this.memory.fill(0, start, start + length)
    this.add(this.memory, start, length)
  }

  /** @returns {boolean} whether a piece is full: call `write` before the next one is */
  startBlock () {
    const { memory, block, blockSize, from } = this
    const bytes = memory.subarray(block, block + blockSize)
    const end = this.position - block
    const checksum = crc32(bytes.subarray(0, end))
    this.digest = combine(this.digest, checksum, end)
    layout.seal(bytes, end)
    bytes.writeUInt32LE(checksumAfter(bytes, end, checksum), blockSize - 8)
    const size = pieceSize(blockSize)
    const start = from + this.piece * size
    const isFull = block + blockSize === start + size
    let next = block + blockSize
    if (isFull) {
      this.full = start
      this.fullOffset = this.base + start
      this.piece = (this.piece + 1) % PIECES
      next = from + this.piece * size
      this.base += block + blockSize - next
    }
    this.block = this.position = next
    this.limit = next + this.room
    return isFull
  }

  /**
   * Starts to write the piece that is full, if there is one.
   * @returns {Promise<void>} all pieces before it are written
   */
  async write () {
    await this.writing
    if (this.full === -1) return
    const { full, fullOffset } = this
    const bytes = this.memory.subarray(full, full + pieceSize(this.blockSize))
    this.full = -1
    this.writing = this.io.write(fullOffset, bytes).then(() => { this.written = fullOffset + bytes.length })
    // it is awaited by the next call
    this.writing.catch(() => {})
  }

  /**
   * Starts to write all blocks that are full. Those of a piece that is not will be written again with it.
   * @returns {Promise<void>}
   */
  async writeBlocks () {
    await this.write()
    await this.writing
    const { memory, from, piece, block, blockSize } = this
    const start = from + piece * pieceSize(blockSize)
    if (block === start) return
    this.writing = this.io.write(this.base + start, memory.subarray(start, block))
    this.writing.catch(() => {})
  }

  /**
   * Writes the rest.
   * @returns {Promise<{ size: number, digest: number }>} of the file; of all records
   */
  async end () {
    await this.write()
    await this.writing
    const { memory, from, piece, blockSize, position } = this
    const start = from + piece * pieceSize(blockSize)
    if (position > start) await this.io.write(this.base + start, memory.subarray(start, position))
    return { size: this.offset, digest: combine(this.digest, crc32(memory.subarray(this.block, position)), position - this.block) }
  }
}

module.exports = { PackedLog, pieceSize }
