'use strict'

// A file that is written under a temporary name, and gets its own when it is complete: it replaces nothing, and a kill leaves either
// nothing or all of it.

const fs = require('fs')
const errors = require('../errors')
const { ALL_SUFFIXES, mustBeFree } = require('../maintenance/beside')
const { finishAs, linkNew } = require('../maintenance/repaired-files')
const { createFolders } = require('../storage/directory')
const { inheritMode } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')

/**
 * Gives a complete, fsynced file its name, durably, with the files of a log beside it. The log is closed.
 * @param {string} unfinished the temporary name, in the same directory
 * @param {string} target absolute
 * @param {{ given: string, like: fs.Stats }} options given: the target as the caller gave it, for errors; like: status of the file whose
 *   mode it inherits
 * @returns {Promise<void>} rejects with `EEXIST` if a file, or one of an earlier log, is there; then nothing is left under the new name
 */
async function placeFile (unfinished, target, { given, like }) {
  mustBeFree(target, given)
  const beside = ALL_SUFFIXES.filter(suffix => fs.existsSync(unfinished + suffix))
  for (const suffix of ['', ...beside]) inheritMode(unfinished + suffix, like)
  for (const suffix of beside) await fs.promises.rename(unfinished + suffix, target + suffix)
  // last: the file is what others wait for
  await finishAs(unfinished, () => linkNew(unfinished, target, given)).catch((err) => {
    for (const suffix of beside) fs.rmSync(target + suffix, { force: true })
    throw err
  })
}

/**
 * Removes a file that was not completed, with the files of a log beside it.
 * @param {string} unfinished
 */
function removeFile (unfinished) {
  // the log last: as long as it is there, the next attempt removes the others
  for (const suffix of [...ALL_SUFFIXES, '']) fs.rmSync(unfinished + suffix, { force: true })
}

/**
 * Takes the lock that the writer of a log holds. Creates the file if it does not exist.
 * @param {string} file
 * @returns {Promise<{ close: () => Promise<void> }>} rejects with `flumelog:locked`
 */
async function lockFile (file) {
  const io = promises(pathFile(file, { readOnly: false, lock: true, blocking: false }))
  await io.open()
  return io
}

/**
 * @param {string} file absolute
 * @param {string} given the name as the caller gave it, for errors
 * @throws EEXIST, EISDIR if a file is there, or one of an earlier log of this name
 */
function assertAbsent (file, given) {
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw errors.isDirectory(given)
  mustBeFree(file, given)
}

module.exports = { placeFile, removeFile, lockFile, assertAbsent, createFolders, inheritMode }
