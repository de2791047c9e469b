'use strict'

// What a process does with a log's file before it writes to it: finds where the log ends,
// and recovers it after a crash.

const { findBlockSize } = require('./block-size')
const { countOnOpening, countToLeave } = require('./count-records')
const { findEnd } = require('./find-end')
const { recover } = require('./recover')
const { DEFAULT_BLOCK_SIZE } = require('../options')

/**
 * @param {import('../storage/promisified-file').Io} io
 * @param {string | null} filename for messages
 * @param {{ blockSize: number | undefined, checksum: boolean, isWhole: (data: Buffer) => boolean, large?: boolean, smallLog?: number,
 *   retain?: import('../space/retain-options').RetainOptions | null }} options blockSize: what the caller asked for. smallLog: see `countOnOpening`
 * @returns {Promise<{ blockSize: number, found: import('./find-end').Found, cut: import('../types').Cut | null, recovered: number,
 *   counted: import('./count-records').Counted }>}
 *   cut: what was truncated. recovered: bytes behind the recovery point that were valid
 */
async function recoverEnd (io, filename, { blockSize: wanted, checksum, isWhole, large, smallLog, retain }) {
  const [size, point] = await Promise.all([io.size(), io.readPoint()])
  const blockSize = await findBlockSize(io.read, size, wanted, DEFAULT_BLOCK_SIZE, filename, point, io.hasPoint)
  const found = await findEnd(io.read, size, point, { blockSize, checksum, isWhole, large, canHavePoint: io.hasPoint, lastNonZero: io.lastNonZero })
  const mustRecover = point !== null || found.cut > 0 || found.damagedTail !== null
  const cutName = mustRecover ? await recover(io, found, blockSize) : null
  // of a storage, nothing tells whether it was closed: what a killed process wrote may not be durable
  if (!io.hasPoint && !mustRecover && size > 0) await io.sync()
  const cut = found.cut > 0 ? { offset: found.kept, bytes: found.cut, filename: cutName } : null
  // with large records, retention counts otherwise
  const counted = await countOnOpening(io, found, blockSize, smallLog, retain?.records !== undefined && !large)
  if (mustRecover) {
    await io.writeCount(countToLeave(counted.records, found.kept - found.start, smallLog))
    await io.removePoint()
  }
  return { blockSize, found, cut, recovered: mustRecover ? found.recovered : 0, counted }
}

module.exports = { recoverEnd }
