'use strict'

// Where does a log start? Of a log that was trimmed, block 0 is a hole, and the blocks after
// it are zeros up to the start, which is found by binary search: with few reads, however much was trimmed.

const { isHole, isHoleLength } = require('../format/hole')
const layout = require('../format/layout')
const { findProblem } = require('../format/validation')
const { isZeros } = require('../format/zeros')

/**
 * @typedef {import('./find-end').Read} Read
 * @typedef {{ from: number, start: number }} Trim blocks that are being trimmed: from the start before, to the start of the log
 */

/**
 * @param {Read} read
 * @param {number} end of the log; the block in which it ends is never trimmed
 * @param {number} blockSize
 * @returns {Promise<number>} offset of the first block that is not trimmed
 */
async function findStart (read, end, blockSize) {
  const last = Math.floor(end / blockSize)
  const isTrimmed = async (/** @type {number} */ number) => isZeros(await read(number * blockSize, Math.min(blockSize, end - number * blockSize)))
  // two bytes tell it of nearly every log that was not trimmed
  if (last < 2 || !isHoleLength(layout.readLength(await read(0, layout.LENGTH_SIZE), 0), blockSize)) return 0
  const first = await read(0, blockSize)
  if (findProblem(first, true) !== null || !isHole(first) || !await isTrimmed(1)) return 0
  for (let high = last; ;) {
    let low = 1
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2)
      if (await isTrimmed(middle)) low = middle
      else high = middle
    }
    const other = await dataBefore(isTrimmed, low)
    if (other === -1) return high * blockSize
    high = other
  }
}

/**
 * A block of zeros can also be a corrupt one in the middle of the log; then there are others in front of it.
 * @param {(number: number) => Promise<boolean>} isTrimmed
 * @param {number} number of a block of zeros
 * @returns {Promise<number>} number of a block before it that was not trimmed; -1 if none is found
 */
async function dataBefore (isTrimmed, number) {
  for (let distance = 1; number - distance > 1; distance *= 2) {
    if (!await isTrimmed(number - distance)) return number - distance
  }
  return -1
}

module.exports = { findStart }
