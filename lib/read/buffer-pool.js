'use strict'

// Reuses the memory of blocks that a sequential reader has passed. New memory has to be
// mapped by the operating system page by page, which is a good part of the time of a scan
// that allocates nothing else. Only for readers that hand out nothing of what they read, or
// say that it is valid for a moment only: a retained view would see other bytes later.

/**
 * @typedef {object} PooledRead
 * @property {number} last the last of its blocks, in the reader's direction
 * @property {Buffer[]} buffers
 * @property {boolean} isDone false: the read is in progress and fills the buffers
 */

class BufferPool {
  /**
   * @param {1 | -1} step the reader's direction over block numbers
   * @param {number} size of the buffers that are reused, in bytes; the last one of a read may be smaller
   */
  constructor (step, size) {
    this.step = step
    this.size = size
    /** In the order in which the reader comes to them. @type {PooledRead[]} */
    this.reads = []
    /** @type {Buffer[]} */
    this.free = []
  }

  /**
   * @param {number[]} sizes of buffers, in bytes
   * @param {number} last see `PooledRead`
   * @returns {PooledRead} whose `isDone` the caller sets
   */
  acquire (sizes, last) {
    const buffers = sizes.map(size => (size === this.size ? this.free.pop() : undefined) ?? Buffer.allocUnsafeSlow(size))
    const read = { last, buffers, isDone: false }
    this.reads.push(read)
    return read
  }

  /** @param {number} number of the block that the reader has come to */
  releaseBefore (number) {
    const { reads } = this
    while (reads.length > 0 && (number - reads[0].last) * this.step > 0) {
      const { buffers, isDone } = /** @type {PooledRead} */ (reads.shift())
      // a reader that found all of these blocks in the cache may pass a read that is still in progress
      if (isDone) this.free.push(...buffers.filter(({ length }) => length === this.size))
    }
  }
}

module.exports = { BufferPool }
