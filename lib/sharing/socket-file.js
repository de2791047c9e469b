'use strict'

// Puts a local socket, or a symbolic link to one, in place under a name: all at once, and
// never with more permissions than the log has, whatever the umask.

const fs = require('fs')
const net = require('net')
const path = require('path')
const { nullIfMissing } = require('../storage/directory')
const { inheritByName } = require('../storage/inherit')

/** Bytes in the path of a socket: Linux has room for 107, macOS for 103. */
const MAX_PATH = 100
/** What is made in the temporary directory. */
const TEMPORARY_NAME = 's'
/** What mkdtemp(3) puts at the end of a name. */
const RANDOM_PART = /^[A-Za-z0-9]{6}$/
/** Bytes by which the path that a socket is bound to is longer than the one it gets. */
const TEMPORARY_LENGTH = `-XXXXXX/${TEMPORARY_NAME}`.length

/**
 * @typedef {object} PlacedSocket
 * @property {net.Server} server
 * @property {string} name
 * @property {fs.BigIntStats} status
 * @property {fs.Stats} logStatus of the log when its mode and owner were given to the socket
 */

/**
 * @param {string} name of a socket, or of one that is to be placed
 * @param {number} [longer] bytes that have to fit as well
 */
function fits (name, longer = 0) {
  return Buffer.byteLength(name) + longer <= MAX_PATH
}

/**
 * Replaces what has the name. Until the socket has the log's permissions, it is in a
 * directory that only this user can enter.
 * @param {string} name
 * @param {fs.Stats} logStatus
 * @param {(connection: net.Socket) => void} onconnection
 * @returns {Promise<PlacedSocket>}
 */
async function placeSocket (name, logStatus, onconnection) {
  const server = net.createServer(onconnection)
  try {
    const status = await place(name, async (temporary) => {
      await bind(server, temporary)
      // on Linux and macOS, connecting needs write permission for the socket
      inheritByName(temporary, { ...logStatus, mode: logStatus.mode & 0o666 })
      return await fs.promises.lstat(temporary, { bigint: true })
    })
    return { server, name, status, logStatus }
  } catch (err) {
    server.close()
    throw err
  }
}

/**
 * Replaces what has the name.
 * @param {string} name
 * @param {string} target
 */
async function placeLink (name, target) {
  await place(name, (temporary) => fs.promises.symlink(target, temporary))
}

/**
 * @template T
 * @param {string} name
 * @param {(temporary: string) => Promise<T>} make creates a file under a temporary name
 * @returns {Promise<T>}
 */
async function place (name, make) {
  const folder = await fs.promises.mkdtemp(`${name}-`)
  const temporary = path.join(folder, TEMPORARY_NAME)
  try {
    const made = await make(temporary)
    await fs.promises.rename(temporary, name)
    return made
  } catch (err) {
    await fs.promises.unlink(temporary).catch(() => {})
    throw err
  } finally {
    // if it stays, the next owner removes it
    await fs.promises.rmdir(folder).catch(() => {})
  }
}

/**
 * @param {net.Server} server does not keep the process alive
 * @param {string} name of a socket, or of a pipe on Windows. When the server is closed, libuv removes it
 * @returns {Promise<void>}
 */
function bind (server, name) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // exclusive: a cluster worker listens itself, not the primary in its place
    server.listen({ path: name, exclusive: true }, () => {
      server.off('error', reject)
      // connections that cannot be accepted (EMFILE) are closed; their clients try again
      server.on('error', () => {})
      server.unref()
      resolve()
    })
  })
}

/**
 * @param {PlacedSocket} placed
 * @returns {Promise<boolean>} whether its name still leads to it
 */
async function isInPlace ({ name, status }) {
  const found = await fs.promises.lstat(name, { bigint: true }).catch(nullIfMissing)
  return found !== null && found.ino === status.ino && found.dev === status.dev
}

/**
 * Stops listening. Open connections stay.
 * @param {PlacedSocket} placed
 */
async function removeSocket (placed) {
  try {
    if (await isInPlace(placed)) await fs.promises.unlink(placed.name).catch(nullIfMissing)
  } finally {
    placed.server.close()
  }
}

/**
 * Removes the temporary directories of processes that were killed while they placed
 * something under this name. What cannot be removed stays: it does no harm.
 * @param {string} name
 */
async function removeLeftovers (name) {
  const folder = path.dirname(name)
  const start = `${path.basename(name)}-`
  // a directory may be writable and not readable
  for (const found of await fs.promises.readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const isOurs = found.isDirectory() && found.name.startsWith(start) && RANDOM_PART.test(found.name.slice(start.length))
    if (isOurs) await removeLeftover(path.join(folder, found.name)).catch(() => {})
  }
}

/** @param {string} folder */
async function removeLeftover (folder) {
  const files = await fs.promises.readdir(folder, { withFileTypes: true })
  const isKnown = files.every(file => file.name === TEMPORARY_NAME && (file.isSocket() || file.isSymbolicLink()))
  if (!isKnown) return
  for (const { name } of files) await fs.promises.unlink(path.join(folder, name))
  await fs.promises.rmdir(folder)
}

module.exports = { MAX_PATH, TEMPORARY_LENGTH, fits, bind, placeSocket, placeLink, isInPlace, removeSocket, removeLeftovers }
