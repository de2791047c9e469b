'use strict'

// Backs up a log by a clone of its file, where the file system has these: the clone shares the space of the log's blocks, and
// takes no time. It is read to verify every block. Blocks that were just being changed, or are not complete yet, come from the log.

const fs = require('fs')
const { findProblem } = require('../format/validation')
const { storedChecksum } = require('../format/checksum')
const { punchHead } = require('../recovery/punch-head')

/** Bytes read at a time. */
const PIECE_SIZE = 1024 * 1024

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of a file that is not there
 * @returns {Promise<boolean>} false: files cannot be cloned here
 */
async function cloneLog ({ file }, name) {
  // Deno copies where it should refuse to
  if (file.location === null || process.versions.deno !== undefined) return false
  try {
    await fs.promises.copyFile(file.location.path, name, fs.constants.COPYFILE_FICLONE_FORCE | fs.constants.COPYFILE_EXCL)
    return true
  } catch {
    return false
  }
}

/**
 * Makes of a clone what the log was, up to its end.
 * @param {import('./source-log').SourceLog} source
 * @param {import('../storage/promisified-file').Io} io of the clone
 * @param {Set<number>} changing numbers of blocks that may not have been in the file as they were
 * @param {(bytes: number, total: number) => void} onprogress
 * @returns {Promise<number>} bytes that were written; they are durable
 */
async function completeClone (source, io, changing, onprogress) {
  const { blockSize, start, end } = source
  const fullBlocks = Math.floor(end / blockSize)
  const step = Math.max(1, Math.floor(PIECE_SIZE / blockSize))
  let written = 0
  const replace = async (/** @type {number} */ number, /** @type {Buffer} */ bytes) => {
    await io.write(number * blockSize, bytes)
    written += bytes.length
  }
  await io.truncate(end)
  for (let number = start / blockSize; number < fullBlocks; number += step) {
    const count = Math.min(step, fullBlocks - number)
    const bytes = await io.read(number * blockSize, count * blockSize)
    for (let i = 0; i < count; i++) {
      const block = bytes.subarray(i * blockSize, (i + 1) * blockSize)
      if (!changing.has(number + i) && storedChecksum(block) !== 0 && findProblem(block, true) === null) continue
      const own = await source.block(number + i).catch(err => source.skipTrimmed(err))
      if (own !== null && !own.equals(block)) await replace(number + i, own)
    }
    onprogress((number + count) * blockSize - start, end - start)
  }
  if (end % blockSize > 0) await replace(fullBlocks, await source.lastPart())
  // what was being trimmed, too
  if (source.start > 0) await punchHead(io, 0, source.start, blockSize)
  await io.sync()
  return written
}

module.exports = { cloneLog, completeClone }
