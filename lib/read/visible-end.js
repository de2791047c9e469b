'use strict'

// Where a log ends for a reader, while another process may have it open for writing, or may open it meanwhile.

const { findBlockSize } = require('../recovery/block-size')
const { openPoint, readOwn } = require('../recovery/recovery-point')
const { findWholeEnd } = require('../recovery/whole-runs')
const { DEFAULT_BLOCK_SIZE } = require('../options')

/** How often a file that keeps changing is read before an error counts: any program may write a file that is no log. */
const MAX_READS = 100

/**
 * @typedef {import('../storage/path-file').Io} Io
 * @typedef {import('../recovery/recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../storage/metadata-reader').Read} Own FILE.meta, if it belongs to the file
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 *
 * @typedef {object} VisibleEnd
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes; with a live writer, what that has acknowledged
 * @property {Own | null} own
 * @property {RecoveryPoint | null} point what `own` says of a log that is open, or was when its writer stopped
 * @property {import('../recovery/find-end').Found} found
 *
 * @typedef {object} VisibleEndOptions
 * @property {number | undefined} blockSize what the caller asked for
 * @property {boolean} checksum whether checksums are compared
 * @property {(data: Buffer) => boolean} isWhole whether a record's data seems to be as it was appended
 * @property {boolean} [large] as the option of a log
 * @property {number} [shown] the offset up to which records are shown already
 * @property {number} [told] the offset up to which this process was told that its own appends are acknowledged
 */

/**
 * @param {Io} io
 * @param {Read} read
 * @param {string} filename for messages
 * @param {VisibleEndOptions} options
 * @returns {Promise<VisibleEnd>} all of it as it was at one moment: nothing was rewritten while it was read
 */
async function findVisibleEnd (io, read, filename, options) {
  for (let reads = 1; ; reads++) {
    // before the size, which then includes everything that a live writer has acknowledged
    const own = await readOwn(io)
    const size = await io.size()
    try {
      const end = await endOf(read, filename, own, size, options)
      // otherwise a writer has opened or closed the log meanwhile, or deletes: what was read may not be acknowledged, or half-deleted
      if (isSame(own, await readOwn(io)) && (end.point?.isHeld || await io.size() >= size)) return end
    } catch (err) {
      // a writer's very first write may have been read half-done, or recovery has truncated the file, which has its size again by now
      const isUnchanged = /** @type {any} */ (err).code !== 'EPARTIALREAD' && isSame(own, await readOwn(io)) && size === await io.size()
      if (isUnchanged || reads === MAX_READS) throw err
    }
  }
}

/**
 * @param {Read} read
 * @param {string} filename
 * @param {Own | null} own
 * @param {number} size the file's, in bytes
 * @param {VisibleEndOptions} options
 * @returns {Promise<VisibleEnd>}
 */
async function endOf (read, filename, own, size, options) {
  const point = openPoint(own)
  // one of a log that starts behind it is that of the file to which a compaction has moved the log since: as if
  // closed, this one has all that was acknowledged by then
  const part = visiblePart(point !== null && point.start > size ? null : point, size, options.shown ?? 0, options.told)
  const blockSize = await findBlockSize(read, part.size, options.blockSize, DEFAULT_BLOCK_SIZE, filename, own?.metadata)
  const found = await findWholeEnd(read, part.size, part.point, { ...options, blockSize })
  return { blockSize, size: part.size, own, point, found }
}

/**
 * @param {RecoveryPoint | null} point
 * @param {number} size the file's, in bytes
 * @param {number} shown
 * @param {number} [told]
 * @returns {{ size: number, point: RecoveryPoint | null }} with a live writer, everything up to what that has acknowledged, and nothing of it is
 *   in doubt. Otherwise all of the file, as recovery would keep it; what is shown already is not validated again
 */
function visiblePart (point, size, shown, told = 0) {
  if (point === null) return { size, point }
  const known = Math.min(size, Math.max(point.offset, shown))
  if (!point.isHeld) return { size, point: { ...point, offset: known } }
  // what this process was told, the writer may not have been able to publish
  const end = Math.min(size, Math.max(point.acknowledged ?? known, told))
  return { size: end, point: { ...point, offset: end } }
}

/**
 * @param {Own | null} before
 * @param {Own | null} now
 * @returns {boolean}
 */
function isSame (before, now) {
  return before?.version === now?.version && before?.isHeld === now?.isHeld
}

module.exports = { findVisibleEnd, visiblePart }
