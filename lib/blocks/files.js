'use strict'

// Files that are written under a temporary name, and get their own when they are complete: a kill leaves either nothing or all of one.
// Only `replaceFile` replaces another file.

const fs = require('fs')
const errors = require('../errors')
const newLog = require('../maintenance/new-log')
const { createFolders, syncFolder } = require('../storage/directory')
const { inheritMode } = require('../storage/inherit')
const { replaceFile, writeFile } = require('../storage/whole-file')

/**
 * Gives a complete, fsynced file its name, durably, with the metadata of a log beside it. The log is closed.
 * @param {string} unfinished the temporary name, in the same directory
 * @param {string} target absolute
 * @param {{ given: string, like: fs.Stats }} options given: the target as the caller gave it, for errors; like: status of the file whose
 *   mode it inherits
 * @returns {Promise<void>} rejects with `EEXIST` if a file, or one of an earlier log, is there; then nothing is left under the new name
 */
async function placeFile (unfinished, target, { given, like }) {
  newLog.assertFree(target, given)
  const isLog = fs.existsSync(`${unfinished}.meta`)
  inheritMode(unfinished, like)
  if (isLog) {
    inheritMode(`${unfinished}.meta`, like)
    await fs.promises.rename(`${unfinished}.meta`, `${target}.meta`)
  }
  // last: the file is what others wait for
  await newLog.giveName(unfinished, target, given).catch((err) => {
    if (isLog && !fs.existsSync(target)) fs.rmSync(`${target}.meta`, { force: true })
    throw err
  })
}

/**
 * Removes a file that was not completed, with the metadata of a log beside it.
 * @param {string} unfinished
 */
function removeFile (unfinished) {
  // the log last: as long as it is there, the next attempt removes the other
  for (const file of [`${unfinished}.meta`, unfinished]) fs.rmSync(file, { force: true })
}

/**
 * @param {string} file absolute
 * @param {string} given the name as the caller gave it, for errors
 * @throws EEXIST, EISDIR if a file is there, or one of an earlier log of this name
 */
function assertAbsent (file, given) {
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw errors.isDirectory(given)
  newLog.assertAbsent(file, given)
}

module.exports = { placeFile, removeFile, lockFile: newLog.lockFile, assertAbsent, createFolders, inheritMode, replaceFile, syncFolder, writeFile }
