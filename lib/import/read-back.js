'use strict'

// Reads a log back that was just written, and compares it with what was read from the old file.

const errors = require('../errors')
const { crc32 } = require('../format/crc32')
const { combine } = require('../format/crc32-combine')
const layout = require('../format/layout')
const { checksumAfter } = require('./block-checksum')
const { OldFile } = require('./old-file')
const { PieceReader, MEMORY_SIZE } = require('./piece-reader')
const { isZeroFrom } = require('./zero-data')

/**
 * @param {string} name
 * @param {number} blockSize
 * @param {{ size: number, digest: number, records: number, bytes: number, deleted: number }} written
 * @param {boolean} keepDeleted
 * @param {import('../maintenance/work').Work} work
 * @throws flumelog:corrupt
 */
async function mustBeAsWritten (name, blockSize, { size, digest, records, bytes, deleted }, keepDeleted, work) {
  const onprogress = work.begin('check')
  const file = await OldFile.open(name)
  const pieces = new PieceReader(file.fd, name, file.size, 0, Buffer.allocUnsafeSlow(MEMORY_SIZE))
  const check = new Check()
  try {
    if (file.size !== size) throw errors.copyDiffers(name)
    while (pieces.position < pieces.end || !pieces.isLast) {
      await pieces.more(blockSize)
      for (let from = 0; (from = pieces.position) < pieces.end && (from + blockSize <= pieces.end || pieces.isLast);) {
        const to = pieces.position = Math.min(from + blockSize, pieces.end)
        const block = pieces.bytes.subarray(from, to)
        if (!check.add(block, to - from === blockSize)) throw errors.copyDiffers(name)
      }
      onprogress(pieces.base + pieces.position, size)
    }
    const isSame = check.digest === digest && check.records === records && check.bytes === bytes && check.deleted === (keepDeleted ? deleted : 0)
    if (!isSame) throw errors.copyDiffers(name)
  } finally {
    await pieces.stop()
    await file.close()
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

module.exports = { mustBeAsWritten }
