'use strict'

// Finds the block size of a file: from its first padding or, if the first block is corrupt,
// from samples taken elsewhere.

const layout = require('../format/layout')
const { blockSizeOfSample, blockSizesUpTo, firstPadding, isSealed } = require('../format/block-size')
const { frameProblem } = require('../format/validation')
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

  const { blockSize: found, end } = firstPadding(head)
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
  throw errors.corrupt(filename, 0, given ?? usual, 0, `${frameProblem(head, 0, head.length)}; ` +
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
  const searches = [{ sizes: blockSizesUpTo(head.length), samples: samples.slice(0, 1) }, { sizes: COMMON_SIZES, samples: samples.slice(1) }]
  if (given !== undefined) searches.unshift({ sizes: [given], samples })
  for (const search of searches) {
    for (const { offset, bytes } of search.samples) {
      const found = blockSizeOfSample(bytes, offset, search.sizes)
      if (found !== undefined) return found
    }
  }
}

module.exports = { findBlockSize }
