'use strict'

// The offset map of a log goes with it into a copy or a backup, and back: it has the log's id. If records have other offsets in a copy,
// that gets another id.

const fs = require('fs')
const { randomUUID } = require('crypto')
const { writeId } = require('../space/log-id')
const { SUFFIX: MAP_SUFFIX } = require('../space/offset-map')
const { mapOf } = require('../space/replaced-map')
const { inherit } = require('../storage/inherit')

/**
 * @param {string} log
 * @param {string} target whose own file is replaced, or removed if the log has none
 */
async function copyMap (log, target) {
  const name = target + MAP_SUFFIX
  const unfinished = `${name}.unfinished`
  if (!await copyMapAs(log, unfinished)) return removeMap(target)
  try {
    await fs.promises.rename(unfinished, name)
  } catch (err) {
    await fs.promises.rm(unfinished, { force: true })
    throw err
  }
}

/**
 * @param {string} log
 * @param {string} name of the copy, which is durable afterwards, but for its name
 * @returns {Promise<boolean>} false: the log has no map
 */
async function copyMapAs (log, name) {
  try {
    await fs.promises.copyFile(mapOf(log), name)
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOENT') throw err
    return false
  }
  try {
    await finish(name, await fs.promises.stat(log))
    return true
  } catch (err) {
    await fs.promises.rm(name, { force: true })
    throw err
  }
}

/**
 * Before a copy gets its name.
 * @param {string} log
 * @param {string} name of the copy
 * @param {boolean} isMoved whether records have other offsets in the copy, so that nothing that has offsets of the log is to be used with it
 */
async function putMap (log, name, isMoved) {
  if (isMoved) await writeId(name, randomUUID(), log)
  else await copyMap(log, name)
}

/** @param {string} target */
function removeMap (target) {
  return fs.promises.rm(target + MAP_SUFFIX, { force: true })
}

/**
 * Gives a file the mode and owner of the log that was copied, and makes it durable.
 * @param {string} name
 * @param {fs.Stats} log
 */
async function finish (name, log) {
  const handle = await fs.promises.open(name, 'r+')
  try {
    inherit(handle.fd, log)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

module.exports = { copyMap, copyMapAs, putMap, removeMap }
