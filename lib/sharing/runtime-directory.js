'use strict'

// The directory for sockets of logs whose own path is too long for a socket. Only this user
// can enter it.

const fs = require('fs')
const os = require('os')
const path = require('path')
const errors = require('../errors')
const { MAX_PATH, fits } = require('./socket-file')

/**
 * Creates the directory if necessary.
 * @param {string} filename the log's, for errors
 * @param {number} room bytes that have to fit behind its path and a slash
 * @returns {Promise<string>}
 */
async function runtimeDirectory (filename, room) {
  const uid = process.geteuid?.() ?? 0
  const folders = (await parents(uid)).map(parent => path.resolve(parent, `flumelog-${uid}`))
  const folder = folders.find(folder => fits(folder, 1 + room))
  if (folder === undefined) throw errors.noSocketPath(filename, folders, MAX_PATH - 1 - room)
  await createPrivate(folder, uid)
  return folder
}

/**
 * @param {number} uid
 * @returns {Promise<string[]>} the best one first
 */
async function parents (uid) {
  const runtime = process.env.XDG_RUNTIME_DIR
  // after su or sudo it may be another user's
  const isUsable = runtime !== undefined && path.isAbsolute(runtime) && await fs.promises.stat(runtime)
    .then(status => status.isDirectory() && status.uid === uid, () => false)
  return isUsable ? [runtime, os.tmpdir()] : [os.tmpdir()]
}

/**
 * In a directory in which everybody may create files, somebody else may have taken the name.
 * @param {string} folder
 * @param {number} uid
 */
async function createPrivate (folder, uid) {
  await fs.promises.mkdir(folder, { mode: 0o700 }).catch((/** @type {NodeJS.ErrnoException} */ err) => {
    if (err.code !== 'EEXIST') throw err
  })
  const found = await fs.promises.lstat(folder)
  if (found.isSymbolicLink()) throw errors.unsafeDirectory(folder, 'it is a symbolic link')
  if (!found.isDirectory()) throw errors.unsafeDirectory(folder, 'it is not a directory')
  if (found.uid !== uid) throw errors.unsafeDirectory(folder, `it belongs to user ${found.uid}, not to ${uid}`)
  const mode = found.mode & 0o777
  if (mode !== 0o700) throw errors.unsafeDirectory(folder, `its mode is ${mode.toString(8).padStart(3, '0')}, not 700`)
}

module.exports = { runtimeDirectory }
