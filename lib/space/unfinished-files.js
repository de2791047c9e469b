'use strict'

// The names of a log that is to take the place of another one, and of its offset map: that of a compaction, a full backup, a restored or
// a repaired log, while it is written.

const fs = require('fs')
const { nullIfMissing } = require('../storage/directory')

const UNFINISHED = '.unfinished'
const MAP_SUFFIX = '.offset-map'

/** @param {string} log its path */
function namesOf (log) {
  return { unfinished: log + UNFINISHED, unfinishedMap: log + UNFINISHED + MAP_SUFFIX, map: log + MAP_SUFFIX }
}

/**
 * Removes the log that a process has left that was killed. Only the process that holds the lock of the log may.
 * @param {string} log its path
 */
async function removeUnfinished (log) {
  const { unfinished } = namesOf(log)
  // every opening asks, and hardly ever is one there; `fs.promises` takes longer
  if (fs.lstatSync(unfinished, { throwIfNoEntry: false }) !== undefined) await fs.promises.unlink(unfinished).catch(nullIfMissing)
}

module.exports = { namesOf, removeUnfinished, MAP_SUFFIX, UNFINISHED }
