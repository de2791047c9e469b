'use strict'

// The block size is not stored in a log, but its bytes show it: the mark of a padding is
// blockSize - 1, and stands where the end of the block says.

const layout = require('./layout')
const { endOfRecords, findProblem, frameProblem } = require('./validation')

/**
 * Follows the records of the first block up to its padding.
 * @param {Buffer} head the first bytes of a file
 * @returns {{ blockSize?: number, end: number }} the block size, if a padding was found;
 *   where the whole records before it end
 */
function firstPadding (head) {
  const end = Math.min(head.length, layout.MAX_BLOCK_SIZE)
  let position = 0
  while (true) {
    const isRecord = frameProblem(head, position, end) === null
    const blockSize = position + 1 < head.length ? layout.readLength(head, position) + 1 : 0
    if (blockSize >= layout.MIN_BLOCK_SIZE && isPadding(head, position, blockSize)) {
      // bytes can look like both; a padding is followed by the first record of a block
      if (!isRecord || endOfRecords(head, blockSize, head.length) > blockSize) return { blockSize, end: position }
    }
    if (!isRecord) return { end: position }
    position = layout.nextPosition(head, position)
  }
}

/**
 * @param {Buffer} head the first bytes of a file
 * @returns {number | undefined} its block size, if its first block is whole and sealed
 */
function detectBlockSize (head) {
  return firstPadding(head).blockSize
}

/**
 * @param {Buffer} sample
 * @param {number} offset of the sample in the file
 * @param {number[]} sizes to try
 * @returns {number | undefined} the first size with which a block of the sample is valid
 */
function blockSizeOfSample (sample, offset, sizes) {
  for (const blockSize of sizes) {
    const first = (blockSize - offset % blockSize) % blockSize
    for (let at = first; at + blockSize <= sample.length; at += blockSize) {
      const block = sample.subarray(at, at + blockSize)
      // where all blocks are padded from the same position on, several together can look like one
      if (isSealed(block, blockSize) && isPadding(block, layout.paddingStart(block), blockSize)) return blockSize
    }
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} blockSize
 * @returns {boolean} whether they start with a valid sealed block of this size
 */
function isSealed (bytes, blockSize) {
  return bytes.length >= blockSize && findProblem(bytes.subarray(0, blockSize), true) === null
}

/**
 * @param {Buffer} head
 * @param {number} position
 * @param {number} blockSize
 * @returns {boolean} whether the first block, if it had this size, would be padded from this position on;
 *   the data of its records may be corrupt
 */
function isPadding (head, position, blockSize) {
  if (head.length < blockSize) return false
  const block = head.subarray(0, blockSize)
  if (layout.paddingStart(block) !== position || findProblem(block, false) !== null) return false
  const hasChecksum = position <= blockSize - layout.paddingSize(true)
  return !layout.isStorable(block.subarray(position + layout.LENGTH_SIZE, blockSize - (hasChecksum ? 8 : 4)))
}

module.exports = { firstPadding, detectBlockSize, blockSizeOfSample, isSealed }
