'use strict'

// Creates directories and files, and makes their names durable.

const fs = require('fs')
const path = require('path')

/** Opens a file to be read: a FIFO in its place is not waited for. */
const TO_READ = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0)

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
 * Creates a directory, with those above it that are missing. One call for each: with `recursive`, Node.js
 * loops forever where mkdir(2) gives ENOENT though the parent exists, as in /proc.
 * @param {string} folder absolute
 * @returns {string[]} the directories that were created
 */
function createFolders (folder) {
  const missing = []
  for (let name = folder; !fs.existsSync(name) && name !== path.dirname(name); name = path.dirname(name)) missing.push(name)
  return missing.reverse().filter(createFolder).reverse()
}

/**
 * @param {string} folder
 * @returns {boolean} false if another process has created it meanwhile
 */
function createFolder (folder) {
  try {
    fs.mkdirSync(folder)
    return true
  } catch (err) {
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return false
    throw err
  }
}

/**
 * Creates a file that is not there yet, with a number after its name if necessary. Only this user can read it.
 * @param {string} wanted
 */
async function createBeside (wanted) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    try {
      return { name, handle: await fs.promises.open(name, 'wx', 0o600) }
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EEXIST') throw err
    }
  }
}

/**
 * @param {string} one
 * @param {string} other
 * @returns {boolean} whether both names lead to the same file
 */
function isSameFile (one, other) {
  const [a, b] = [one, other].map(name => fs.statSync(name, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
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

/**
 * Of a file that was only read, or fsynced, an error says nothing: it is closed all the same (as Linux does).
 * @param {number} fd -1: there is none
 */
function closeQuietly (fd) {
  if (fd === -1) return
  try {
    fs.closeSync(fd)
  } catch {}
}

module.exports = { TO_READ, closeQuietly, syncFolder, createFolders, createBeside, nullIfMissing, isSameFile }
