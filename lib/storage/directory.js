'use strict'

// Creates directories and files, and makes their names durable.

const fs = require('fs')
const path = require('path')

/**
 * Makes the names in a directory durable: which files it has, not their contents.
 * @param {string} folder
 */
async function syncFolder (folder) {
  if (process.platform === 'win32') return // a directory cannot be opened there
  const handle = await fs.promises.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Creates a directory, with those above it that are missing.
 * @param {string} folder absolute
 * @returns {string[]} the directories that were created
 */
function createFolders (folder) {
  const first = fs.mkdirSync(folder, { recursive: true })
  /** @type {string[]} */
  const created = []
  if (first === undefined) return created
  for (let name = folder; name.length >= first.length; name = path.dirname(name)) created.push(name)
  return created
}

/**
 * Creates a file that is not there yet, with a number after its name if necessary.
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
 * For `catch`: a file that does not exist is no error.
 * @param {NodeJS.ErrnoException} err
 * @returns {null}
 */
function nullIfMissing (err) {
  if (err.code === 'ENOENT') return null
  throw err
}

module.exports = { syncFolder, createFolders, createBeside, nullIfMissing }
