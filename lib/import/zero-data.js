'use strict'

// Zeros in the place of data mark a deleted record, in all binary formats.

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @returns {boolean} whether all bytes are zero; for data, the first one usually tells
 */
function isZeroFrom (bytes, start, end) {
  for (let position = start; position < end; position++) if (bytes[position] !== 0) return false
  return true
}

module.exports = { isZeroFrom }
