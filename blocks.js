// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// The blocks of a log, for programs that show, convert or check logs: below records, above bytes. docs/blocks.md describes it.

const { FileBlocks } = require('./lib/blocks/file-blocks')
const { LogBlocks } = require('./lib/blocks/log-blocks')
const newFile = require('./lib/blocks/new-file')
const { recordsOf, dataOf, startOfLarge } = require('./lib/blocks/stored-records')
const { closed, compacted, createError, copyDiffers, deleted, exists, existsBeside, invalid, isDirectory, mapClosed, noMatch, noRecordStarts, notFound, notRegular, overflow, readOnly, shrunk, thrown, trimmed } = require('./lib/errors')
const { detectBlockSize } = require('./lib/format/block-size')
const { checksumOf, storedChecksum } = require('./lib/format/checksum')
const chunk = require('./lib/format/chunk')
const { crc32 } = require('./lib/format/crc32')
const { isHole } = require('./lib/format/hole')
const layout = require('./lib/format/layout')
const { endOfRecords, findProblem, frameProblem } = require('./lib/format/validation')
const { isZeros } = require('./lib/format/zeros')
const { format, shorten } = require('./lib/format-value')
const { noCounts, tally } = require('./lib/maintenance/counts')
const { mustBePath, workFor } = require('./lib/maintenance/work')
const { optionNames } = require('./lib/option-names')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/blocks/log-blocks').Block} Block
 * @typedef {import('./lib/blocks/log-blocks').ScanRange} ScanRange
 * @typedef {import('./lib/blocks/log-blocks').WriterState} WriterState
 * @typedef {import('./lib/blocks/stored-records').Stored} Stored
 * @typedef {import('./lib/maintenance/counts').Counts} Counts
 * @typedef {import('./lib/maintenance/work').Work} Work
 * @typedef {import('./lib/maintenance/work').WorkOptions} WorkOptions
 * @typedef {import('./lib/maintenance/work').Progress} Progress
 */

/**
 * @param {import('./lib/types').FlumeLog<any, any> | import('./promises').FlumeLog<any, any>} log open, or being opened, with callbacks or with
 *   promises. What it gives is valid until it is closed
 * @returns {LogBlocks} its blocks as its readers see them, up to what is acknowledged
 * @throws flumelog:invalid if it is not a log in blocks
 */
function blocksOf (log) {
  return new LogBlocks(log)
}

/**
 * Reads the blocks of a file that need not be open as a log, corrupt ones too.
 * @param {string} file
 * @returns {Promise<FileBlocks>} the caller closes it. Rejects with `flumelog:not-a-log`, or with an error of the operating system
 */
async function openBlocks (file) {
  mustBePath('the file', file)
  return FileBlocks.open(file)
}

/** What makes the errors that several packages throw, and others. */
const errors = { closed, compacted, deleted, noMatch, overflow, readOnly, thrown, createError, copyDiffers, exists, existsBeside, invalid, isDirectory, mapClosed, noRecordStarts, notFound, notRegular, shrunk, trimmed }

module.exports = {
  blocksOf,
  openBlocks,
  recordsOf,
  dataOf,
  startOfLarge,
  LogBlocks,
  FileBlocks,
  noCounts,
  tally,
  // format.md in code: pure functions on bytes
  layout,
  chunk,
  checksumOf,
  storedChecksum,
  crc32,
  detectBlockSize,
  endOfRecords,
  findProblem,
  frameProblem,
  isHole,
  isZeros,
  // files that appear when they are complete
  newFile,
  // functions that take options, report their progress, and throw errors with a `code`
  errors,
  format,
  shorten,
  mustBePath,
  optionNames,
  workFor
}
