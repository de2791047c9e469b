'use strict'

// The memory of blocks that a reader has gone past, to be read into again. New memory
// comes a page at a time, each with a trip to the operating system: for a walk that
// makes no objects that is a good part of its time. It is for readers who hand out nothing
// of what they read, or say that it is lent: whoever kept a part of it would see it change.

/**
 * @typedef {object} Piece what is read by one call
 * @property {number} last its block that the reader comes to last
 * @property {Buffer[]} buffers
 * @property {boolean} isRead false: the read is under way, and fills them
 */

class BufferPool {
  /**
   * @param {1 | -1} step in which direction the reader goes over the numbers of blocks
   * @param {number} size of the buffers that are used again, in bytes; the last of a piece may be smaller
   */
  constructor (step, size) {
    this.step = step
    this.size = size
    /** In the order in which the reader comes to them. @type {Piece[]} */
    this.pieces = []
    /** @type {Buffer[]} */
    this.spare = []
  }

  /**
   * @param {number[]} sizes of buffers, in bytes
   * @param {number} last see `Piece`
   * @returns {Piece} to be read; whoever does so tells when it is done
   */
  take (sizes, last) {
    const buffers = sizes.map(size => (size === this.size ? this.spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(size))
    const piece = { last, buffers, isRead: false }
    this.pieces.push(piece)
    return piece
  }

  /** @param {number} number of the block that the reader has come to */
  goneTo (number) {
    const { pieces } = this
    while (pieces.length > 0 && (number - pieces[0].last) * this.step > 0) {
      const { buffers, isRead } = /** @type {Piece} */ (pieces.shift())
      // the reader may have found all its blocks in the cache meanwhile
      if (isRead) this.spare.push(...buffers.filter(({ length }) => length === this.size))
    }
  }
}

module.exports = { BufferPool }
