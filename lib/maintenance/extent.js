'use strict'

// A log's file, opened to read all of it, valid or not, and where the log in it ends.

const errors = require('../errors')
const { pathFile } = require('../storage/path-file')
const { findVisibleEnd } = require('../read/visible-end')
const { findEnd } = require('../recovery/find-end')
const { readPoint } = require('../recovery/recovery-point')
const { ownPatches, withPatches } = require('../recovery/own-patches')

/** The unit in which a disk reads, or fails to. */
const SECTOR_SIZE = 4096
/** How often the end of the log is searched again if it seems torn while the file changes. */
const END_RETRIES = 20
/** How often, in total, blocks are read again that another process may be rewriting. */
const BLOCK_RETRIES = 200

/**
 * @typedef {import('../storage/path-file').Io} Io
 * @typedef {(offset: number, size: number) => Promise<Buffer>} Read
 *
 * @typedef {object} Extent
 * @property {Io} io
 * @property {string} filename
 * @property {number} blockSize in bytes
 * @property {number} size the file's, in bytes; with a live writer, the acknowledged offset: bytes
 *   behind it are being written
 * @property {number} start of the log; nothing before it is read
 * @property {number} trimmed up to here the log is known to have been trimmed since
 * @property {number} end of the log; bytes behind it are no whole record
 * @property {import('../recovery/recovery-point').RecoveryPoint | null} point if it was made for this file
 * @property {boolean} closed false: a writer has the log open, or stopped without closing it
 * @property {boolean} open a writer is known to have the log open
 * @property {Read} read as if deletions that were interrupted were complete
 * @property {import('../recovery/find-end').Found} found with what the file lacks of deletions and a trim that were interrupted
 * @property {number} retries how often blocks that seem corrupt may still be read again
 */

/**
 * @param {import('../storage/path-file').LogFile} file not open
 * @param {boolean} [exclusive] no other process can change it, since `file` takes the lock
 * @returns {Promise<Extent>} the caller closes its `io`
 */
async function openExtent (file, exclusive = false) {
  const { io } = file
  await io.open()
  try {
    return await readExtent(io, file.filename, exclusive)
  } catch (err) {
    await io.close().catch(() => {})
    throw err
  }
}

/**
 * @param {Io} io open
 * @param {string} filename
 * @param {boolean} exclusive
 * @returns {Promise<Extent>}
 */
async function readExtent (io, filename, exclusive) {
  const { blockSize, size, point, found } = await findEndOnceQuiet(io, filename)
  return {
    io,
    filename,
    blockSize,
    size,
    start: found.start,
    trimmed: found.start,
    end: found.kept,
    point: found.point,
    closed: point === null,
    open: point !== null && point.isHeld,
    read: withPatches(io.read, found.patches),
    found,
    retries: exclusive ? 0 : BLOCK_RETRIES
  }
}

/**
 * Before a file is opened for writing, which would create it.
 * @param {string} filename
 */
async function assertLog (filename) {
  const extent = await openExtent(pathFile(filename, { readOnly: true, lock: false }))
  await extent.io.close()
}

/**
 * Where a live writer cannot be detected, the file may end within a record that is complete a
 * moment later.
 * @param {Io} io
 * @param {string} filename
 */
async function findEndOnceQuiet (io, filename) {
  /** @type {Error | null} */
  let failure = null
  const read = readableParts(io, filename, (err) => { failure ??= err })
  for (let tries = 1; ; tries++) {
    const end = await findVisibleEnd(io, read, filename, { blockSize: undefined, checksum: true, isWhole: () => true }).catch((err) => {
      // nobody knows what the sectors have that could not be read
      throw err.code === 'flumelog:not-a-log' ? failure ?? err : err
    })
    if (end.found.cut === 0 || tries === END_RETRIES || await io.size() === end.size) return end
  }
}

/**
 * A disk that is failing cannot read some of its sectors.
 * @param {Io} io
 * @param {string} filename
 * @param {(err: Error) => void} [onfailure] called when a read fails
 * @returns {Read} zeros stand for these
 */
function readableParts (io, filename, onfailure = () => {}) {
  return async (offset, size) => {
    try {
      return await io.read(offset, size)
    } catch (err) {
      await assertNotShrunk(io, filename, offset + size)
      onfailure(/** @type {Error} */ (err))
    }
    const bytes = Buffer.alloc(size)
    for (let at = 0; at < size;) {
      const next = Math.min(size, at + SECTOR_SIZE - (offset + at) % SECTOR_SIZE)
      const sector = await io.read(offset + at, next - at).catch(() => null)
      if (sector !== null) sector.copy(bytes, at)
      at = next
    }
    return bytes
  }
}

/**
 * @param {Io} io
 * @param {string} filename
 * @param {number} size that it had
 */
async function assertNotShrunk (io, filename, size) {
  const now = await io.size()
  if (now < size) throw errors.shrunk(filename, size, now)
}

/**
 * After another process has deleted or trimmed more.
 * @param {Extent} extent is updated
 * @returns {Promise<boolean>} whether a writer has the log open, or stopped without closing it
 */
async function refresh (extent) {
  const { io, blockSize } = extent
  const found = await readPoint(io)
  const size = await io.size()
  // that of the file to which a compaction has moved the log: as if closed, this one has all that was deleted and trimmed by then
  const point = found !== null && found.offset > size ? null : found
  const { patches } = ownPatches(point, blockSize)
  extent.read = withPatches(io.read, patches)
  extent.trimmed = Math.max(extent.trimmed, await startOf(extent, size, point))
  return found !== null
}

/**
 * @param {Extent} extent
 * @param {number} size the file's, in bytes
 * @param {import('../recovery/recovery-point').RecoveryPoint | null} point
 * @returns {Promise<number>} where the log starts
 */
async function startOf ({ io, filename, blockSize }, size, point) {
  if (point !== null) return point.start
  const read = readableParts(io, filename)
  const options = { blockSize, checksum: true, isWhole: () => true }
  return (await findEnd(read, size, null, options)).start
}

module.exports = { openExtent, readExtent, assertLog, assertNotShrunk, refresh }
