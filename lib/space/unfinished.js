'use strict'

// The files beside a log that belong to its compaction.

const fs = require('fs')
const { nullIfMissing } = require('../storage/directory')
const { SUFFIX } = require('./offset-map')

/** @param {string} log its path */
function filesOf (log) {
  return { unfinished: log + '.compacting', unfinishedMap: log + '.compacting.map', map: log + SUFFIX }
}

/**
 * Removes what a compaction has left that did not come to its end. Only the writer of the log may.
 * @param {string} log its path
 */
async function removeUnfinished (log) {
  const { unfinished, unfinishedMap } = filesOf(log)
  for (const name of [unfinished, unfinishedMap]) await fs.promises.unlink(name).catch(nullIfMissing)
}

module.exports = { filesOf, removeUnfinished }
