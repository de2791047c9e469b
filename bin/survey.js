'use strict'

// Shared by stat, verify and repair: scans all blocks of a file, and describes what is
// corrupt.

const { pathFile } = require('../lib/storage/path-file')
const { verify } = require('../lib/maintenance/verify')
const { byteProgress } = require('./progress')
const { counted } = require('./numbers')

/** @typedef {import('../lib/maintenance/verify').Report} Report */
/** @typedef {import('../lib/maintenance/verify').Range} Range */

/**
 * @param {string} file
 * @param {string} verb shown with the progress
 * @returns {Promise<Report>}
 */
async function survey (file, verb) {
  const progress = byteProgress(verb)
  try {
    return await verify(pathFile(file, { readOnly: true, lock: false }), progress.update)
  } finally {
    progress.stop()
  }
}

/**
 * @param {Range} range
 * @param {number} blockSize
 * @returns {string}
 */
function describeRange ({ kind, start, end, blocks, offset, reason }, blockSize) {
  const first = Math.floor(start / blockSize)
  const where = kind === 'torn' ? counted(end - start, 'byte') : blocks === 1 ? `block ${first}` : `blocks ${first} to ${first + blocks - 1}`
  return `${start} to ${end}, ${where}: ${reason}${offset === start ? '' : ` (at ${offset})`}`
}

module.exports = { survey, describeRange }
