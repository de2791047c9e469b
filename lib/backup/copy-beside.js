'use strict'

// Files beside a log that go with it into a backup, and back.

const fs = require('fs')

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
    await sync(unfinished)
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

/** @param {string} name */
async function sync (name) {
  const handle = await fs.promises.open(name, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

module.exports = { copyMap, removeMap }
