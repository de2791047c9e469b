'use strict'

// What a log's file has yet to get, by the recovery point beside it.

const { applyPatches, ownDeletions, patchesOf } = require('./deletions')

/**
 * @typedef {import('../storage/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('./deletions').Patch} Patch
 * @typedef {import('./deletions').Read} Read
 */

/**
 * @param {Read} read
 * @param {number} size the file's, in bytes
 * @param {RecoveryPoint | null} point
 * @param {number} blockSize
 * @returns {Promise<{ patches: Patch[], deleted: Set<number>, isComplete: boolean }>} patches: of deletions that were made for this
 *   file, if it has any others. deleted: seqs of their records. isComplete: all were made for this file
 */
async function ownPatches (read, size, point, blockSize) {
  if (point === null) return { patches: [], deleted: new Set(), isComplete: true }
  const { start = 0 } = point
  // of what is trimmed, nothing has to be deleted
  const listed = point.deletions.filter(({ block }) => block >= start)
  // a live writer made them for the log that it has open
  const deletions = point.isHeld ? listed : await ownDeletions(read, size, listed, blockSize)
  return {
    patches: patchesOf(deletions, blockSize),
    deleted: new Set(deletions.flatMap(({ records }) => records.map(({ seq }) => seq))),
    isComplete: deletions.length === listed.length
  }
}

/**
 * @param {Read} read
 * @param {Patch[]} patches
 * @returns {Read} reads as if the file had them
 */
function withPatches (read, patches) {
  if (patches.length === 0) return read
  return async (offset, size) => applyPatches(await read(offset, size), offset, patches)
}

module.exports = { ownPatches, withPatches }
