'use strict'

// Gives a complete log the name of another one, with its offset map, by which it has its id. Killed at any step, there is the one or the other:
//
//     1  FILE.unfinished is the new log, fsynced, and FILE.unfinished.offset-map its map    the old one
//     2  what only belongs to the old log is removed                                        the old one
//     3  FILE.unfinished is renamed to FILE                                                 the new one: see lib/space/replaced-map.js
//     4  FILE.unfinished.offset-map is renamed to FILE.offset-map                           the new one
//
// The directory is fsynced after each step.

const fs = require('fs')
const path = require('path')
const { OffsetMap } = require('../space/offset-map')
const { FIRST_ID, createIdMap } = require('../space/log-id')
const { namesOf, settleMap } = require('../space/replaced-map')
const { nullIfMissing, syncFolder } = require('../storage/directory')
const { ALL_SUFFIXES } = require('./beside')
const { copyMapAs } = require('./copy-map')

/** Of files that were made for the log that was there. Cursors know by themselves. */
const STALE_SUFFIXES = [...ALL_SUFFIXES, '.meta.new', '.clients.new', '.compacting', '.compacting.map']

/**
 * @param {string} name of the log that is replaced, which is valid without the files beside it, and locked
 * @param {{ of: string | null } | { id: string }} map that of a log of which `FILE.unfinished` is a copy (null: it is in a storage), or one that only has an id
 */
async function replaceLog (name, map) {
  const folder = path.dirname(name)
  const { unfinished, waiting } = namesOf(name)
  // otherwise, a power cut could leave its map alone, which would be taken for that of the old log
  await syncFolder(folder)
  await prepareMap(name, map, waiting)
  await removeStale(name)
  await fs.promises.rename(unfinished, name)
  await syncFolder(folder)
  await settleMap(name)
}

/**
 * @param {string} name
 * @param {{ of: string | null } | { id: string }} map
 * @param {string} waiting name of the map until its log has been renamed
 */
async function prepareMap (name, map, waiting) {
  const log = await fs.promises.stat(name)
  if ('id' in map) return createIdMap(waiting, map.id, log)
  if (map.of !== null && await copyMapAs(map.of, waiting)) return
  const before = await OffsetMap.open(name)
  if (before === null) return
  before.close()
  // the new log has none; without this, it would have that of the old one
  await createIdMap(waiting, FIRST_ID, log)
}

/** @param {string} name */
async function removeStale (name) {
  for (const suffix of STALE_SUFFIXES) await fs.promises.unlink(name + suffix).catch(nullIfMissing)
  await syncFolder(path.dirname(name))
}

/**
 * Removes what a process has left that was killed before step 3. Only the process that holds the lock of the log may.
 * @param {string} name
 */
async function removeUnfinished (name) {
  // first, and durably: without FILE.unfinished it would be the map of FILE
  await settleMap(name)
  await fs.promises.unlink(namesOf(name).unfinished).catch(nullIfMissing)
}

module.exports = { removeStale, removeUnfinished, replaceLog }
