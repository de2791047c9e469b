'use strict'

// Frees the blocks in front of a log's start, in the file.

const { holeOf } = require('../format/hole')
const { CHECKED_PADDING_SIZE, LENGTH_SIZE } = require('../format/layout')
const { PAGE_SIZE } = require('../storage/holes')

/**
 * @typedef {object} Target
 * @property {(offset: number, data: Buffer) => Promise<void>} write
 * @property {(offset: number, length: number) => Promise<void>} punch
 * @property {() => Promise<void>} sync
 */

/**
 * @param {Target} target
 * @param {number} from offset of the first block that is not freed yet
 * @param {number} to offset of a block
 * @param {number} blockSize
 */
async function punchHead ({ write, punch, sync }, from, to, blockSize) {
  if (from === 0) {
    // durable before there are zeros after it: at any time, one of the first blocks tells the block size
    await write(0, holeOf(blockSize, true))
    await sync()
    const { offset, length } = pagesOf(0, blockSize)
    if (length > 0) await punch(offset, length)
  }
  const first = Math.max(from, blockSize)
  if (to > first) await punch(first, to - first)
}

/**
 * @param {number} number of a block
 * @param {number} blockSize
 * @returns {{ offset: number, length: number }} the whole pages between its length at its start and what it has at its end
 */
function pagesOf (number, blockSize) {
  const start = number * blockSize
  const last = start + blockSize - CHECKED_PADDING_SIZE - LENGTH_SIZE
  const offset = Math.ceil((start + LENGTH_SIZE) / PAGE_SIZE) * PAGE_SIZE
  return { offset, length: Math.max(0, Math.floor(last / PAGE_SIZE) * PAGE_SIZE - offset) }
}

module.exports = { punchHead, pagesOf }
