'use strict'

// The files beside a log that belong to its compaction.

const fs = require('fs')
const { nullIfMissing } = require('../storage/directory')
const { SUFFIX } = require('./offset-map')

/**
 * Offsets for what is appended meanwhile: seqs from before the compaction are in front of all since. At least so many, or as many as the
 * log has bytes; if that is not enough, the compaction starts again with so many times as many.
 */
const MIN_HEADROOM = 4 * 1024 * 1024
const MORE_HEADROOM = 8

/** @param {string} log its path */
function filesOf (log) {
  return { unfinished: log + '.compacting', unfinishedMap: log + '.compacting.map', map: log + SUFFIX }
}

/**
 * Removes the copy of a compaction that was interrupted. Only the writer of the log may.
 * @param {string} log its path
 */
async function removeUnfinished (log) {
  const { unfinished, unfinishedMap } = filesOf(log)
  for (const name of [unfinished, unfinishedMap]) await fs.promises.unlink(name).catch(nullIfMissing)
}

module.exports = { MIN_HEADROOM, MORE_HEADROOM, filesOf, removeUnfinished }
