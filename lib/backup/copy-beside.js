'use strict'

// Files beside a log that go with it into a backup, and back.

const fs = require('fs')
const { shareAsLog } = require('../storage/share-as-log')

/** Where the records of a compacted log are since: it gives the log its id. Beside another log, it has no effect. */
const MAP_SUFFIX = '.offset-map'

/**
 * @param {string} log
 * @param {string} target whose own file is replaced, or removed if the log has none
 */
async function copyMap (log, target) {
  const name = target + MAP_SUFFIX
  const unfinished = `${name}.unfinished`
  try {
    await fs.promises.copyFile(log + MAP_SUFFIX, unfinished)
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOENT') throw err
    return removeMap(target)
  }
  try {
    await finish(unfinished, await fs.promises.stat(log))
    await fs.promises.rename(unfinished, name)
  } catch (err) {
    await fs.promises.rm(unfinished, { force: true })
    throw err
  }
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
    await shareAsLog(handle.fd, log)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

module.exports = { copyMap, removeMap }
