'use strict'

// Where a log ends for a reader that opens it, while another process may have it open for
// writing, or may open it meanwhile.

const { findBlockSize } = require('../recovery/block-size')
const { findEnd } = require('../recovery/find-end')
const { readPoint } = require('../recovery/recovery-point')
const { DEFAULT_BLOCK_SIZE } = require('../options')
const { visiblePart } = require('./visible-tail')

/** How often a file that keeps changing is read before an error counts: any program may write a file that is no log. */
const MAX_READS = 100

/**
 * @typedef {import('../storage/promisified-file').Io} Io
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 *
 * @typedef {object} VisibleEnd
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes; with a live writer, what that has acknowledged
 * @property {RecoveryPoint | null} point
 * @property {import('../recovery/find-end').Found} found
 *
 * @typedef {object} VisibleEndOptions
 * @property {number | undefined} blockSize what the caller asked for
 * @property {boolean} checksum whether checksums are compared
 * @property {(data: Buffer) => boolean} isWhole whether a record's data seems to be as it was appended
 * @property {boolean} [large] as the option of a log
 */

/**
 * @param {Io} io
 * @param {Read} read
 * @param {string | null} filename for messages
 * @param {VisibleEndOptions} options
 * @returns {Promise<VisibleEnd>}
 */
async function findVisibleEnd (io, read, filename, options) {
  for (let reads = 1; ; reads++) {
    // before the size, which then includes everything that a live writer has acknowledged
    const point = await readPoint(io)
    const size = await io.size()
    try {
      const end = await endOf(io, read, filename, point, size, options)
      // otherwise a writer has opened or closed the log meanwhile, or both: what was read may not be acknowledged
      if (point?.isHeld || (isSame(point, await readPoint(io)) && await io.size() >= size)) return end
    } catch (err) {
      // a writer's very first write may have been read half-done, or recovery has truncated the file
      const isUnchanged = isSame(point, await readPoint(io)) && size === await io.size()
      if (isUnchanged || reads === MAX_READS) throw err
    }
  }
}

/**
 * @param {Io} io
 * @param {Read} read
 * @param {string | null} filename
 * @param {RecoveryPoint | null} point
 * @param {number} size the file's, in bytes
 * @param {VisibleEndOptions} options
 * @returns {Promise<VisibleEnd>}
 */
async function endOf (io, read, filename, point, size, options) {
  // one of a log that starts behind it is that of the file to which a compaction has moved the log since: as if
  // closed, this one has all that was acknowledged by then
  const part = visiblePart(point !== null && point.start > size ? null : point, size)
  const blockSize = await findBlockSize(read, part.size, options.blockSize, DEFAULT_BLOCK_SIZE, filename, point, io.hasMetadata)
  const found = await findEnd(read, part.size, part.point, { ...options, blockSize, canHavePoint: io.hasMetadata, lastNonZero: io.lastNonZero })
  return { blockSize, size: part.size, point, found }
}

/**
 * @param {RecoveryPoint | null} before
 * @param {RecoveryPoint | null} now
 * @returns {boolean}
 */
function isSame (before, now) {
  return before?.id === now?.id && before?.isHeld === now?.isHeld
}

module.exports = { findVisibleEnd }
