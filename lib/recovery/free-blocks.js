'use strict'

// Frees blocks in a log's file: those in front of its start, and holes.

const { holeOf, isHole } = require('../format/hole')
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
async function punchHead (target, from, to, blockSize) {
  if (from === 0) {
    // durable before there are zeros after it: at any time, one of the first blocks tells the block size
    await writePatch(target, { offset: 0, data: holeOf(blockSize, true) }, blockSize)
    await target.sync()
  }
  const first = Math.max(from, blockSize)
  if (to > first) await target.punch(first, to - first)
}

/**
 * If the machine stops in the middle, FILE.meta says what belongs there.
 * @param {Pick<Target, 'write' | 'punch'>} target
 * @param {import('../format/deletions').Patch} patch if it is a hole, its pages of zeros are freed
 * @param {number} blockSize
 */
async function writePatch ({ write, punch }, { offset, data }, blockSize) {
  const pages = pagesOf(offset / blockSize, blockSize)
  if (data.length < blockSize || pages.length === 0 || !isHole(data)) return write(offset, data)
  const from = pages.offset - offset
  await write(offset, data.subarray(0, from))
  await punch(pages.offset, pages.length)
  await write(pages.offset + pages.length, data.subarray(from + pages.length))
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

module.exports = { punchHead, writePatch }
