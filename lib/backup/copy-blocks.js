'use strict'

// Copies the blocks of a log into another file. What is zeros in a block of which all is deleted is not written: it takes no space there either.

const { promisify } = require('util')
const { isHole } = require('../format/hole')
const { PAGE_SIZE } = require('../storage/holes')

/** Bytes after which an fsync is started: the disk writes while more is copied. */
const SYNC_SIZE = 32 * 1024 * 1024

/**
 * @param {AsyncIterable<import('./source-log').Piece>} pieces
 * @param {import('../storage/path-file').LogFile} file which has no bytes after the offset of the first one
 * @param {(end: number) => void} oncopied given the offset after what has been written
 * @returns {Promise<number>} bytes that were written, and are durable
 */
async function copyBlocks (pieces, file, oncopied) {
  const write = /** @type {(offset: number, buffers: Buffer[]) => Promise<void>} */ (promisify(file.writeMany))
  const sync = promisify(file.sync)
  let written = 0
  let synced = 0
  /** The fsync in progress, or one that has failed. @type {Promise<void> | null} */
  let syncing = null
  try {
    for await (const { offset, blocks } of pieces) {
      let end = offset
      for (const run of runsOf(blocks)) {
        await write(offset + run.start, run.buffers)
        for (const { length } of run.buffers) written += length
      }
      for (const { length } of blocks) end += length
      oncopied(end)
      if (written - synced < SYNC_SIZE || syncing !== null) continue
      synced = written
      syncing = sync().then(() => { syncing = null })
      // it is awaited later
      syncing.catch(() => {})
    }
  } finally {
    await syncing
  }
  await sync()
  return written
}

/**
 * @param {Buffer[]} blocks that follow each other
 * @returns {Array<{ start: number, buffers: Buffer[] }>} what has to be written; those that follow each other in memory as one buffer
 */
function runsOf (blocks) {
  let run = { start: 0, buffers: /** @type {Buffer[]} */ ([]) }
  const runs = [run]
  let at = 0
  for (const block of blocks) {
    if (block.length > 2 * PAGE_SIZE && isHole(block)) {
      const last = block.length - PAGE_SIZE
      run.buffers.push(block.subarray(0, PAGE_SIZE))
      runs.push(run = { start: at + last, buffers: [block.subarray(last)] })
    } else {
      const before = run.buffers.at(-1)
      if (before?.buffer === block.buffer && before.byteOffset + before.length === block.byteOffset) {
        run.buffers[run.buffers.length - 1] = Buffer.from(block.buffer, before.byteOffset, before.length + block.length)
      } else run.buffers.push(block)
    }
    at += block.length
  }
  return runs
}

module.exports = { copyBlocks }
