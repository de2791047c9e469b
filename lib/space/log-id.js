'use strict'

// Which generation of a log a file is.

const fs = require('fs')
const { syncFolder } = require('../storage/directory')
const { OffsetMap } = require('./offset-map')
const { filesOf, removeUnfinished } = require('./unfinished')

/** Of a log that was never compacted. */
const FIRST_ID = '0'

/**
 * @param {string | null} log its path; null: it is in a storage
 * @param {number} start where it starts
 * @returns {Promise<string>} its id
 */
async function readId (log, start) {
  const map = log === null ? null : await OffsetMap.open(log)
  if (map === null) return FIRST_ID
  map.close()
  // otherwise the compaction that has written it was stopped before its file took the log's place
  return isInEffect(map, start) ? map.id : map.previousId ?? FIRST_ID
}

/**
 * The same for the writer of the log, which may let it grow, and trim it, beyond where a compaction would have moved it: so it
 * replaces the map of one that was stopped by one that only has the id.
 * @param {import('../storage/location').Location | null} location of the log; null: it is in a storage
 * @param {number} start where it starts
 * @returns {Promise<string>} its id
 */
async function settleId (location, start) {
  const map = location === null ? null : await OffsetMap.open(location.path)
  if (map === null) return FIRST_ID
  map.close()
  if (location === null || isInEffect(map, start)) return map.id
  const id = map.previousId ?? FIRST_ID
  // on a full disk, the next writer does it
  await replaceMap(location, id).catch(() => {})
  return id
}

/**
 * @param {import('../storage/location').Location} location
 * @param {string} id of the log
 */
async function replaceMap ({ path, folder }, id) {
  // only then: it is rare
  const { OffsetMapWriter } = require('./offset-map-writer')
  const { unfinishedMap, map } = filesOf(path)
  // its map is what is replaced
  await removeUnfinished(path)
  const writer = await OffsetMapWriter.create(unfinishedMap, { id, previousId: null, base: 0 }, await fs.promises.stat(path))
  try {
    await writer.finish(0)
    await writer.sync()
  } finally {
    fs.closeSync(writer.fd)
  }
  await fs.promises.rename(unfinishedMap, map)
  await syncFolder(folder)
}

/**
 * @param {OffsetMap} map
 * @param {number} start of the log
 */
function isInEffect ({ base }, start) {
  return base <= start
}

module.exports = { readId, settleId, FIRST_ID }
