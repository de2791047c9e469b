// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Reads the files of other logs and of lines, imports them, and exports logs to them, as the commands `import` and `export` do.

const { mustBePath } = require('flumelog-random-access-file/blocks')
const { exportLog: writeExport } = require('./lib/export-log')
const { formatOf } = require('./lib/formats')
const { importLog: writeImport } = require('./lib/import-log')
const maps = require('./lib/import-map')
const { OldFile } = require('./lib/old-file')
const { mustHaveNoIndexes, oldIndexes } = require('./lib/old-indexes')
const { exportOptions, importOptions, mustBeOldBlockSize, readOptions } = require('./lib/options')
const records = require('./lib/read-records')

/**
 * @typedef {import('flumelog-random-access-file').LogError} LogError
 * @typedef {import('flumelog-random-access-file').SystemError} SystemError
 * @typedef {import('flumelog-random-access-file').ErrorCode} ErrorCode
 * @typedef {import('./lib/formats').Format} Format
 * @typedef {import('./lib/import-log').Imported} Imported
 * @typedef {import('./lib/import-map').ImportMapMembers} ImportMap
 * @typedef {import('./lib/options').ImportOptions} ImportOptions
 * @typedef {import('./lib/options').ReadOptions} ReadOptions
 * @typedef {import('./lib/options').ExportOptions} ExportOptions
 * @typedef {import('./lib/read-records').OldRecord} OldRecord
 * @typedef {import('./lib/reader').Torn} Torn
 * @typedef {import('./lib/export-log').Exported} Exported
 * @typedef {import('flumelog-random-access-file/blocks').Progress} Progress
 */

/**
 * Which format does a file have?
 * @param {string} file of flumelog-offset, flumelog-aligned-offset (or this package), async-append-only-log, of JSON lines or CSV
 * @param {{ oldBlockSize?: number }} [options] bytes per block of a file of async-append-only-log, if it is not a usual one
 * @returns {Promise<Format>} Rejects with `flumelog:not-a-log` if it is none of these, with `flumelog:invalid` if it could be several,
 *   or with an error of the operating system
 */
async function detectFormat (file, { oldBlockSize } = {}) {
  mustBePath('the file', file)
  mustBeOldBlockSize(oldBlockSize)
  const old = await OldFile.open(file)
  try {
    return (await formatOf(old, undefined, oldBlockSize)).format
  } finally {
    await old.close()
  }
}

/**
 * Reads the records of another log's file, of JSON lines, or of CSV, whose rows become JSON objects. The file is only read; what is appended
 * to it after the call may be missing. At the end of a file, what an interrupted write has left is ignored.
 * @param {string} file
 * @param {ReadOptions} [options]
 * @returns {AsyncGenerator<OldRecord, void, void>} Rejects with `flumelog:corrupt` if records follow that are not whole, with
 *   `flumelog:invalid` at a line that is not JSON, and as `detectFormat` does
 */
function readRecords (file, options) {
  const work = readOptions(options ?? {})
  mustBePath('the file', file)
  return records.readRecords(file, options ?? {}, work)
}

/**
 * Imports a file that `readRecords` can read into a new log. The old file is only read. The new one appears when it is complete, fsynced,
 * and has been read back; until then it is `TARGET.importing`, which the next import removes if this one is killed.
 * @param {string} file
 * @param {string} target the new log, where no file is (`EEXIST`); missing parent directories are created. Beside it,
 *   `TARGET.import-map` tells where records are now; see `openImportMap`
 * @param {ImportOptions} [options]
 * @returns {Promise<Imported>} what was imported. Rejects with `flumelog:too-large` or `flumelog:invalid` if a record cannot be stored
 *   and `skip` is not given, with `flumelog:locked` if another process imports into the same log, with `flumelog:corrupt` also if the new
 *   log differs when it is read back, and as `readRecords` does
 */
async function importLog (file, target, options) {
  const { work, settings } = importOptions(options ?? {})
  mustBePath('the file', file)
  mustBePath('the target', target)
  if (!settings.keepIndexes) await mustHaveNoIndexes(target, async () => settings.from ?? await detectFormat(file))
  return writeImport(file, target, settings, work)
}

/**
 * Opens the map that an import has left, to find records by their offsets in the old file. It is right for as long as
 * the new log is not compacted.
 * @param {string} target the log that was imported
 * @returns {Promise<ImportMap>} the caller closes it. Rejects with `flumelog:invalid` if it is no map, or with `ENOENT`
 */
async function openImportMap (target) {
  mustBePath('the target', target)
  return maps.ImportMap.open(target)
}

/**
 * Exports a log, of which other processes may have it open, to a file of another format. Deleted records are left out.
 * @param {string} file
 * @param {string} target where no file is (`EEXIST`); it appears when it is complete and fsynced
 * @param {ExportOptions} options
 * @returns {Promise<Exported>} what was exported. Rejects with `flumelog:invalid` if a record cannot be in this format, with
 *   `flumelog:too-large` if it, or the file, is too large for it, with `flumelog:corrupt`, or with an error of the operating system
 */
async function exportLog (file, target, options) {
  const work = exportOptions(options ?? {})
  mustBePath('the file', file)
  mustBePath('the target', target)
  return writeExport(file, target, options, work)
}

module.exports = { oldIndexes, detectFormat, readRecords, importLog, openImportMap, exportLog }
