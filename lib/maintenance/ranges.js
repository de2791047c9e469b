'use strict'

// The invalid ranges of a log's file.

const { findProblem, frameProblem } = require('../format/validation')

/**
 * @typedef {object} Range
 * @property {'corrupt' | 'torn'} kind corrupt: blocks that are. torn: behind the end of the log
 * @property {number} start offset of its first byte
 * @property {number} end offset after its last byte
 * @property {number} blocks number of them
 * @property {number} offset at which the first of them is invalid
 * @property {string} reason what was found there, and what was expected
 */

/**
 * @param {import('./blocks').ScannedBlock} block that is corrupt
 * @returns {Range}
 */
function corruptRange ({ offset, buffer, problem }) {
  const { position, reason } = /** @type {import('../format/validation').Problem} */ (problem)
  return { kind: 'corrupt', start: offset, end: offset + buffer.length, blocks: 1, offset: offset + position, reason }
}

/**
 * Consecutive blocks that are all invalid in the same way (a hole of zeros, say) make one range.
 * @param {Range[]} ranges
 * @param {Range} range
 */
function addRange (ranges, range) {
  const last = ranges.at(-1)
  if (last !== undefined && last.end === range.start && last.reason === range.reason) {
    last.end = range.end
    last.blocks += range.blocks
  } else {
    ranges.push(range)
  }
}

/**
 * @param {import('./extent').Extent} extent that has bytes behind the log's end
 * @returns {Promise<Range>} these
 */
async function tornRange ({ io, blockSize, size, end }) {
  const position = end % blockSize
  const start = end - position
  const bytes = await io.read(start, Math.min(blockSize, size - start))
  const problem = bytes.length === blockSize ? findProblem(bytes, true) : null
  const reason = problem?.reason ?? frameProblem(bytes, position, bytes.length) ?? 'no whole block'
  const blocks = Math.ceil(size / blockSize) - Math.floor(end / blockSize)
  return { kind: 'torn', start: end, end: size, blocks, offset: end, reason }
}

module.exports = { corruptRange, addRange, tornRange }
