'use strict'

// Truncates a log's file to the end that find-end.js found, and completes what a crash interrupted.

const { paddingSize, seal } = require('../format/layout')
const { isZeros } = require('../format/zeros')
const { punchHead, writePatch } = require('./free-blocks')

/** Bytes that are written again at a time. */
const REWRITE_SIZE = 1024 * 1024

/**
 * @param {import('../storage/path-file').Io} io
 * @param {import('./find-end').Found} found
 * @param {number} blockSize in bytes
 * @returns {Promise<string | null>} the name of the file that keeps the truncated bytes; null if there were none,
 *   only zeros, or they cannot be kept
 */
async function recover (io, found, blockSize) {
  const { kept, cut, dataEnd, damagedTail, trim } = found
  let name = null
  if (found.patches.length > 0 || trim !== null) {
    // killed in the middle, the next opening must find the rest of these blocks, and what belongs there
    await io.sync()
    await io.metadata.sync()
  }
  for (const patch of found.patches) await writePatch(io, patch, blockSize)
  if (trim !== null) await punchHead(io, trim.from, trim.start, blockSize)
  if (cut > 0) {
    if (dataEnd > kept) name = await io.keepCut(kept, dataEnd)
    await io.truncate(kept)
  }
  if (damagedTail !== null) await sealCorruptTail(io, kept, damagedTail.end, blockSize)
  await rewrite(io, kept - found.recovered, kept)
  await io.sync()
  return name
}

/**
 * An fsync that failed before the crash has marked these bytes as written without writing them (as Linux does), and the next one succeeds
 * without them. So they are written again before it.
 * @param {import('../storage/path-file').Io} io
 * @param {number} from
 * @param {number} end
 */
async function rewrite (io, from, end) {
  for (let offset = from; offset < end; offset += REWRITE_SIZE) {
    const bytes = await io.read(offset, Math.min(REWRITE_SIZE, end - offset))
    // a hole stays one
    if (!isZeros(bytes)) await io.write(offset, bytes)
  }
}

/**
 * A corrupt tail becomes a corrupt block, so that the log continues in the block after it.
 * @param {import('../storage/path-file').Io} io
 * @param {number} kept
 * @param {number} end the position in the block
 * @param {number} blockSize
 */
async function sealCorruptTail (io, kept, end, blockSize) {
  const block = Buffer.alloc(blockSize)
  // with less room than for a padding, the block is corrupt, too
  seal(block, Math.min(end, blockSize - paddingSize(false)))
  try {
    await io.write(kept, block.subarray(end))
  } catch (err) {
    // half a padding would make the block look torn
    await io.truncate(kept).catch(() => {})
    throw err
  }
}

module.exports = { recover }
