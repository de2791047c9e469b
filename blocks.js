// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// The blocks of a log, for programs that show, convert or check logs: below records, above bytes. docs/blocks.md describes it.

const { callAll, mustBeFunction, optional, promised, rethrowLater } = require('./lib/callbacks')
const { CopiedLog } = require('./lib/blocks/copied-log')
const { FileBlocks } = require('./lib/blocks/file-blocks')
const { LogBlocks } = require('./lib/blocks/log-blocks')
const files = require('./lib/blocks/files')
const { recordsOf, dataOf, startOfLarge } = require('./lib/blocks/stored-records')
const { closed, compacted, conflict, createError, copyDiffers, deleted, exists, existsBeside, invalid, isDirectory, mapClosed, noMatch, noRecordStarts, notFound, notRegular, readOnly, shrunk, thrown, trimmed } = require('./lib/errors')
const { detectBlockSize } = require('./lib/format/block-size')
const { checksumOf, storedChecksum } = require('./lib/format/checksum')
const chunk = require('./lib/format/chunk')
const { crc32 } = require('./lib/format/crc32')
const { isHole } = require('./lib/format/hole')
const layout = require('./lib/format/layout')
const lines = require('./lib/format/lines')
const { endOfRecords, findProblem, frameProblem } = require('./lib/format/validation')
const { isZeros } = require('./lib/format/zeros')
const { format, shorten } = require('./lib/format-value')
const { noCounts, tally } = require('./lib/maintenance/counts')
const { mustBePath, workFor } = require('./lib/work')
const { optionNames } = require('./lib/option-names')
const { onAbort } = require('./lib/signal')

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
 * @typedef {import('./lib/work').Work} Work
 * @typedef {import('./lib/work').WorkOptions} WorkOptions
 * @typedef {import('./lib/work').Progress} Progress
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

/** Functions of callers: they are called, checked, and made promises. */
const callbacks = { callAll, mustBeFunction, optional, promised, rethrowLater }

/** What makes the errors that several packages throw, and others. */
const errors = { closed, compacted, conflict, deleted, noMatch, readOnly, thrown, createError, copyDiffers, exists, existsBeside, invalid, isDirectory, mapClosed, noRecordStarts, notFound, notRegular, shrunk, trimmed }

module.exports = {
  blocksOf,
  openBlocks,
  recordsOf,
  dataOf,
  startOfLarge,
  LogBlocks,
  CopiedLog,
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
  lines,
  // files that appear, or are replaced, when they are complete
  files,
  // functions that take options, callbacks and signals, report their progress, and throw errors with a `code`
  callbacks,
  errors,
  format,
  shorten,
  mustBePath,
  onAbort,
  optionNames,
  workFor
}
