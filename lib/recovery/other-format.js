'use strict'

// What a file that is no log may be instead: a format that `flumelog import` reads. Pure.

const { isZeros } = require('../format/zeros')

const ASYNC_APPEND_ONLY_BLOCK = 65536
/** Bytes of an offset in a file of flumelog-offset. */
const OFFSET_SIZES = [4, 6, 8]

/**
 * @param {Buffer} head the start of a file
 * @param {number} size the file's
 * @returns {string | null} the name of its format; null: it is not recognized by its first record, row or block
 */
function otherFormat (head, size) {
  if (isOffsetLog(head)) return 'flumelog-offset'
  if (isAsyncAppendOnlyLog(head, size)) return 'async-append-only-log'
  return textFormat(head)
}

/**
 * A record is its length, the data, the length again, and the offset at which it ends; numbers are big-endian.
 * @param {Buffer} head
 */
function isOffsetLog (head) {
  if (head.length < 4) return false
  const length = head.readUInt32BE(0)
  return OFFSET_SIZES.some((bytes) => {
    const end = length + 8 + bytes
    return end <= head.length && head.readUInt32BE(4 + length) === length && head.readUInt32BE(end - 4) === end && isZeros(head.subarray(8 + length, end - 4))
  })
}

/**
 * A block has records, each with its length in front, and zeros after the last one.
 * @param {Buffer} head
 * @param {number} size
 */
function isAsyncAppendOnlyLog (head, size) {
  if (size % ASYNC_APPEND_ONLY_BLOCK !== 0 || head.length < ASYNC_APPEND_ONLY_BLOCK) return false
  const block = head.subarray(0, ASYNC_APPEND_ONLY_BLOCK)
  let end = 0
  while (end + 2 <= block.length && block.readUInt16LE(end) > 0) end += 2 + block.readUInt16LE(end)
  return end > 0 && end <= block.length && isZeros(block.subarray(end))
}

/**
 * @param {Buffer} head
 * @returns {string | null}
 */
function textFormat (head) {
  const [first, second] = head.toString('utf8').split('\n', 2)
  if (isJson(first)) return 'JSON lines'
  if (!second || head.includes(0)) return null
  const commas = [first, second].map(line => line.split(',').length - 1)
  return commas[0] > 0 && commas[0] === commas[1] ? 'CSV' : null
}

/** @param {string} text */
function isJson (text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

module.exports = { otherFormat }
