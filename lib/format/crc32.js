'use strict'

// CRC-32 (the one of zlib, gzip and PNG), by the quickest that is there: the optional
// package uses the processor's instructions for it, which zlib in Node.js does not, and
// takes a sixth of the time. It was the largest part of reading a block.

const zlib = require('zlib')

/** What the published examples of CRC-32 are computed of, and what it is. */
const SAMPLE = Buffer.from('123456789')
const CRC_OF_SAMPLE = 0xCBF43926

/** @typedef {(data: Buffer, before?: number) => number} Crc32 `before`: CRC-32 of what is before the data; default 0 */

/** @returns {Crc32} */
function quickest () {
  try {
    const { crc32 } = require('@node-rs/crc32')
    return isRight(crc32) ? crc32 : zlib.crc32
  } catch {
    return zlib.crc32
  }
}

/**
 * @param {Crc32} crc32
 * @returns {boolean} whether it can be trusted with what others have written
 */
function isRight (crc32) {
  const long = Buffer.alloc(1000, SAMPLE)
  return crc32(SAMPLE) === CRC_OF_SAMPLE && crc32(long, CRC_OF_SAMPLE) === zlib.crc32(long, CRC_OF_SAMPLE)
}

module.exports = { crc32: quickest() }
