'use strict'

// The CRC-32 of two byte sequences in a row, from those of the two: so bytes that two checksums cover are read once. As in zlib, where
// it is not accessible: a CRC is a polynomial over GF(2), and to append n bytes is to multiply it by x^8n.

const POLYNOMIAL = 0xEDB88320
/** x^(2^n) for n from 0 to 31 */
const POWERS = new Uint32Array(32)
POWERS[0] = 1 << 30
for (let n = 1; n < 32; n++) POWERS[n] = multiply(POWERS[n - 1], POWERS[n - 1])

/**
 * @param {number} first CRC-32 of the first bytes
 * @param {number} second CRC-32 of those after them
 * @param {number} length of the second bytes, below 2^29
 * @returns {number} CRC-32 of all
 */
function combine (first, second, length) {
  let power = 1 << 31
  for (let bits = length, n = 3; bits > 0; bits >>>= 1, n++) if (bits & 1) power = multiply(POWERS[n], power)
  return (multiply(power, first) ^ second) >>> 0
}

/**
 * @param {number} a not 0
 * @param {number} b
 * @returns {number} the product of two polynomials, modulo that of the CRC; the highest bit is x^0
 */
function multiply (a, b) {
  let product = 0
  for (let bit = 1 << 31; ; bit >>>= 1) {
    if (a & bit) {
      product ^= b
      if ((a & (bit - 1)) === 0) return product
    }
    b = b & 1 ? b >>> 1 ^ POLYNOMIAL : b >>> 1
  }
}

module.exports = { combine }
