// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Verifies and repairs the file of a log, and makes one of a backup, as the commands of these names do. Reads offset maps.

const { pathFile } = require('./lib/storage/path-file')
const offsetMap = require('./lib/maintenance/open-offset-map')
const repairFile = require('./lib/maintenance/repair')
const restoreFile = require('./lib/backup/restore')
const verifyFile = require('./lib/maintenance/verify')
const { mustBePath, workFor } = require('./lib/work')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/maintenance/verify').Report} Report
 * @typedef {import('./lib/maintenance/counts').Counts} Counts
 * @typedef {import('./lib/maintenance/ranges').Range} Range
 * @typedef {import('./lib/maintenance/copy').Copied} Copied
 * @typedef {import('./lib/maintenance/repair').Repaired} Repaired
 * @typedef {import('./lib/backup/restore').Restored} Restored
 * @typedef {import('./lib/backup/restore').RestoreOptions} RestoreOptions
 * @typedef {import('./lib/maintenance/open-offset-map').OffsetMapMembers} OffsetMap
 * @typedef {import('./lib/work').Progress} Progress
 * @typedef {import('./lib/work').WorkOptions} VerifyOptions
 * @typedef {import('./lib/maintenance/repair').RepairOptions} RepairOptions
 */

const verifyWork = workFor('verify', [])

/**
 * Reads all of a log, and checks every block: by its checksum, if it has one, and by its structure. Changes nothing, and needs no
 * lock: a log that another process has open is read up to what is acknowledged.
 * @param {string} file
 * @param {VerifyOptions} [options]
 * @returns {Promise<Report>} whether the log is valid, what it consists of, and which ranges are corrupt or torn.
 *   Rejects with `flumelog:not-a-log` if not one record is found, with `flumelog:invalid`, with an error of the operating system, or
 *   with the reason of the signal
 */
async function verify (file, options) {
  const work = verifyWork(options ?? {})
  mustBePath('the file', file)
  return verifyFile.verify(pathFile(file, { readOnly: true, lock: false }), work.begin('verify'))
}

/**
 * Writes a valid copy of a corrupt log, with all records of valid blocks, beside the log or in its place. Nothing is written if the
 * log is valid. The old file is not changed; `inPlace` renames it, and completes
 * deletions in it that a crash has interrupted.
 * @param {string} file
 * @param {RepairOptions} [options]
 * @returns {Promise<Repaired>} what was found, and what was written where. Rejects, with nothing written, with `flumelog:locked` if a
 *   process has the log open for writing, with `flumelog:corrupt` if the copy differs when it is read back, and as `verify` does
 */
async function repair (file, options) {
  return repairFile.repair(file, options ?? {})
}

/**
 * Makes a log of a backup, which `log.backup` has made. The file appears when it is complete, fsynced and verified.
 * @param {string} backup
 * @param {string} file a path where no log is, nor a file of an earlier one (`EEXIST`), unless `force` replaces it; missing parent directories
 *   are created
 * @param {RestoreOptions} [options]
 * @returns {Promise<Restored>} what was restored. Rejects, with the file as it was, with `flumelog:corrupt` if the backup is, with
 *   `flumelog:locked` if a process has the backup, or the log that is to be replaced, open for writing, and as `verify` does
 */
async function restore (backup, file, options) {
  return restoreFile.restore(backup, file, options ?? {})
}

/**
 * Opens the map that the last compaction of a log has left beside it (`FILE.offset-map`), to find records by seqs that were stored before it.
 * Needs no lock; it stays valid if the log is compacted again, as the map of that compaction.
 * @param {string} file the log
 * @returns {Promise<OffsetMap | null>} the caller closes it; null: the log was never compacted, or has no map. Rejects with
 *   `flumelog:not-a-log`, or with an error of the operating system; its `map` rejects with `flumelog:corrupt` if the part that is asked for is
 */
async function openOffsetMap (file) {
  mustBePath('the file', file)
  return offsetMap.openOffsetMap(file)
}

module.exports = { verify, repair, restore, openOffsetMap }
