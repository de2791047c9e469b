'use strict'

const { crc32 } = require('../format/crc32')

/**
 * The checksum of a sealed block, if that of its records is known already.
 * @param {Buffer} block
 * @param {number} end of its records
 * @param {number} checksum CRC-32 of these
 * @returns {number}
 */
function checksumAfter (block, end, checksum) {
  const blockSize = block.length
  return crc32(block.subarray(blockSize - 4), crc32(block.subarray(end, blockSize - 8), checksum))
}

module.exports = { checksumAfter }
