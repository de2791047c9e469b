'use strict'

// Writes a log under a temporary name, FILE.unfinished, until it is complete and durable. Then it gets a name that no file has, or replaces
// another log (replace-log.js).

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { onAbort } = require('../signal')
const { UNFINISHED } = require('../space/unfinished-files')
const { isSameFile, syncFolder } = require('../storage/directory')
const { mustBeNoSideFile } = require('../storage/location')
const { parseMetadata } = require('../storage/metadata-text')
const { pathFile } = require('../storage/path-file')

/** @typedef {ReturnType<ReturnType<import('../work').workFor>>} Work */

/**
 * @template T, R
 * @param {string} name absolute
 * @param {string} given the name as the caller gave it
 * @param {Work} work
 * @param {(file: import('../storage/path-file').LogFile, unfinished: string) => Promise<T>} write makes the file complete and durable
 * @param {(written: T, unfinished: string) => Promise<R>} place gives it its name
 * @returns {Promise<R>} if it fails, nothing is left
 */
async function writeUnfinished (name, given, work, write, place) {
  mustBeNoSideFile(name)
  // by the thread pool: one piece is written while the next one is read
  const file = pathFile(name + UNFINISHED, { readOnly: false, lock: true, blocking: false })
  const { io, location: { path: unfinished, newFolders } } = file
  const remove = () => fs.rmSync(unfinished, { force: true })
  let stopListening = () => {}
  try {
    if (isSameFile(name, unfinished)) remove()
    // not readable by others until it has the mode of the log
    await (await fs.promises.open(unfinished, 'a', 0o600)).close()
    await io.open().catch((err) => { throw err.code === 'flumelog:locked' ? errors.beingWritten(given) : err })
    try {
      // at once: a process that is interrupted does not wait for the disk
      stopListening = onAbort(work.signal, remove)
      // a process that was killed may have left it
      await io.truncate(0)
      const written = await write(file, unfinished)
      work.throwIfStopped()
      stopListening()
      return await place(written, unfinished)
    } catch (err) {
      remove()
      // when the file is gone, that fails first
      work.throwIfStopped()
      throw err
    } finally {
      stopListening()
      await io.close()
    }
  } catch (err) {
    // those in which another process has put something meanwhile stay
    for (const folder of newFolders) await fs.promises.rmdir(folder).catch(() => {})
    throw err
  }
}

/**
 * Takes the lock that the writer of a log holds. Creates the file if it does not exist.
 * @param {string} file
 * @returns {Promise<import('../storage/path-file').Io>} rejects with `flumelog:locked`
 */
async function lockFile (file) {
  const { io } = pathFile(file, { readOnly: false, lock: true, blocking: false })
  await io.open()
  return io
}

/**
 * @param {string} file
 * @param {string} given the name as the caller gave it
 * @throws flumelog:invalid if another log can have a file of that name, `EEXIST` if a file is there, or one beside an earlier log of this name that is not its metadata
 */
function assertAbsent (file, given) {
  mustBeNoSideFile(file)
  assertFree(file, given)
}

/**
 * The same for a file of which it is known that it is none of another log, or that is such a file itself.
 * @param {string} file
 * @param {string} given the name as the caller gave it
 * @throws `EEXIST`
 */
function assertFree (file, given) {
  if (isThere(file)) throw errors.exists(given)
  // one that an earlier log of this name has left says nothing of another log
  if (isThere(`${file}.meta`) && !isMetadata(`${file}.meta`)) throw errors.existsBeside(given, '.meta')
}

/** @param {string} name */
function isMetadata (name) {
  try {
    return parseMetadata(fs.readFileSync(name, 'latin1')) !== null
  } catch {
    return false
  }
}

/**
 * @param {string} wanted
 * @returns {string} with a number appended if there is a log of that name, or metadata of one
 */
function freeName (wanted) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    if (!isThere(name) && !isThere(`${name}.meta`)) return name
  }
}

/** @param {string} name */
function isThere (name) {
  return fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined
}

/**
 * Gives a complete file its name: afterwards it has that, or if that fails, its temporary one. One that has both is complete, and `writeUnfinished` removes
 * the temporary one.
 * @param {string} unfinished
 * @param {string} name in the same directory
 * @param {string} given the name as the caller gave it
 * @returns {Promise<void>} rejects with `EEXIST` if a file has come meanwhile
 */
async function giveName (unfinished, name, given) {
  assertFree(name, given)
  // if it has come just now, its writer may have removed this one
  await linkOrCopy(unfinished, name).catch(err => { throw isThere(name) ? errors.exists(given) : err })
  try {
    // first: a power cut must not take both names
    await syncFolder(path.dirname(name))
  } catch (err) {
    await fs.promises.unlink(name).catch(() => {})
    throw err
  }
  await fs.promises.unlink(unfinished).catch(() => {})
  // if it is not durable that this one is gone, that is no error
  await syncFolder(path.dirname(name)).catch(() => {})
}

/**
 * @param {string} file
 * @param {string} name which no file has
 */
async function linkOrCopy (file, name) {
  try {
    await fs.promises.link(file, name)
  } catch (err) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
    // not all file systems support links
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw err
    await copyFile(file, name)
  }
}

/**
 * @param {string} file
 * @param {string} name which no file has; the copy is durable, but for its name
 */
async function copyFile (file, name) {
  await fs.promises.copyFile(file, name, fs.constants.COPYFILE_EXCL)
  try {
    const handle = await fs.promises.open(name, 'r+')
    await handle.sync().finally(() => handle.close())
  } catch (err) {
    await fs.promises.unlink(name).catch(() => {})
    throw err
  }
}

module.exports = { assertAbsent, assertFree, copyFile, freeName, giveName, linkOrCopy, lockFile, writeUnfinished }
