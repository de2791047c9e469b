'use strict'

// Reads blocks of an open log once, in order, some at a time into the same memory. The next ones are read while the caller has a piece.

class PieceReader {
  /** Bytes read at a time, about: handling them takes the event loop a millisecond or two. */
  static pieceSize = 1024 * 1024

  /**
   * @param {import('../read/block-cache').BlockCache} blocks
   * @param {number} [first] number of the first block to read
   */
  constructor (blocks, first = blocks.start / blocks.blockSize) {
    this.blocks = blocks
    this.step = Math.max(1, Math.floor(PieceReader.pieceSize / blocks.blockSize))
    /** The first block that is not being read. */
    this.requested = first
    this.sizes = blocks.bufferSizes(this.step)
    /** What the next piece is read into, and the one after it: of each, as much as was needed yet. @type {Buffer[][]} */
    this.memory = [[], []]
  }

  /**
   * @param {number} to number of the first block that is not to be read
   * @returns {AsyncGenerator<import('../format/block').Block[], void, void>} pieces, valid until the next one is asked for; each block was
   *   verified, or has an error. Some may be trimmed by then
   */
  async * upTo (to) {
    for (let coming = this.read(to); coming !== null;) {
      const piece = await coming
      coming = this.read(to)
      yield piece
    }
  }

  /**
   * @param {number} to
   * @returns {Promise<import('../format/block').Block[]> | null} null: all of it was read
   */
  read (to) {
    const { blocks, memory, sizes, step } = this
    const first = Math.max(this.requested, blocks.start / blocks.blockSize)
    const count = Math.min(step, to - first)
    if (count <= 0) return null
    this.requested = first + count
    memory.reverse()
    const buffers = blocks.bufferSizes(count).map((size, i) => {
      memory[0][i] ??= Buffer.allocUnsafeSlow(sizes[i])
      return memory[0][i].subarray(0, size)
    })
    return new Promise(resolve => blocks.loader.load(first, count, { cacheShare: 0, buffers }, resolve))
  }
}

module.exports = { PieceReader }
