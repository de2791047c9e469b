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

/** Errors of link(2): there is no map, or the file system has no hard links. */
const NO_LINK = new Set(['ENOENT', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL'])

/** @param {string} log its path */
function filesOf (log) {
  return { unfinished: log + '.compacting', unfinishedMap: log + '.compacting.map', earlierMap: log + '.compacting.earlier-map', map: log + SUFFIX }
}

/**
 * Removes the copy of a compaction that was interrupted. Only the writer of the log may.
 * @param {string} log its path
 */
async function removeUnfinished (log) {
  const { unfinished, unfinishedMap } = filesOf(log)
  for (const name of [unfinished, unfinishedMap]) {
    // every opening asks, and hardly ever is one there; `fs.promises` takes longer to load than all of this
    if (fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined) await fs.promises.unlink(name).catch(nullIfMissing)
  }
}

/**
 * Gives the map of the last compaction a second name: the next one replaces it before its file takes the log's place, and may be stopped in between.
 * @param {string} log its path
 * @returns {Promise<boolean>} whether there is one; without hard links, there is none
 */
async function keepMap (log) {
  const { map, earlierMap } = filesOf(log)
  await fs.promises.unlink(earlierMap).catch(nullIfMissing)
  try {
    await fs.promises.link(map, earlierMap)
    return true
  } catch (err) {
    if (NO_LINK.has(/** @type {any} */ (err).code)) return false
    throw err
  }
}

module.exports = { keepMap, MIN_HEADROOM, MORE_HEADROOM, filesOf, removeUnfinished }
