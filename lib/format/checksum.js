'use strict'

// The checksum of a sealed block: CRC-32 over all bytes except the four of the
// checksum itself.

const { crc32 } = require('./crc32')
const { CHECKED_PADDING_SIZE, nextPosition, paddingStart, view } = require('./layout')

/**
 * The records of a block in parts, each of them whole records. A part starts with the first record that starts in its
 * share of the block, or after it. The arrays may be shared with other blocks: the first part's index is `first`, and
 * what stands at `first + count` is for the end of the last part.
 * @typedef {object} Parts
 * @property {Uint16Array} starts positions in the block
 * @property {Uint32Array} checksums CRC-32 of the block up to each of these
 * @property {number} first
 * @property {number} count
 */

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
 * @param {Buffer} block a sealed block with room for a checksum; it need not be valid
 * @param {Parts} parts are filled
 * @returns {number} the same as `checksumOf`
 */
function checksumByParts (block, parts) {
  split(block, parts)
  const { starts, checksums, first, count } = parts
  let checksum = checksums[first] = 0
  for (let part = first; part < first + count; part++) {
    const size = starts[part + 1] - starts[part]
    if (size > 0) checksum = crc32(view(block.buffer, block.byteOffset + starts[part], size), checksum)
    checksums[part + 1] = checksum
  }
  return checksumOf(block.subarray(starts[first + count]), checksum)
}

/**
 * @param {Buffer} block a sealed block; its lengths are not believed
 * @param {Parts} parts `starts` is filled
 */
function split (block, { starts, first, count }) {
  const end = paddingStart(block)
  const share = block.length / count
  let part = 0
  for (let position = 0; position < end; position = nextPosition(block, position)) {
    while (part * share <= position) starts[first + part++] = position
  }
  starts.fill(end, first + part, first + count + 1)
}

/**
 * @param {Buffer} block a sealed block
 * @returns {number} its stored checksum; 0 if it has none
 */
function storedChecksum (block) {
  const blockSize = block.length
  return paddingStart(block) <= blockSize - CHECKED_PADDING_SIZE ? block.readUInt32LE(blockSize - 8) : 0
}

module.exports = { writeChecksum, checksumOf, checksumByParts, storedChecksum }
