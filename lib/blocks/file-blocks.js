'use strict'

// The blocks of a log's file, corrupt ones too, without opening it as a log: it needs no lock, and another process may write it.

const errors = require('../errors')
const { pieces } = require('../maintenance/blocks')
const { openExtent } = require('../maintenance/extent')
const { tornRange } = require('../maintenance/ranges')
const { pathFile } = require('../storage/path-file')

/** @typedef {import('./log-blocks').Block} Block */

class FileBlocks {
  #extent

  /**
   * @param {string} filename
   * @returns {Promise<FileBlocks>} the caller closes it. Rejects with `flumelog:not-a-log`, or with an error of the operating system
   */
  static async open (filename) {
    return new FileBlocks(await openExtent(pathFile(filename, { readOnly: true, lock: false })))
  }

  /** @param {import('../maintenance/extent').Extent} extent */
  constructor (extent) {
    this.#extent = extent
    /** Bytes per block. */
    this.blockSize = extent.blockSize
    /** Offset at which the log starts. */
    this.start = extent.start
    /** Offset at which it ends. */
    this.end = extent.end
    /** Bytes of the file; if a process writes it, the offset of what was acknowledged. */
    this.size = extent.size
  }

  /** @returns {AsyncGenerator<Block[], void, void>} all blocks, several at a time, in the order of the file. The memory may be kept */
  async * scan () {
    const { blockSize } = this
    const { filename } = this.#extent
    for await (const { blocks } of pieces(this.#extent)) {
      yield blocks.map(({ number, offset, buffer, sealed, problem, end }) => {
        const error = problem === null ? null : errors.corrupt(filename, number, blockSize, problem.position, problem.reason)
        return { number, offset, blockSize, buffer, end, sealed, error }
      })
    }
  }

  /**
   * @returns {Promise<{ offset: number, size: number, start: Buffer, reason: string } | null>} the bytes after the end, which are no whole records, and
   *   the first of them, at most a block; null: there are none
   */
  async torn () {
    const { io, end, size } = this.#extent
    if (size === end) return null
    const { reason } = await tornRange(this.#extent)
    return { offset: end, size: size - end, start: await io.read(end, Math.min(size - end, this.blockSize)), reason }
  }

  /** @returns {Promise<void>} */
  close () {
    return this.#extent.io.close()
  }
}

module.exports = { FileBlocks }
