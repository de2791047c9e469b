'use strict'

// Reads the recovery point that another process may be replacing or publishing to.

const fs = require('fs')
const { promisify } = require('util')
const { nullIfMissing } = require('./directory')
const { isLocked } = require('./lock')
const { parsePoint } = require('./recovery-point-text')

/** How often a file is read again that was replaced, or published to, in the middle of reading it. */
const MAX_READS = 10
/** Bytes: more than a recovery point with few deletions has. */
const SHORT_POINT = 4096

const open = promisify(fs.open)
const read = promisify(fs.read)
const readFile = promisify(fs.readFile)
const fstat = promisify(fs.fstat)

/** @typedef {import('./recovery-point').RecoveryPoint} RecoveryPoint */

/**
 * @param {string} filename
 * @param {boolean} blocking whether synchronous I/O may be used
 * @returns {Promise<RecoveryPoint | null>} null: there is none, or none that is whole
 */
async function readPoint (filename, blocking) {
  for (let reads = 1; ; reads++) {
    const { isCurrent, point } = blocking ? readOnceSync(filename) : await readOnce(filename)
    const isTorn = point !== null && point.isHeld && point.acknowledged === null
    if (reads === MAX_READS || (isCurrent && !isTorn)) return point
  }
}

/**
 * @param {string} filename
 * @returns {Promise<{ isCurrent: boolean, point: RecoveryPoint | null }>} isCurrent: the file was not replaced meanwhile
 */
async function readOnce (filename) {
  const fd = await open(filename, 'r').catch(nullIfMissing)
  if (fd === null) return { isCurrent: true, point: null }
  try {
    const text = await readText(fd)
    const isHeld = isLocked(fd)
    // a writer that is alive unlocks the file only after another is in its place, or none
    const isCurrent = isHeld || await isSameFile(fd, filename)
    return { isCurrent, point: parsePoint(text, isHeld) }
  } catch (err) {
    throw named(err, filename)
  } finally {
    fs.close(fd, () => {})
  }
}

/**
 * The same with synchronous I/O: some microseconds, since the file is short and in the page cache.
 * @param {string} filename
 * @returns {{ isCurrent: boolean, point: RecoveryPoint | null }}
 */
function readOnceSync (filename) {
  let fd = -1
  try {
    fd = fs.openSync(filename, 'r')
    const text = fs.readFileSync(fd, 'latin1')
    const isHeld = isLocked(fd)
    return { isCurrent: isHeld || fs.fstatSync(fd).ino === fs.statSync(filename).ino, point: parsePoint(text, isHeld) }
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return { isCurrent: fd === -1, point: null }
    throw named(err, filename)
  } finally {
    if (fd !== -1) fs.closeSync(fd)
  }
}

/**
 * @param {number} fd
 * @returns {Promise<string>} its contents; one read, unless deletions make it long
 */
async function readText (fd) {
  const bytes = Buffer.allocUnsafe(SHORT_POINT)
  const { bytesRead } = await read(fd, bytes, 0, SHORT_POINT, 0)
  if (bytesRead < SHORT_POINT) return bytes.toString('latin1', 0, bytesRead)
  // from its start: the read before was by position
  return (await readFile(fd)).toString('latin1')
}

/**
 * @param {number} fd
 * @param {string} filename
 * @returns {Promise<boolean>} whether the name leads to the open file
 */
async function isSameFile (fd, filename) {
  const [mine, there] = await Promise.all([
    fstat(fd, { bigint: true }),
    fs.promises.stat(filename, { bigint: true }).catch(nullIfMissing)
  ])
  return there !== null && mine.ino === there.ino && mine.dev === there.dev
}

/**
 * @param {any} err of the system, which knows no name for an open file
 * @param {string} filename
 */
function named (err, filename) {
  if (err.path !== undefined) return err
  err.path = filename
  err.message += ` '${filename}'`
  return err
}

module.exports = { isSameFile, named, readPoint }
