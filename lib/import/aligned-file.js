'use strict'

// Files of flumelog-aligned-offset, and of this package: the format is the same (format.md), so its own reader of whole files
// is used. It verifies checksums, knows deletions that were interrupted, and reads a log that a process has open.

const layout = require('../format/layout')
const { isZeros } = require('../format/zeros')
const { pathFile } = require('../storage/path-file')
const { pieces } = require('../maintenance/blocks')
const { openExtent } = require('../maintenance/extent')
const { tornRange } = require('../maintenance/ranges')
const { tornUnlessCorrupt } = require('./record-reader')

/** @typedef {import('./record-reader').Handler} Handler */

/** Has the interface of `RecordReader`. */
class AlignedReader {
  /**
   * @param {string} filename
   * @param {number} offset of the record to start with
   */
  static async open (filename, offset) {
    return new AlignedReader(await openExtent(pathFile(filename, { readOnly: true, lock: false })), offset)
  }

  /**
   * @param {import('../maintenance/extent').Extent} extent
   * @param {number} offset
   */
  constructor (extent, offset) {
    this.extent = extent
    this.frame = layout.FRAME_SIZE
    /** What is before it was trimmed. */
    this.start = extent.start
    this.offset = Math.max(offset, extent.start)
    this.pieces = pieces(extent)
    /** @type {import('../maintenance/blocks').ScannedBlock[]} */
    this.blocks = []
    /** index of the block that is being read */
    this.at = 0
    /** @type {import('./record-reader').Torn | null} */
    this.torn = null
  }

  /**
   * @param {Handler} handler
   * @returns {Promise<boolean>} false: the file has ended
   */
  async next (handler) {
    if (this.at === this.blocks.length) {
      const { done, value } = await this.pieces.next()
      if (done) return this.end(handler)
      this.blocks = value.blocks
      this.at = 0
    }
    while (this.at < this.blocks.length && !this.readBlock(this.blocks[this.at], handler)) this.at++
    return true
  }

  /**
   * @param {import('../maintenance/blocks').ScannedBlock} block
   * @param {Handler} handler
   * @returns {boolean} whether the handler wants to be asked before the next record
   */
  readBlock ({ offset, buffer, end, problem }, handler) {
    if (offset + buffer.length <= this.offset) return false
    if (problem !== null) {
      handler.corrupt(offset, buffer.length, problem.reason)
      end = 0
    }
    let position = Math.max(0, this.offset - offset)
    while (position < end) {
      const next = layout.nextPosition(buffer, position)
      const isPaused = handler.record(buffer, position + layout.LENGTH_SIZE, next - layout.LENGTH_SIZE, offset + position, layout.isDeleted(buffer, position))
      position = next
      this.offset = offset + position
      if (isPaused) return true
    }
    this.offset = offset + buffer.length
    return false
  }

  /**
   * @param {Handler} handler
   * @returns {Promise<false>}
   */
  async end (handler) {
    const { extent } = this
    const bytes = extent.size - extent.end
    // flumelog-aligned-offset fills the last block with zeros when it deletes a record there
    if (bytes > 0 && (bytes >= extent.blockSize || !isZeros(await extent.io.read(extent.end, bytes)))) {
      const { start, end, reason } = await tornRange(extent)
      this.torn = tornUnlessCorrupt(handler, start, end, reason)
    }
    return false
  }

  async stop () {
    await this.pieces.return()
    await this.extent.io.close()
  }
}

module.exports = { AlignedReader }
