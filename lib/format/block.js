'use strict'

// A block in memory, and where records start in it.

const layout = require('./layout')
const { isHole } = require('./hole')

/** Records end at `end`; in the tail block, `end` grows. */
class Block {
  /**
   * @param {number} number counted from 0
   * @param {Buffer} buffer
   * @param {number} end position after the last record that is visible to readers
   * @param {boolean} sealed false: it is the tail, and records may be added
   * @param {Error | null} [error] why its records are not available: it is corrupt or could not be read
   */
  constructor (number, buffer, end, sealed, error = null) {
    this.number = number
    this.buffer = buffer
    /** The memory behind `buffer`, for `layout.view`. */
    this.memory = buffer.buffer
    this.memoryStart = buffer.byteOffset
    this.end = end
    this.sealed = sealed
    /** Whether readers may hold records of it, which are views of its memory. Only the tail's writer asks. */
    this.wasRead = false
    this.error = error
    /** One bit per position, set where a record starts; built on the second query. @type {Uint8Array | null} */
    this.recordStarts = null
    this.wasQueried = false
    /** The position up to which `recordStarts` is complete. */
    this.indexedUntil = 0
  }

  /** @param {Buffer} buffer the block's bytes from now on */
  setBuffer (buffer) {
    this.buffer = buffer
    this.memory = buffer.buffer
    this.memoryStart = buffer.byteOffset
    this.recordStarts = null
    this.indexedUntil = 0
  }

  /**
   * The log goes on in another block: readers that are in this one find all of it.
   * @param {Block} block the same one, read as a whole
   */
  complete (block) {
    this.setBuffer(block.buffer)
    this.end = block.end
    this.error = block.error
    this.sealed = true
  }

  /**
   * @param {number} position where a record starts
   * @returns {Buffer} its data: a view, not a copy
   */
  dataAt (position) {
    // read first: this is likely to miss the processor's cache, and the rest does not depend on it
    const length = layout.readLength(this.buffer, position)
    return layout.view(this.memory, this.memoryStart + position + layout.LENGTH_SIZE, length)
  }

  /**
   * @param {number} position
   * @returns {boolean} whether a record that is visible to readers starts there
   */
  startsAt (position) {
    if (position >= this.end) return false
    if (!this.wasQueried) {
      this.wasQueried = true
      return this.startsAtByScan(position)
    }
    if (this.recordStarts === null || this.indexedUntil < this.end) this.index()
    const recordStarts = /** @type {Uint8Array} */ (this.recordStarts)
    return (recordStarts[position >>> 3] & (1 << (position & 7))) !== 0
  }

  /** Whether all of its records were deleted, and it is one deleted record now: records that started in it start there no longer. */
  get isHole () {
    return this.sealed && this.error === null && isHole(this.buffer)
  }

  /** @param {number} position */
  startsAtByScan (position) {
    let start = 0
    while (start < position) start = layout.nextPosition(this.buffer, start)
    return start === position
  }

  index () {
    this.recordStarts ??= new Uint8Array((this.buffer.length >>> 3) + 1)
    const { buffer, end, recordStarts } = this
    let position = this.indexedUntil
    while (position < end) {
      recordStarts[position >>> 3] |= 1 << (position & 7)
      position = layout.nextPosition(buffer, position)
    }
    this.indexedUntil = position
  }
}

/**
 * @param {number} number
 * @param {Error} err
 * @returns {Block} a block that could not be read
 */
function unreadableBlock (number, err) {
  return new Block(number, Buffer.alloc(0), 0, true, err)
}

module.exports = { Block, unreadableBlock }
