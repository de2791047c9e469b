'use strict'

// CRC-32 (the one of zlib) by tables, eight bytes at a time: browsers have no function for it.

const POLYNOMIAL = 0xEDB88320
const SLICES = 8
/** `tables[k][b]`: of byte b, followed by k zeros. @type {Int32Array[]} */
const tables = Array.from({ length: SLICES }, () => new Int32Array(256))

for (let byte = 0; byte < 256; byte++) {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  tables[0][byte] = crc
}
for (let k = 1; k < SLICES; k++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[k - 1][byte]
    tables[k][byte] = (before >>> 8) ^ tables[0][before & 0xFF]
  }
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables

/**
 * @param {Uint8Array} bytes
 * @param {number} [before] CRC-32 of the bytes before them
 * @returns {number}
 */
function crc32 (bytes, before = 0) {
  const { length } = bytes
  let crc = ~before
  let i = 0
  for (const last = length - SLICES; i <= last; i += SLICES) {
    crc ^= bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24
    crc = t7[crc & 0xFF] ^ t6[crc >>> 8 & 0xFF] ^ t5[crc >>> 16 & 0xFF] ^ t4[crc >>> 24] ^
      t3[bytes[i + 4]] ^ t2[bytes[i + 5]] ^ t1[bytes[i + 6]] ^ t0[bytes[i + 7]]
  }
  for (; i < length; i++) crc = t0[(crc ^ bytes[i]) & 0xFF] ^ (crc >>> 8)
  return ~crc >>> 0
}

module.exports = { crc32 }
