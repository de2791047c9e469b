'use strict'

// Is a file a log, though none of its blocks is known to be valid, and it does not end with a whole
// record that follows all others? It may be truncated or corrupt, or another file in which two bytes happen to stand
// again at the distance that they say. Pure: block-size.js reads the bytes.

const { FRAME_SIZE, nextPosition, readLength } = require('../format/layout')
const { isZeros } = require('../format/zeros')
const { lastFrame } = require('./whole-records')

/** Whole records that are no coincidence. In lines of JSON, one in a hundred files starts with what reads as one. */
const ENOUGH_RECORDS = 3

/**
 * @param {Buffer} head the file's beginning, more than a block
 * @param {number} size the file's
 * @param {number} end of the whole records that it starts with
 * @param {number} blockSize
 * @returns {boolean}
 */
function looksLikeLog (head, size, end, blockSize) {
  if (isText(head)) return false
  if (end > 0 && isTruncated(head, size, end, blockSize)) return true
  const atEnd = size <= blockSize ? countAtEnd(head, end) : 0
  return countBefore(head, end) + atEnd >= ENOUGH_RECORDS
}

/**
 * @param {Buffer} head
 * @param {number} size
 * @param {number} end
 * @param {number} blockSize
 * @returns {boolean} whether what follows the records can be the start of one, or of a padding, or was never written
 */
function isTruncated (head, size, end, blockSize) {
  const left = size - end
  if (left <= FRAME_SIZE || isZeros(head.subarray(end))) return true
  const length = readLength(head, end)
  const fits = end + length + FRAME_SIZE <= blockSize || length === blockSize - 1
  return size <= blockSize && fits && length + FRAME_SIZE > left
}

/**
 * @param {Buffer} bytes
 * @returns {boolean} whether they have no control characters but those of texts. The lengths of records of less than
 *   2,304 bytes have some
 */
function isText (bytes) {
  return bytes.every(byte => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b)
}

/**
 * @param {Buffer} head
 * @param {number} end of its whole records
 */
function countBefore (head, end) {
  let count = 0
  for (let position = 0; position < end; position = nextPosition(head, position)) count++
  return count
}

/**
 * @param {Buffer} bytes all of the file
 * @param {number} from
 * @returns {number} of whole records that end with the file, at most as many as are enough
 */
function countAtEnd (bytes, from) {
  let count = 0
  for (let end = bytes.length; count < ENOUGH_RECORDS; count++) {
    end = lastFrame(bytes.subarray(0, end), from)
    if (end === -1) break
  }
  return count
}

module.exports = { looksLikeLog }
