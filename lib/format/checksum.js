'use strict'

// The checksum of a sealed block: CRC-32 over all bytes except the four of the
// checksum itself.

const { crc32 } = require('./crc32')
const { CHECKED_PADDING_SIZE, paddingStart, view } = require('./layout')

/**
 * Writes the checksum of a sealed block into it, if its padding has room for one:
 * in a block started without checksums the last record may occupy its place.
 * @param {Buffer} block a sealed block
 */
function writeChecksum (block) {
  if (paddingStart(block) > block.length - CHECKED_PADDING_SIZE) return
  block.writeUInt32LE(checksumOf(block), block.length - 8)
}

/**
 * @param {Buffer} block a sealed block, or its last bytes
 * @param {number} [before] CRC-32 of the bytes before these
 * @returns {number}
 */
function checksumOf (block, before = 0) {
  const blockSize = block.length
  return crc32(block.subarray(blockSize - 4), crc32(block.subarray(0, blockSize - 8), before))
}

/**
 * The same, computed part by part.
 * @param {Buffer} block a sealed block
 * @param {Uint32Array} partChecksums is filled: for each part, the CRC-32 of the block up to the part's end
 */
function checksumByParts (block, partChecksums) {
  const parts = partChecksums.length
  const size = block.length / parts
  let checksum = 0
  for (let part = 0; part < parts; part++) {
    checksum = partChecksums[part] = checksumOfPart(view(block.buffer, block.byteOffset + part * size, size), part === parts - 1, checksum)
  }
  return checksum
}

/**
 * @param {Buffer} bytes of a part of a block
 * @param {boolean} isLast
 * @param {number} before CRC-32 of the bytes before it in the block
 * @returns {number} CRC-32 of that and these, without the block's checksum itself
 */
function checksumOfPart (bytes, isLast, before) {
  return isLast ? checksumOf(bytes, before) : crc32(bytes, before)
}

/**
 * @param {Buffer} block a sealed block
 * @returns {number} its stored checksum; 0 if it has none
 */
function storedChecksum (block) {
  const blockSize = block.length
  return paddingStart(block) <= blockSize - CHECKED_PADDING_SIZE ? block.readUInt32LE(blockSize - 8) : 0
}

module.exports = { writeChecksum, checksumOf, checksumByParts, checksumOfPart, storedChecksum }
