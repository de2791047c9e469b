'use strict'

// The recovery point of a log that is open, or was when its writer stopped: what FILE.meta says of it.

const { ownMetadata } = require('./belonging')

/** Of a log that was never compacted. */
const FIRST_ID = '0'
/** FILE.meta names a backup in progress as the writer: what follows the recovery point is an incomplete copy then. */
const BACKUP = 'backup '

/**
 * @typedef {object} RecoveryPoint
 * @property {number} offset up to here everything was durable when this was written
 * @property {number} blockSize in bytes
 * @property {import('../format/deletions').Deletion[]} deletions that the file may not have yet, in the order in which they were made
 * @property {number} start of the log
 * @property {number} freed up to here the blocks before `start` are known to be zeros
 * @property {string} version of FILE.meta
 * @property {string} generation another one after each compaction
 * @property {string} writer another one each time the log is opened
 * @property {number} dropped the highest number of a deletion of this writer that is not listed any more: the file has it
 * @property {number | null} acknowledged up to here the writer has acknowledged appends, if it is alive; null: not known
 * @property {import('../storage/metadata-text').ClientRuns} clients of a shared log
 * @property {boolean} isHeld whether its writer is alive; false if that cannot be known here
 */

/**
 * @param {import('../storage/path-file').Io} io
 * @returns {Promise<import('../storage/metadata-reader').Read | null>} null: there is no FILE.meta that belongs to the file
 */
async function readOwn (io) {
  for (;;) {
    const found = await io.metadata.read()
    if (found === null) return null
    // a live writer has written it for the log that it has open
    if (found.isHeld && found.metadata.next === null) return found
    const metadata = await ownMetadata(io.read, await io.size(), found.metadata, found.isHeld)
    if (metadata !== null && metadata.next === null) return { ...found, metadata }
    // it does not match this file, or a writer has deleted the record that ties it to the file, after it had written that here
    if ((await io.metadata.read())?.version === found.version) return metadata && { ...found, metadata }
  }
}

/**
 * @param {import('../storage/path-file').Io} io
 * @returns {Promise<RecoveryPoint | null>} null: the log was closed, or there is no FILE.meta that belongs to the file
 */
async function readPoint (io) {
  return openPoint(await readOwn(io))
}

/**
 * @param {import('../storage/metadata-reader').Read | null} own
 * @returns {RecoveryPoint | null} null: the log was closed, or there is no FILE.meta that belongs to the file
 */
function openPoint (own) {
  return own === null || own.metadata.closed ? null : pointOf(own.metadata, own.version, own.published, own.isHeld)
}

/**
 * @param {import('../storage/metadata-text').Metadata | undefined | null} own of the file
 * @returns {import('../storage/metadata-text').Generation} which generation of the log it is
 */
function generationOf (own) {
  return { id: own?.id ?? FIRST_ID, base: own?.base ?? 0 }
}

/**
 * @param {import('../storage/metadata-text').Metadata} own of this file
 * @param {string} version
 * @param {number | null} published
 * @param {boolean} isHeld
 * @returns {RecoveryPoint}
 */
function pointOf ({ id: generation, end, blockSize, deletions, start, freed, writer, dropped, clients }, version, published, isHeld) {
  // what is published of another file is less
  const acknowledged = published === null ? null : Math.max(published, end)
  return { offset: end, blockSize, deletions, start, freed, version, generation, writer, dropped, acknowledged, clients, isHeld }
}

module.exports = { BACKUP, FIRST_ID, generationOf, openPoint, pointOf, readOwn, readPoint }
