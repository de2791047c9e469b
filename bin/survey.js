'use strict'

// Shared by stat, verify and repair: shows the progress of a maintenance function, and describes what is
// corrupt.

const maintenance = require('../maintenance')
const { byteProgress } = require('./progress')
const { counted } = require('./numbers')

/** @typedef {import('../maintenance').Report} Report */
/** @typedef {import('../maintenance').Range} Range */

/**
 * @param {string} file
 * @param {string} verb shown with the progress
 * @param {boolean} [quiet] no progress is shown
 * @returns {Promise<Report>}
 */
function survey (file, verb, quiet) {
  return withProgress((onProgress) => maintenance.verify(file, { onProgress }), { verb, quiet })
}

/**
 * @template T
 * @param {(onProgress: (progress: import('../maintenance').Progress) => void) => Promise<T>} work
 * @param {{ verb?: string, quiet?: boolean }} [options] verb: shown instead of the names of steps. quiet: nothing is shown
 * @returns {Promise<T>}
 */
async function withProgress (work, { verb, quiet } = {}) {
  if (quiet) return await work(() => {})
  let bar = byteProgress('')
  let current = ''
  try {
    return await work(({ step, bytes, total }) => {
      if (step !== current) {
        bar.stop()
        bar = byteProgress(verb ?? step)
        current = step
      }
      bar.update(bytes, total)
    })
  } finally {
    bar.stop()
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

/**
 * Of the records of a block that was freed, nobody knows the number any more.
 * @param {number} records deleted ones in other blocks
 * @param {number} blocks freed ones
 * @param {string} noun a deleted record
 * @returns {string}
 */
function describeDeleted (records, blocks, noun) {
  if (blocks === 0) return counted(records, noun)
  return `${records === 0 ? '' : `${counted(records, noun)} and `}${counted(blocks, 'freed block')}`
}

module.exports = { describeDeleted, survey, withProgress, describeRange }
