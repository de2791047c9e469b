'use strict'

// A client's records that the owner of a shared log stores in a row (a run) are all in the log or none, so that a client that sends them again
// sends all of them. A process that is killed in the middle of a write leaves some of them: the log ends where they start.

const { findEnd } = require('./find-end')
const { BACKUP } = require('./recovery-point')

/**
 * @param {import('../storage/metadata-text').ClientRuns} clients in FILE.meta
 * @param {number} end offset up to which the file has records
 * @param {number} acknowledged offset; what is before it was acknowledged to somebody
 * @returns {number} the end of the log without the part of a run
 */
function endOfWholeRuns (clients, end, acknowledged) {
  for (const runs of Object.values(clients)) {
    for (const [, , seq, runEnd] of runs) if (seq >= acknowledged && seq < end && end < runEnd) return seq
  }
  return end
}

/**
 * @param {import('./find-end').Read} read
 * @param {number} size the file's, in bytes
 * @param {import('./recovery-point').RecoveryPoint | null} point
 * @param {import('./find-end').FindOptions} options
 * @returns {Promise<import('./find-end').Found>} the end, which is not in the middle of what a client has sent
 */
async function findWholeEnd (read, size, point, options) {
  // of an atomic batch, a backup that was interrupted may have copied a part
  if (point?.writer.startsWith(BACKUP)) return { ...await findEnd(read, point.offset, point, options), cut: size - point.offset }
  const found = await findEnd(read, size, point, options)
  if (point === null) return found
  const end = endOfWholeRuns(point.clients, found.kept, Math.max(point.offset, point.acknowledged ?? 0))
  return end === found.kept ? found : { ...await findEnd(read, end, point, options), cut: size - end, dataEnd: found.dataEnd }
}

module.exports = { endOfWholeRuns, findWholeEnd }
