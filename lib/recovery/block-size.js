'use strict'

// Finds the block size of a file: from its first padding or, if the first block is corrupt,
// from samples taken elsewhere. Also finds out whether the file is a log at all.

const { MAX_BLOCK_SIZE, paddingSize } = require('../format/layout')
const { blockSizeOfSample, firstPadding, isSealed } = require('../format/block-size')
const errors = require('../errors')
const { looksLikeLog } = require('./likeness')

/** Bytes read in one place of the file. */
const SAMPLE_SIZE = 2 * MAX_BLOCK_SIZE
/** Where samples are taken, as parts of the file. */
const SAMPLE_PLACES = [0.25, 0.5, 0.75, 1]
/** The largest first: small blocks can be found in the data of records. */
const COMMON_SIZES = Array.from({ length: 12 }, (_, i) => MAX_BLOCK_SIZE >> i)

/** @typedef {import('./find-end').Read} Read */

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {number | undefined} given the caller's, if there is one
 * @param {number} usual the size of a new log
 * @param {string} filename for messages
 * @param {{ blockSize: number, end: number } | null} [known] the metadata of the file: with it, it is a log, though a crash may have left nothing that looks
 *   like one
 * @returns {Promise<number>}
 * @throws flumelog:block-size if the file contradicts what was given,
 *   flumelog:not-a-log if it is not empty, and nothing shows it to be a log
 */
async function findBlockSize (read, size, given, usual, filename, known = null) {
  if (size === 0) return given ?? known?.blockSize ?? usual
  const head = await read(0, Math.min(size, SAMPLE_SIZE))
  if (given !== undefined && isSealed(head, given)) return given
  // a deletion of all of the first block may have been interrupted
  if (known !== null && known.end !== 0) {
    // with less than a block in the file, it may be a guess
    const isGuess = given !== undefined && size < Math.min(given, known.blockSize)
    return isGuess ? given : confirmed(known.blockSize, given, filename)
  }

  const { blockSize: found, end } = firstPadding(head)
  if (found !== undefined) return confirmed(found, given, filename)
  if (known !== null) return confirmed(known.blockSize, given, filename)
  const hasRoom = given === undefined || end <= given - paddingSize(false)
  if (end === size && hasRoom) return given ?? usual

  // the first block is corrupt, or a tail with trailing bytes: look for a valid block elsewhere
  const elsewhere = await blockSizeElsewhere(read, size, head, given)
  if (elsewhere !== undefined) return confirmed(elsewhere, given, filename)
  const guess = given ?? usual
  if (end !== size && !looksLikeLog(head, size, end, guess)) throw errors.notALog(filename)
  if (hasRoom) return guess
  throw errors.blockSize(filename, Number(given), `a block of the file holds records up to position ${end}, so its blocks are larger`)
}

/**
 * @param {number} found
 * @param {number | undefined} given
 * @param {string} filename
 * @returns {number}
 */
function confirmed (found, given, filename) {
  if (given === undefined || given === found) return found
  throw errors.blockSize(filename, given, `the file has blocks of ${found} bytes`, found)
}

/**
 * @param {Read} read
 * @param {number} size the file's
 * @param {Buffer} head the file's beginning
 * @param {number | undefined} given
 * @returns {Promise<number | undefined>} the size of a valid block: the given one, or one that is in use
 */
async function blockSizeElsewhere (read, size, head, given) {
  const sizes = given === undefined ? COMMON_SIZES : [given, ...COMMON_SIZES]
  const inHead = blockSizeOfSample(head, 0, sizes)
  if (inHead !== undefined || size === head.length) return inHead
  for (const place of SAMPLE_PLACES) {
    const offset = Math.floor((size - SAMPLE_SIZE) * place)
    const found = blockSizeOfSample(await read(offset, SAMPLE_SIZE), offset, sizes)
    if (found !== undefined) return found
  }
}

module.exports = { findBlockSize }
