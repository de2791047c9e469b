'use strict'

// The offset map of a log that takes the place of another one. Two files cannot be renamed at once, so the map waits under a
// name that tells whether its log has been renamed: FILE.unfinished.offset-map is the map of FILE once there is no FILE.unfinished any more.

const fs = require('fs')
const path = require('path')
const { syncFolder } = require('../storage/directory')

const SUFFIX = '.offset-map'
/** Added to the name of a log for another one that is to take its place. */
const UNFINISHED = '.unfinished'

/** @param {string} log its path */
function namesOf (log) {
  return { unfinished: log + UNFINISHED, waiting: log + UNFINISHED + SUFFIX, map: log + SUFFIX }
}

/**
 * @param {string} log its path
 * @returns {string} the file that has its map, if it has one
 */
function mapOf (log) {
  const { unfinished, waiting, map } = namesOf(log)
  return fs.existsSync(waiting) && !fs.existsSync(unfinished) ? waiting : map
}

/**
 * Completes or undoes what a killed process has left, so that FILE.offset-map is the map. Only the process that holds the lock of the log may.
 * @param {string} log its path
 */
async function settleMap (log) {
  const { unfinished, waiting, map } = namesOf(log)
  // most often: opening a log should be quick
  if (!fs.existsSync(waiting)) return
  if (fs.existsSync(unfinished)) await fs.promises.unlink(waiting)
  else await fs.promises.rename(waiting, map)
  await syncFolder(path.dirname(log))
}

module.exports = { mapOf, namesOf, settleMap, UNFINISHED }
