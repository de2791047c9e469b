'use strict'

// Which generation of a log a file is.

const fs = require('fs')
const path = require('path')
const { syncFolder } = require('../storage/directory')
const { OffsetMap } = require('./offset-map')
const { OffsetMapWriter } = require('./offset-map-writer')
const { filesOf, removeUnfinished } = require('./compaction-files')
const { settleMap } = require('./replaced-map')

/** Of a log that was never compacted. */
const FIRST_ID = '0'

/**
 * @typedef {object} Generation
 * @property {string} id
 * @property {number} base no record is before it; 0 if that is not known
 */

/** @type {Generation} */
const FIRST = { id: FIRST_ID, base: 0 }

/**
 * @param {string | null} log its path; null: it is in a storage
 * @param {number} start where it starts
 * @returns {Promise<Generation>}
 */
async function readGeneration (log, start) {
  const map = log === null ? null : await OffsetMap.open(log)
  if (map === null) return FIRST
  map.close()
  // otherwise the compaction that has written it was stopped before its file took the log's place
  return isInEffect(map, start) ? map : generationBefore(map)
}

/**
 * The same for the writer of the log, which may let it grow, and trim it, beyond where a compaction would have moved it: so it
 * replaces the map of one that was stopped by one that only has the id.
 * @param {import('../storage/location').Location | null} location of the log; null: it is in a storage
 * @param {number} start where it starts
 * @returns {Promise<Generation>}
 */
async function settleGeneration (location, start) {
  if (location !== null) await settleMap(location.path)
  const map = location === null ? null : await OffsetMap.open(location.path)
  if (map === null) return FIRST
  map.close()
  if (location === null || isInEffect(map, start)) return map
  const generation = generationBefore(map)
  // on a full disk, the next writer does it
  await writeId(location.path, generation.id).catch(() => {})
  return generation
}

/**
 * @param {OffsetMap} map of a compaction that was stopped
 * @returns {Generation}
 */
function generationBefore ({ previousId }) {
  return { id: previousId ?? FIRST_ID, base: 0 }
}

/**
 * Replaces the map of a log by one that only has an id.
 * @param {string} log its path
 * @param {string} id
 * @param {string} [like] a log whose mode and owner the map gets
 */
async function writeId (log, id, like = log) {
  const { unfinishedMap, map } = filesOf(log)
  await removeUnfinished(log)
  await createIdMap(unfinishedMap, id, await fs.promises.stat(like))
  await fs.promises.rename(unfinishedMap, map)
  await syncFolder(path.dirname(log))
}

/**
 * Writes a map that only has an id, and makes it durable.
 * @param {string} filename
 * @param {string} id
 * @param {fs.Stats} like the log whose mode and owner it gets
 */
async function createIdMap (filename, id, like) {
  const writer = await OffsetMapWriter.create(filename, { id, previousId: null, base: 0 }, like)
  try {
    await writer.finish(0)
    await writer.sync()
  } finally {
    fs.closeSync(writer.fd)
  }
}

/**
 * @param {{ base: number }} map
 * @param {number} start of the log
 */
function isInEffect ({ base }, start) {
  return base <= start
}

module.exports = { readGeneration, settleGeneration, isInEffect, createIdMap, writeId, FIRST_ID }
