'use strict'

// Writes blocks into a backup. What is zeros in a block of which all is deleted is not written: it
// takes no space there either.

const { promisify } = require('util')
const { isHole } = require('../format/hole')

/** Bytes that a file system allocates at a time. */
const PAGE_SIZE = 4096

/**
 * @param {import('../storage/path-file').LogFile} target which has no bytes after `offset` yet
 * @param {import('./source-log').Piece} piece
 * @returns {Promise<number>} bytes that were written
 */
async function writeBlocks (target, { offset, blocks }) {
  const writeMany = promisify(target.writeMany)
  /** @type {Buffer[]} */
  let run = []
  let start = offset
  let at = offset
  let skipped = 0
  for (const block of blocks) {
    if (isSparse(block)) {
      const last = block.length - PAGE_SIZE
      run.push(block.subarray(0, PAGE_SIZE))
      await writeMany(start, run)
      skipped += last - PAGE_SIZE
      start = at + last
      run = [block.subarray(last)]
    } else add(run, block)
    at += block.length
  }
  await writeMany(start, run)
  return at - offset - skipped
}

/** @param {Buffer} block full, or the records of the last one */
function isSparse (block) {
  return block.length > 2 * PAGE_SIZE && isHole(block)
}

/**
 * Small blocks that were read together are written as one buffer.
 * @param {Buffer[]} run
 * @param {Buffer} block
 */
function add (run, block) {
  const before = run.at(-1)
  if (before === undefined || before.buffer !== block.buffer || before.byteOffset + before.length !== block.byteOffset) run.push(block)
  else run[run.length - 1] = Buffer.from(block.buffer, before.byteOffset, before.length + block.length)
}

module.exports = { writeBlocks }
