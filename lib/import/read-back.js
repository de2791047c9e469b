'use strict'

// Reads a log back while it is written, and compares it with what was read from the old file. What was written a moment ago is still in
// the processor's cache, so this takes less time than to read all of it at the end.

const fs = require('fs')
const errors = require('../errors')
const { crc32 } = require('../format/crc32')
const { combine } = require('../format/crc32-combine')
const layout = require('../format/layout')
const { checksumAfter } = require('./block-checksum')
const { OldFile } = require('./old-file')
const { pieceSize } = require('./packed-log')
const { isZeroFrom } = require('./zero-data')

class ReadBack {
  /**
   * @param {string} name of the log
   * @param {number} blockSize
   */
  static async open (name, blockSize) {
    return new ReadBack(await OldFile.open(name), blockSize)
  }

  /**
   * @param {OldFile} file the log
   * @param {number} blockSize
   */
  constructor (file, blockSize) {
    this.file = file
    this.blockSize = blockSize
    this.check = new Check()
    /** One is checked, one is read. */
    this.memory = [0, 1].map(() => Buffer.allocUnsafeSlow(pieceSize(blockSize)))
    /** Up to where the log was read, or is being read. */
    this.offset = 0
    /** What is being read. @type {Promise<Buffer> | null} */
    this.reading = null
    /** Whether something was found that is not as it was written. */
    this.differs = false
  }

  /**
   * Checks the piece that the call before has started to read, and starts to read the next one.
   * @param {number} written up to where the log is written
   * @throws flumelog:corrupt
   */
  async follow (written) {
    const piece = await this.reading
    const { memory, offset } = this
    const size = memory[0].length
    this.reading = offset + size <= written ? this.read(memory[offset / size % 2]) : null
    if (piece !== null) this.checkPiece(piece)
  }

  /**
   * Checks the rest.
   * @param {{ size: number, digest: number, records: number, bytes: number, deleted: number }} written all of the log
   * @param {import('../maintenance/work').Work} work
   * @throws flumelog:corrupt
   */
  async finish ({ size, digest, records, bytes, deleted }, work) {
    const { check, file } = this
    const onprogress = work.begin('check')
    if ((await fs.promises.stat(file.filename)).size !== size) this.fail()
    do {
      await this.follow(size)
      onprogress(this.offset, size)
    } while (this.reading !== null)
    if (this.offset < size) this.checkPiece(await this.read(this.memory[0].subarray(0, size - this.offset)))
    onprogress(size, size)
    const isSame = check.digest === digest && check.records === records && check.bytes === bytes && check.deleted === deleted
    if (!isSame) this.fail()
  }

  /**
   * @param {Buffer} bytes to be filled
   * @returns {Promise<Buffer>}
   */
  read (bytes) {
    const reading = this.file.readInto(bytes, this.offset)
    this.offset += bytes.length
    // it is awaited by the next call
    reading.catch(() => {})
    return reading
  }

  /** @param {Buffer} piece whole blocks, or the end of the log */
  checkPiece (piece) {
    const { blockSize } = this
    for (let from = 0; from < piece.length; from += blockSize) {
      const block = piece.subarray(from, from + blockSize)
      if (!this.check.add(block, block.length === blockSize)) this.fail()
    }
  }

  /** @throws flumelog:corrupt */
  fail () {
    this.differs = true
    throw errors.copyDiffers(this.file.filename)
  }

  async close () {
    await this.reading?.catch(() => {})
    await this.file.close()
  }
}

/** Verifies blocks, and counts their records. */
class Check {
  constructor () {
    this.digest = 0
    this.records = 0
    this.bytes = 0
    this.deleted = 0
  }

  /**
   * @param {Buffer} block
   * @param {boolean} isSealed
   * @returns {boolean} whether it is valid
   */
  add (block, isSealed) {
    const end = isSealed ? layout.paddingStart(block) : block.length
    if (end > block.length) return false
    // first, since it reads the bytes in order: see lib/format/validation.js
    const checksum = crc32(block.subarray(0, end))
    this.digest = combine(this.digest, checksum, end)
    if (isSealed && !isPadded(block, end, checksum)) return false
    return this.count(block, end)
  }

  /**
   * @param {Buffer} block
   * @param {number} end position after its last record
   * @returns {boolean} whether its records are whole
   */
  count (block, end) {
    let { records, bytes, deleted } = this
    let position = 0
    while (position < end) {
      const length = layout.readLength(block, position)
      const data = position + layout.LENGTH_SIZE
      const after = data + length
      position = after + layout.LENGTH_SIZE
      if (length === 0 || position > end || layout.readLength(block, after) !== length) return false
      if (block[data] === 0 && isZeroFrom(block, data, after)) deleted++
      else {
        records++
        bytes += length
      }
    }
    Object.assign(this, { records, bytes, deleted })
    return true
  }
}

/**
 * @param {Buffer} block sealed
 * @param {number} end of its records
 * @param {number} checksum CRC-32 of these
 * @returns {boolean} whether its mark and its checksum are right
 */
function isPadded (block, end, checksum) {
  if (end === 0 || end > block.length - layout.paddingSize(true)) return false
  return layout.readLength(block, end) === block.length - 1 && block.readUInt32LE(block.length - 8) === checksumAfter(block, end, checksum)
}

module.exports = { ReadBack }
