'use strict'

// The block size is not stored in a log, but it can be found: the mark of a
// padding is blockSize - 1, and it stands where the block's end says it does.

const layout = require('./block')
const errors = require('./errors')

/** What is looked at in one place of the file. */
const SAMPLE_SIZE = 2 * layout.MAX_BLOCK_SIZE
const COMMON_SIZES = Array.from({ length: 12 }, (_, i) => layout.MAX_BLOCK_SIZE >> i)

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size the file's, in bytes
 * @param {number | undefined} given the caller's, if there is one
 * @param {number} usual the size of a new log
 * @param {string | null} filename for messages
 * @returns {Promise<number>}
 * @throws flumelog:block-size if the file contradicts what was given,
 *   flumelog:corrupt if nothing in a file of some size looks like a log
 */
async function findBlockSize (read, size, given, usual, filename) {
  if (size === 0) return given ?? usual
  const head = await read(0, Math.min(size, SAMPLE_SIZE))
  if (given !== undefined && isSealed(head, given)) return given

  const { found, end } = firstPadding(head)
  if (found !== undefined) {
    if (given !== undefined && given !== found) throw errors.blockSize(filename, given, `the file has blocks of ${found} bytes`, found)
    return found
  }
  if (given !== undefined && end > given - layout.paddingSize(false)) {
    throw errors.blockSize(filename, given, `a block of the file holds records up to position ${end}, so its blocks are larger`)
  }
  if (end === size) return given ?? usual

  // the first block is damaged, or a torn tail: look for a sound block elsewhere
  const elsewhere = soundBlockIn(head, 0, given === undefined ? allSizes() : [given])
  if (elsewhere !== undefined) return elsewhere
  for (const part of [0.25, 0.5, 0.75, 1]) {
    const from = Math.max(0, size - SAMPLE_SIZE) * part
    const sample = await read(Math.floor(from), Math.min(SAMPLE_SIZE, size - Math.floor(from)))
    const there = soundBlockIn(sample, Math.floor(from), given === undefined ? COMMON_SIZES : [given])
    if (there !== undefined) return there
  }
  if (end > 0 || size < layout.MAX_BLOCK_SIZE) return given ?? usual
  throw errors.corrupt(filename, 0, given ?? usual, 0, `${layout.frameProblem(head, 0, head.length)}; ` +
    'no sound block was found elsewhere either, so this is not a log, or one with another blockSize')
}

function allSizes () {
  return Array.from({ length: layout.MAX_BLOCK_SIZE - layout.MIN_BLOCK_SIZE + 1 }, (_, i) => layout.MAX_BLOCK_SIZE - i)
}

/**
 * @param {Buffer} sample
 * @param {number} offset of the sample in the file
 * @param {number[]} sizes to try
 * @returns {number | undefined} the first size with which a block of the sample is sound
 */
function soundBlockIn (sample, offset, sizes) {
  for (const blockSize of sizes) {
    const first = (blockSize - offset % blockSize) % blockSize
    for (let at = first; at + blockSize <= sample.length; at += blockSize) {
      if (isSealed(sample.subarray(at), blockSize)) return blockSize
    }
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} blockSize
 */
function isSealed (bytes, blockSize) {
  return bytes.length >= blockSize && layout.check(bytes.subarray(0, blockSize), true) === null
}

/**
 * Walks the records of the first block up to its padding.
 * @param {Buffer} head
 * @returns {{ found?: number, end: number }} the block size, if a padding was
 *   found, and where the whole records before it end
 */
function firstPadding (head) {
  let position = 0
  while (true) {
    const blockSize = position + 1 < head.length ? layout.readLength(head, position) + 1 : 0
    if (blockSize >= layout.MIN_BLOCK_SIZE && isSealed(head, blockSize) && layout.paddingStart(head.subarray(0, blockSize)) === position) {
      return { found: blockSize, end: position }
    }
    if (layout.frameProblem(head, position, Math.min(head.length, layout.MAX_BLOCK_SIZE)) !== null) return { end: position }
    position = layout.nextPosition(head, position)
  }
}

module.exports = { findBlockSize }
