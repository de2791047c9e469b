'use strict'

// The folder that a log is in, and what is made there beside it.

const fs = require('fs')

/**
 * @param {string} folder
 * @returns {unknown} null, or why it cannot be made
 */
function makeFolder (folder) {
  try {
    fs.mkdirSync(folder, { recursive: true })
    return null
  } catch (err) {
    return err
  }
}

/** @param {string} folder */
async function syncFolder (folder) {
  if (process.platform === 'win32') return // a folder cannot be opened there
  const handle = await fs.promises.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Creates a file that is not there yet, with a number behind its name if need be.
 * @param {string} wanted
 */
async function createBeside (wanted) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    try {
      return { name, handle: await fs.promises.open(name, 'wx') }
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EEXIST') throw err
    }
  }
}

/**
 * @param {NodeJS.ErrnoException} err
 * @returns {null} if what was looked for is not there
 */
function onlyMissing (err) {
  if (err.code === 'ENOENT') return null
  throw err
}

module.exports = { makeFolder, syncFolder, createBeside, onlyMissing }
