'use strict'

// Gives a complete log its name, with what says which log it is: FILE.meta and FILE.offset-map. If another log has the name, it is replaced.
// Killed at any step, there is the one or the other:
//
//     1  FILE.unfinished is the new log, FILE.unfinished.offset-map its map     the old one
//     2  FILE.meta says what is true of FILE.unfinished once that is the log    the old one
//     3  FILE.unfinished is renamed to FILE                                     the new one
//     4  FILE.meta says what is true of this file only                          the new one
//     5  the map gets its name                                                  the new one
//
// Each step is durable before the next one.

const fs = require('fs')
const path = require('path')
const { randomUUID } = require('crypto')
const { tieAt } = require('../recovery/belonging')
const { generationOf, readOwn } = require('../recovery/recovery-point')
const { OffsetMap, settleMap } = require('../space/offset-map')
const { namesOf } = require('../space/unfinished-files')
const { syncFolder } = require('../storage/directory')
const { MetadataFile } = require('../storage/metadata-file')
const { pathFile } = require('../storage/path-file')
const { writeFile } = require('../storage/whole-file')
const { openExtent } = require('./extent')
const { giveName } = require('./new-log')

/**
 * @typedef {import('../storage/metadata-text').Metadata} Metadata
 *
 * @typedef {object} Origin what a copy has of the log that was copied
 * @property {string} id
 * @property {number} base
 * @property {string} log
 * @property {Buffer | null} map file of its offset map; null: it has none
 * @property {number} blockSize of the log: a copy of less than a block does not tell it
 */

/**
 * @param {import('../storage/path-file').Io} io of a log that is open
 * @param {string} name its path
 * @param {number} blockSize of the log
 * @returns {Promise<Origin>} for a copy of it
 */
async function originOf (io, name, blockSize) {
  for (let before = null; ;) {
    const own = await readOwn(io)
    const generation = generationOf(own?.metadata)
    const map = await readMap(name, generation.id)
    // otherwise a compaction may have ended in between, which has left another map
    if (map !== null || generation.id === before) return { ...generation, log: own?.metadata.log ?? randomUUID(), map, blockSize }
    before = generation.id
  }
}

/**
 * @param {string} log its path
 * @param {string} id of it
 * @returns {Promise<Buffer | null>} the file of its offset map; null: it has none
 */
async function readMap (log, id) {
  const found = await OffsetMap.open(log, id)
  try {
    // not by its name, which it may just be getting
    return found && found.readFile()
  } finally {
    found?.close()
  }
}

/**
 * @param {import('../storage/path-file').Io} io of the log that is replaced by FILE.unfinished; it is valid without the files beside it, and locked
 * @param {string} name of it
 * @param {Origin} origin of FILE.unfinished
 */
async function replaceLog (io, name, origin) {
  const folder = path.dirname(name)
  const { unfinished, unfinishedMap } = namesOf(name)
  const next = await describe(unfinished, origin)
  const own = await readOwn(io).catch(nullIfCorrupt)
  // the log may have got its name by a process that was killed before that was durable, and before the map had its name
  await syncFolder(folder)
  await settleMap(name, generationOf(own?.metadata).id)
  await copyMap(origin, unfinishedMap, unfinished)
  await syncFolder(folder)
  let log = unfinished
  const metadata = new MetadataFile(`${name}.meta`, folder, () => fs.promises.stat(log))
  try {
    await announce(metadata, own, next)
    await fs.promises.rename(unfinished, name)
    await syncFolder(folder)
    log = name
    await metadata.replace(next, 0)
  } finally {
    await metadata.close()
  }
  await settleMap(name, origin.id)
  await syncFolder(folder)
}

/**
 * A log that is not opened since its metadata is corrupt can be replaced.
 * @param {any} err
 * @returns {null}
 */
function nullIfCorrupt (err) {
  if (err.code === 'flumelog:corrupt') return null
  throw err
}

/**
 * Of the log that is there, what is true of it alone: another one may have taken its place by a process that was killed before it could say so.
 * @param {MetadataFile} metadata of the log that is there
 * @param {import('../storage/metadata-reader').Read | null} own what it says of that log; null: nothing
 * @param {Metadata} next
 */
async function announce (metadata, own, next) {
  // it can be true of that log, too, which must not count as closed then if it was not
  await metadata.replace({ ...(own?.metadata ?? { ...next, end: -1 }), next: { ...next, closed: own?.metadata.closed ?? true } }, own?.published ?? 0)
  // nobody writes this log
  metadata.release()
}

/**
 * Gives a complete log a name that no log has.
 * @param {string} name
 * @param {string} unfinished the log
 * @param {string} given the name as the caller gave it
 * @param {Origin} origin
 * @returns {Promise<void>} rejects with `EEXIST` if a file has the name
 */
async function placeLog (name, unfinished, given, origin) {
  const { unfinishedMap } = namesOf(name)
  await copyMap(origin, unfinishedMap, unfinished)
  const metadata = new MetadataFile(`${name}.meta`, path.dirname(name), () => fs.promises.stat(unfinished))
  try {
    await metadata.replace(await describe(unfinished, origin))
    await giveName(unfinished, name, given)
  } catch (err) {
    // another log may have got the name, and has its own FILE.meta; or this one has it, and cannot lose it again
    const hasName = fs.existsSync(name)
    if (!hasName || /** @type {any} */ (err).code === 'EEXIST') await fs.promises.rm(unfinishedMap, { force: true })
    // a power cut could give it back a name that it has lost
    if (!hasName && await syncFolder(path.dirname(name)).then(() => true, () => false)) await fs.promises.rm(`${name}.meta`, { force: true })
    throw err
  } finally {
    await metadata.close()
  }
  await settleMap(name, origin.id)
  await syncFolder(path.dirname(name))
}

/**
 * @param {string} file a complete log, which has no metadata yet
 * @param {Origin} origin
 * @returns {Promise<Metadata>}
 */
async function describe (file, { id, base, log, blockSize }) {
  const { io, start, end } = await openExtent(pathFile(file, { readOnly: true, lock: false }))
  try {
    const tie = await tieAt(io.read, end, blockSize, [])
    return { log, id, base, blockSize, end, tie, start, freed: start, writer: '', closed: true, deletions: [], dropped: 0, clients: {}, next: null }
  } finally {
    await io.close()
  }
}

/**
 * @param {Origin} origin
 * @param {string} name of the copy of its offset map, which is durable afterwards, but for its name
 * @param {string} log whose mode and owner it gets
 */
async function copyMap ({ map }, name, log) {
  if (map !== null) await writeFile(name, await fs.promises.stat(log), map)
}

module.exports = { originOf, placeLog, replaceLog }
