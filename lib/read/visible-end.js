'use strict'

// Where a log ends for one who opens it only to read it, while another process may have it
// open for writing.

const { findBlockSize } = require('../recovery/block-size')
const { findEnd } = require('../recovery/find-end')
const { DEFAULT_BLOCK_SIZE } = require('../options')
const { visiblePart } = require('./visible-tail')

/**
 * @typedef {object} VisibleEnd
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes; with a live writer, what that has acknowledged
 * @property {import('../storage/recovery-point').RecoveryPoint | null} point
 * @property {import('../recovery/find-end').Found} found
 */

/**
 * @param {import('../storage/promisified-file').Io} io
 * @param {(offset: number, size: number) => Promise<Buffer>} read
 * @param {string | null} filename for messages
 * @param {{ blockSize: number | undefined, checksum: boolean, isWhole: (data: Buffer) => boolean }} options
 *   `blockSize`: what the caller asked for
 * @returns {Promise<VisibleEnd>}
 */
async function findVisibleEnd (io, read, filename, options) {
  for (;;) {
    // before the size: all that a live writer has acknowledged is in the file then
    const point = await io.readPoint()
    const part = visiblePart(point, await io.size())
    const blockSize = await findBlockSize(read, part.size, options.blockSize, DEFAULT_BLOCK_SIZE, filename, point)
    const found = await findEnd(read, part.size, part.point, { ...options, blockSize, canHavePoint: io.hasPoint, lastNonZero: io.lastNonZero })
    if (point?.isHeld || isSame(point, await io.readPoint())) return { blockSize, size: part.size, point, found }
    // a writer has opened or closed the log meanwhile: what was read may not be acknowledged
  }
}

/**
 * @param {import('../storage/recovery-point').RecoveryPoint | null} before
 * @param {import('../storage/recovery-point').RecoveryPoint | null} now
 */
function isSame (before, now) {
  return before?.id === now?.id && before?.isHeld === now?.isHeld
}

module.exports = { findVisibleEnd }
