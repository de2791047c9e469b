'use strict'

// Frees the blocks in front of a log's start, in the file.

const { holeOf } = require('../format/hole')

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
  }
  const first = Math.max(from, blockSize)
  if (to > first) await punch(first, to - first)
}

module.exports = { punchHead }
