'use strict'

// CRC-32 (the one of zlib, gzip and PNG) by the fastest implementation available: the
// optional package uses the processor's instructions for it, which zlib in Node.js does
// not, and takes a sixth of the time. Otherwise it dominates the cost of reading a block.

const { createRequire } = require('module')
const { crc32: zlibCrc32 } = require('zlib')

/** The check value in published descriptions of CRC-32. */
const SAMPLE = Buffer.from('123456789')
const CRC_OF_SAMPLE = 0xCBF43926

/** @typedef {(data: Buffer, before?: number) => number} Crc32 `before`: CRC-32 of the bytes before the data; default 0 */

/** @returns {Crc32} */
function fastest () {
  try {
    // not `require`: bundlers would stop at the native part
    const { crc32: native } = createRequire(__filename)('@node-rs/crc32')
    return isCorrect(native) ? native : zlibCrc32
  } catch {
    return zlibCrc32
  }
}

/**
 * @param {Crc32} crc32
 * @returns {boolean} whether it computes what zlib does, in one call and in several
 */
function isCorrect (crc32) {
  const long = Buffer.alloc(1000, SAMPLE)
  return crc32(SAMPLE) === CRC_OF_SAMPLE && crc32(long, CRC_OF_SAMPLE) === zlibCrc32(long, CRC_OF_SAMPLE)
}

const crc32 = fastest()

module.exports = { crc32 }
