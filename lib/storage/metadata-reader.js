'use strict'

// Reads FILE.meta, which another process may be replacing, or appending to.

const fs = require('fs')
const { promisify } = require('util')
const { nullIfMissing } = require('./directory')
const { isLocked } = require('./lock')
const { parseMetadata, parsePublished } = require('./metadata-text')

/** How often a file is read again that was replaced, or published to, in the middle of reading it. */
const MAX_READS = 10
/** Bytes that are read first; most files have no more. */
const FIRST_READ = 4096

const open = promisify(fs.open)
const read = promisify(fs.read)
const readFile = promisify(fs.readFile)
const fstat = promisify(fs.fstat)

/**
 * @typedef {import('./metadata-text').Lines & { published: number | null, isHeld: boolean }} Read published: up to here the writer has acknowledged
 *   appends, if it is alive. isHeld: whether it is alive; false if that cannot be known here
 */

/**
 * @param {string} filename
 * @returns {Promise<Read | null>} null: there is no file, or none that counts
 */
async function readMetadata (filename) {
  // most often there is one, or no log
  if (!fs.existsSync(filename)) return null
  for (let reads = 1; ; reads++) {
    const { isCurrent, found } = await readOnce(filename)
    const isTorn = found !== null && found.isHeld && found.published === null
    if (reads === MAX_READS || (isCurrent && !isTorn)) return found
  }
}

/**
 * @param {string} filename
 * @returns {Promise<{ isCurrent: boolean, found: Read | null }>} isCurrent: the file was not replaced meanwhile
 */
async function readOnce (filename) {
  const fd = await open(filename, 'r').catch(nullIfMissing)
  if (fd === null) return { isCurrent: true, found: null }
  try {
    const text = await readText(fd)
    const isHeld = isLocked(fd)
    // a writer that is alive unlocks the file only after another is in its place
    const isCurrent = isHeld || await isSameFile(fd, filename)
    const lines = parseMetadata(text)
    return { isCurrent, found: lines && { ...lines, published: parsePublished(text), isHeld } }
  } catch (err) {
    throw named(err, filename)
  } finally {
    fs.close(fd, () => {})
  }
}

/**
 * Uses synchronous I/O.
 * @param {string} filename
 * @returns {string | null} the version; empty if there is none. Null: the file cannot be read
 */
function readVersion (filename) {
  try {
    return parseMetadata(fs.readFileSync(filename, 'latin1'))?.version ?? ''
  } catch (err) {
    return /** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? '' : null
  }
}

/**
 * @param {number} fd
 * @returns {Promise<string>} its contents up to the zeros behind them
 */
async function readText (fd) {
  const bytes = Buffer.allocUnsafe(FIRST_READ)
  const { bytesRead } = await read(fd, bytes, 0, FIRST_READ, 0)
  const text = bytes.toString('latin1', 0, bytesRead)
  if (bytesRead < FIRST_READ || text.includes('\0')) return text
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
  if (typeof err?.path === 'string') return err
  err.path = filename
  err.message += ` '${filename}'`
  return err
}

module.exports = { isSameFile, named, readMetadata, readVersion }
