'use strict'

// The block size is not stored in a log, but it can be found: the mark of a
// padding is blockSize - 1, and it stands where the block's end says it does.

const layout = require('../format/layout')
const errors = require('../errors')

/** What is looked at in one place of the file. */
const SAMPLE_SIZE = 2 * layout.MAX_BLOCK_SIZE
const COMMON_SIZES = Array.from({ length: 12 }, (_, i) => layout.MAX_BLOCK_SIZE >> i)

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size the file's, in bytes
 * @param {number | undefined} given the caller's, if there is one
 * @param {number} usual the size of a new log
 * @param {string | null} filename for messages
 * @param {boolean} [isLog] it is known to be one, though a crash may have left nothing that looks like it
 * @returns {Promise<number>}
 * @throws flumelog:block-size if the file contradicts what was given,
 *   flumelog:corrupt if nothing in a file of some size looks like a log
 */
async function findBlockSize (read, size, given, usual, filename, isLog = false) {
  if (size === 0) return given ?? usual
  const head = await read(0, Math.min(size, SAMPLE_SIZE))
  if (given !== undefined && isSealed(head, given)) return given

  const { found, end } = firstPadding(head)
  if (found !== undefined) return confirmed(found, given, filename)
  const hasRoom = given === undefined || end <= given - layout.paddingSize(false)
  if (end === size && hasRoom) return given ?? usual

  // the first block is damaged, or a torn tail: look for a sound block elsewhere
  const elsewhere = await soundBlock(read, size, head, given)
  if (elsewhere !== undefined) return confirmed(elsewhere, given, filename)
  if (!hasRoom) {
    throw errors.blockSize(filename, Number(given), `a block of the file holds records up to position ${end}, so its blocks are larger`)
  }
  if (end > 0 || isLog || size < layout.MAX_BLOCK_SIZE) return given ?? usual
  throw errors.corrupt(filename, 0, given ?? usual, 0, `${layout.frameProblem(head, 0, head.length)}; ` +
    'no sound block was found elsewhere either, so this is not a log, or one with another blockSize')
}

/**
 * @param {number} found
 * @param {number | undefined} given
 * @param {string | null} filename
 * @returns {number}
 */
function confirmed (found, given, filename) {
  if (given === undefined || given === found) return found
  throw errors.blockSize(filename, given, `the file has blocks of ${found} bytes`, found)
}

/**
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {number} size the file's
 * @param {Buffer} head the file's beginning
 * @param {number | undefined} given
 * @returns {Promise<number | undefined>} the size of a block that is sound; the given size, if there is one of that
 */
async function soundBlock (read, size, head, given) {
  const samples = [{ offset: 0, bytes: head }]
  if (size > head.length) {
    for (const part of [0.25, 0.5, 0.75, 1]) {
      const offset = Math.floor((size - SAMPLE_SIZE) * part)
      samples.push({ offset, bytes: await read(offset, SAMPLE_SIZE) })
    }
  }
  const searches = [{ sizes: sizesUpTo(head.length), samples: samples.slice(0, 1) }, { sizes: COMMON_SIZES, samples: samples.slice(1) }]
  if (given !== undefined) searches.unshift({ sizes: [given], samples })
  for (const search of searches) {
    for (const { offset, bytes } of search.samples) {
      const found = soundBlockIn(bytes, offset, search.sizes)
      if (found !== undefined) return found
    }
  }
}

/**
 * Large ones first: blocks of small ones would be found in what records hold.
 * @param {number} most
 */
function * sizesUpTo (most) {
  for (let blockSize = Math.min(most, layout.MAX_BLOCK_SIZE); blockSize >= layout.MIN_BLOCK_SIZE; blockSize--) yield blockSize
}

/**
 * @param {Buffer} sample
 * @param {number} offset of the sample in the file
 * @param {Iterable<number>} sizes to try
 * @returns {number | undefined} the first size with which a block of the sample is sound
 */
function soundBlockIn (sample, offset, sizes) {
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
 */
function isSealed (bytes, blockSize) {
  return bytes.length >= blockSize && layout.findProblem(bytes.subarray(0, blockSize), true) === null
}

/**
 * @param {Buffer} head a file's beginning
 * @returns {number | undefined} its block size, if its first block is whole, and padded
 */
function paddedSize (head) {
  return firstPadding(head).found
}

/**
 * Walks the records of the first block up to its padding.
 * @param {Buffer} head
 * @returns {{ found?: number, end: number }} the block size, if a padding was
 *   found, and where the whole records before it end
 */
function firstPadding (head) {
  const most = Math.min(head.length, layout.MAX_BLOCK_SIZE)
  let position = 0
  while (true) {
    const isRecord = layout.frameProblem(head, position, most) === null
    const blockSize = position + 1 < head.length ? layout.readLength(head, position) + 1 : 0
    if (blockSize >= layout.MIN_BLOCK_SIZE && isPadding(head, position, blockSize)) {
      // bytes can look like both; behind a padding stands a block's first record
      if (!isRecord || layout.endOfRecords(head, blockSize, head.length) > blockSize) return { found: blockSize, end: position }
    }
    if (!isRecord) return { end: position }
    position = layout.nextPosition(head, position)
  }
}

/**
 * @param {Buffer} head
 * @param {number} position
 * @param {number} blockSize
 * @returns {boolean} whether a block of this size at the beginning is padded from this position on;
 *   its records may be damaged
 */
function isPadding (head, position, blockSize) {
  if (head.length < blockSize) return false
  const block = head.subarray(0, blockSize)
  if (layout.paddingStart(block) !== position || layout.findProblem(block, false) !== null) return false
  const hasChecksum = position <= blockSize - layout.paddingSize(true)
  return !layout.isStorable(block.subarray(position + layout.LENGTH_SIZE, blockSize - (hasChecksum ? 8 : 4)))
}

module.exports = { findBlockSize, paddedSize }
