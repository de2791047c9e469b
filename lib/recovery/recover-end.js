'use strict'

// What a process does with a log's file before it writes to it: finds where the log ends, and recovers it after a crash.

const { ownMetadata, tieAt } = require('./belonging')
const { findBlockSize } = require('./block-size')
const { recover } = require('./recover')
const { generationOf, pointOf } = require('./recovery-point')
const { hasWhole, isRefusedByCodec } = require('./whole-records')
const { findWholeEnd } = require('./whole-runs')
const errors = require('../errors')
const { DEFAULT_BLOCK_SIZE } = require('../options')

/**
 * @param {import('../storage/path-file').Io} io
 * @param {string} filename for messages
 * @param {{ blockSize: number | undefined, checksum: boolean, isWhole: (data: Buffer) => boolean, large?: boolean }} options blockSize: what the caller asked for
 * @returns {Promise<{ blockSize: number, found: import('./find-end').Found, cut: import('../types').Cut | null, recovered: number,
 *   generation: import('../storage/metadata-text').Generation }>}
 *   cut: what was truncated. recovered: bytes behind the recovery point that were valid
 */
async function recoverEnd (io, filename, { blockSize: wanted, checksum, isWhole, large }) {
  const size = await io.size()
  const { metadata, point } = await loadMetadata(io, size)
  const blockSize = await findBlockSize(io.read, size, wanted, DEFAULT_BLOCK_SIZE, filename, metadata)
  const options = { blockSize, checksum, isWhole, large }
  const found = await findWholeEnd(io.read, size, point, options)
  // with another codec than the log's, nothing that was acknowledged since the last fsync would be whole
  if (found.cut > 0) await refuseWrongCodec(io, found, size, options, filename)
  const mustRecover = point !== null || found.cut > 0 || found.damagedTail !== null
  const cutName = mustRecover ? await recover(io, found, blockSize) : null
  const cut = found.cut > 0 ? { offset: found.kept, bytes: found.cut, filename: cutName } : null
  if (point !== null) await noteRecovered(io, found, blockSize)
  return { blockSize, found, cut, recovered: mustRecover ? found.recovered : 0, generation: generationOf(metadata) }
}

/**
 * @param {import('../storage/path-file').Io} io
 * @param {number} size the file's, in bytes
 * @returns {Promise<{ metadata: import('../storage/metadata-text').Metadata | null, point: import('./recovery-point').RecoveryPoint | null }>}
 *   metadata: null if there is none that belongs to the file. point: null if the log was closed
 */
async function loadMetadata (io, size) {
  await io.metadata.removeUnfinished()
  const found = await io.metadata.read()
  const own = found && await ownMetadata(io.read, size, found.metadata, false)
  io.metadata.load(own, found?.size ?? 0)
  if (found === null || own === null) return { metadata: null, point: null }
  if (found.metadata.next !== null) {
    // the compaction has ended: the directory says so durably before FILE.meta tells of one file only
    await io.metadata.syncName()
    io.metadata.distrust()
  }
  return { metadata: own, point: own.closed ? null : pointOf(own, found.version, found.published, false) }
}

/**
 * @param {import('../storage/path-file').Io} io
 * @param {import('./find-end').Found} found of a log that is to be truncated
 * @param {number} size the file's, in bytes
 * @param {import('./whole-records').RecoverOptions} options
 * @param {string} filename
 * @throws flumelog:invalid if nothing shows that the codec is the log's
 */
async function refuseWrongCodec (io, { kept, lastSeq }, size, options, filename) {
  const { blockSize } = options
  const position = kept % blockSize
  const start = kept - position
  if (!isRefusedByCodec(await io.read(start, Math.min(blockSize, size - start)), start, position, options)) return
  const before = lastSeq - lastSeq % blockSize
  if (lastSeq !== -1 && hasWhole(await io.read(before, Math.min(blockSize, kept - before)), options)) return
  throw errors.wrongCodec(filename, kept)
}

/**
 * The log is as if it had been closed. Without this, the next opening recovers it again.
 * @param {import('../storage/path-file').Io} io
 * @param {import('./find-end').Found} found
 * @param {number} blockSize
 */
async function noteRecovered (io, { start }, blockSize) {
  const { metadata } = io
  const end = await io.size()
  const before = /** @type {import('../storage/metadata-text').Metadata} */ (metadata.metadata)
  const place = { end, tie: await tieAt(io.read, end, blockSize, []), start, freed: start, blockSize, dropped: Number.MAX_SAFE_INTEGER }
  try {
    // not appended: of what another process has written, a power cut may have taken a part, and an fsync that failed may leave one out
    await metadata.replace({ ...before, ...place, deletions: [], next: null })
    metadata.append({ closed: true }, true)
  } catch {
    // on a full disk: the writer must not append to it, or it would list deletions that the file has as if they were its own
    metadata.distrust()
  }
}

module.exports = { loadMetadata, recoverEnd }
