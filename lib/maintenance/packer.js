'use strict'

// Packs records into blocks, without gaps, and writes these.

const layout = require('../format/layout')
const { writeChecksum } = require('../format/checksum')

/** Bytes written at a time, about. */
const PIECE_SIZE = 1024 * 1024

class Packer {
  /**
   * @param {import('../storage/promisified-file').Io} target
   * @param {number} blockSize
   */
  constructor (target, blockSize) {
    this.target = target
    this.blockSize = blockSize
    this.buffer = Buffer.allocUnsafeSlow(blockSize)
    this.position = 0
    /** offset of the block that is being filled */
    this.offset = 0
    /** full blocks not yet written @type {Buffer[]} */
    this.full = []
  }

  /**
   * @param {Buffer} data
   * @returns {number} its offset in the copy
   */
  add (data) {
    // the largest records of a log without checksums leave no room for one
    const checksum = data.length <= layout.maxRecordSize(this.blockSize, true)
    if (!layout.fits(this.blockSize, checksum, this.position, data.length)) this.startBlock()
    const seq = this.offset + this.position
    this.position = layout.writeRecord(this.buffer, this.position, data)
    return seq
  }

  startBlock () {
    layout.seal(this.buffer, this.position)
    writeChecksum(this.buffer)
    this.full.push(this.buffer)
    this.buffer = Buffer.allocUnsafeSlow(this.blockSize)
    this.offset += this.blockSize
    this.position = 0
  }

  /** Writes the full blocks, if they are worth a write. */
  async write (least = PIECE_SIZE) {
    const { full, blockSize } = this
    if (full.length === 0 || full.length * blockSize < least) return
    this.full = []
    await this.target.write(this.offset - full.length * blockSize, Buffer.concat(full))
  }

  /** @returns {Promise<number>} the size of the copy */
  async end () {
    await this.write(0)
    if (this.position > 0) await this.target.write(this.offset, this.buffer.subarray(0, this.position))
    return this.offset + this.position
  }
}

module.exports = { Packer }
