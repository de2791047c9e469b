'use strict'

// Does FILE.meta belong to the file? One rule: the file is at least as long as the recovery point in it, and the bytes in front of that have the
// CRC-32 that it says, once the deletions in it are applied. Otherwise, all of it is ignored: the file is read as that of another program.

const { crc32 } = require('zlib')
const { applyPatches, patchesOf } = require('../format/deletions')

/** Bytes in front of the recovery point that tie it to the file. Zeros do not: a deleted record is the same in all logs. */
const TIE_SIZE = 64

/**
 * @typedef {import('../storage/metadata-text').Metadata} Metadata
 * @typedef {import('../storage/metadata-text').Place} Place
 * @typedef {import('../format/deletions').Deletion} Deletion
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 */

/**
 * @param {Read} read
 * @param {number} end offset of the end of a record or a block
 * @param {number} blockSize in bytes
 * @param {Deletion[]} deletions that the file may not have yet
 * @returns {Promise<number>} CRC-32 of the last bytes in front of `end`, in their block, that are not zero, without what is deleted; 0 at the
 *   start of the file
 */
async function tieAt (read, end, blockSize, deletions) {
  if (end === 0) return 0
  const block = blockBefore(end, blockSize)
  const bytes = Buffer.from(await read(block, end - block))
  applyPatches(bytes, block, patchesOf(deletions.filter(deletion => deletion.block === block), blockSize))
  const tie = Buffer.alloc(TIE_SIZE)
  let from = TIE_SIZE
  for (let i = bytes.length - 1; i >= 0 && from > 0; i--) if (bytes[i] !== 0) tie[--from] = bytes[i]
  return crc32(tie.subarray(from))
}

/**
 * @param {number} end
 * @param {number} blockSize
 * @returns {number} offset of the block that has the byte in front of `end`
 */
function blockBefore (end, blockSize) {
  return end - 1 - (end - 1) % blockSize
}

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {Place} place
 * @param {Deletion[]} deletions
 * @returns {Promise<boolean>}
 */
async function isPlaceOf (read, size, { end, tie, blockSize }, deletions) {
  if (!(Number.isSafeInteger(end) && end >= 0 && end <= size)) return false
  try {
    return await tieAt(read, end, blockSize, deletions) === tie
  } catch (err) {
    // a writer has truncated the file since its size was read
    if (/** @type {NodeJS.ErrnoException} */ (err).code === 'EPARTIALREAD') return false
    throw err
  }
}

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {Metadata} metadata
 * @param {boolean} isHeld whether a writer is alive: what it has written is for the log that it has open
 * @returns {Promise<Metadata | null>} what is true of this file; null: nothing
 */
async function ownMetadata (read, size, metadata, isHeld) {
  const { next, deletions, clients } = metadata
  // a process was stopped just before or after another file got the log's name; where nothing ties it to a file, it is empty
  if (next !== null && (next.end > 0 || size === 0) && await isPlaceOf(read, size, next, [])) return { ...metadata, ...next, clients: { ...clients, ...next.clients }, deletions: [], next: null }
  return isHeld || await isPlaceOf(read, size, metadata, deletions) ? metadata : null
}

module.exports = { blockBefore, ownMetadata, tieAt }
