'use strict'

// What the log's file lacks of the deletions that FILE.meta lists.

const { applyPatches, patchesOf } = require('../format/deletions')

/**
 * @typedef {import('./recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../format/deletions').Patch} Patch
 * @typedef {import('./find-end').Read} Read
 */

/**
 * @param {RecoveryPoint | null} point
 * @param {number} blockSize
 * @returns {{ patches: Patch[], deleted: Set<number> }} deleted: seqs of the records that are deleted one by one
 */
function ownPatches (point, blockSize) {
  if (point === null) return { patches: [], deleted: new Set() }
  // of what is trimmed, nothing has to be deleted
  const deletions = point.deletions.filter(({ block }) => block >= point.start)
  return { patches: patchesOf(deletions, blockSize), deleted: new Set(deletions.flatMap(({ records }) => records.map(({ seq }) => seq))) }
}

/**
 * A deletion can be durable when the records that it deletes are not: written beyond the log's end, its bytes would extend the file.
 * @param {Patch[]} patches
 * @param {number} end of the log
 * @returns {Patch[]}
 */
function patchesBefore (patches, end) {
  return patches.filter(({ offset }) => offset < end).map(({ offset, data }) => ({ offset, data: data.subarray(0, end - offset) }))
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

module.exports = { ownPatches, patchesBefore, withPatches }
