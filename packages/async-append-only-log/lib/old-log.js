'use strict'

// A file of async-append-only-log in the place of the log: recognized, and imported if the caller wants that. The old file is
// renamed first, so that an import that was interrupted starts again at the next opening.

const fs = require('fs')
const path = require('path')
const { detectFormat, importLog, oldIndexes } = require('flumelog-convert')
const errors = require('./errors')
const { files, format } = require('flumelog-random-access-file/blocks')

const SUFFIX = '.async-append-only-log'
/** Of a file that an import leaves beside the log. */
const IMPORT_MAP = '.import-map'
const FORMAT = 'async-append-only-log'
/** Bytes; blocks of async-append-only-log are so large, or a multiple, where the caller does not say how large. */
const LEAST_BLOCK = 1024
/** Bytes; the least that is tried because the caller says so: by chance, a log of this package could be taken for an old one of smaller blocks. */
const LEAST_GIVEN = 256

/**
 * Sees to it that there is a log, or nothing, at a path.
 * @param {string} filename
 * @param {import('./types').Options<any>} options
 * @param {number} blockSize of the new log
 */
async function prepareFile (filename, { import: choice = false, blockSize: oldBlockSize = 65536 }, blockSize) {
  if (![true, false, 'keep', 'remove'].includes(choice)) throw errors.invalid(`import must be true, 'keep' or 'remove'; it is ${format(choice)}`)
  // before ssb-db2 makes new ones, which it does while the log is opened
  const indexes = choice === false ? null : oldIndexes(filename)
  const kept = filename + SUFFIX
  const isThere = fs.existsSync(filename)
  const isKept = fs.existsSync(kept)
  const isOld = isThere && await isOldLog(filename, oldBlockSize)
  const mustImport = isOld || (!isThere && isKept)
  if (mustImport && choice === false) throw isOld ? errors.mustImport(filename) : errors.importInterrupted(filename, kept)
  // those beside an interrupted import were made while the log was not open: they have nothing
  if (isOld && indexes !== null) throw errors.oldIndexes(filename, indexes)
  if (isOld) await setAside(filename, kept)
  if (mustImport) {
    await importLog(kept, filename, { from: FORMAT, keepDeleted: true, keepIndexes: true, blockSize, oldBlockSize: likely(oldBlockSize) }).catch(async (err) => {
      if (isOld && !fs.existsSync(filename)) await rename(kept, filename)
      throw err
    })
  }
  // without a map, the log that is there was not imported: something else has made it since an import was interrupted
  if (choice === 'remove' && fs.existsSync(kept) && fs.existsSync(filename + IMPORT_MAP)) {
    // an import that was killed may have given the log its name, and not durably
    await files.syncFolder(path.dirname(filename))
    await fs.promises.unlink(kept)
  }
}

/**
 * @param {string} filename
 * @returns {boolean} whether a log that is opened there is a new one
 */
function isNothingAt (filename) {
  return !fs.existsSync(filename) && !fs.existsSync(filename + SUFFIX)
}

/**
 * @param {string} filename
 * @param {number} blockSize that the caller has given
 */
async function isOldLog (filename, blockSize) {
  const { size } = fs.statSync(filename)
  // quick, and true of nearly all logs: the old one writes whole blocks
  if (size === 0 || (size % blockSize !== 0 && size % LEAST_BLOCK !== 0)) return false
  if (['.meta', '.offset-map'].some(suffix => fs.existsSync(filename + suffix))) return false
  try {
    return await detectFormat(filename, { oldBlockSize: likely(blockSize) }) === FORMAT
  } catch (err) {
    // the log says what is wrong with it
    if (/** @type {any} */ (err).code === 'flumelog:not-a-log') return false
    throw err
  }
}

/** @param {number} blockSize */
function likely (blockSize) {
  return Number.isInteger(blockSize) && blockSize >= LEAST_GIVEN ? blockSize : undefined
}

/**
 * @param {string} filename
 * @param {string} kept
 */
async function setAside (filename, kept) {
  if (fs.existsSync(kept)) throw errors.keptExists(filename, kept)
  // its file is a mixture until it is opened again
  if (fs.existsSync(filename + '.compaction')) throw errors.unfinished(filename)
  await rename(filename, kept)
}

/**
 * @param {string} from
 * @param {string} to
 */
async function rename (from, to) {
  await fs.promises.rename(from, to)
  await files.syncFolder(path.dirname(to))
}

module.exports = { isNothingAt, prepareFile, SUFFIX }
