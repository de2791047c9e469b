'use strict'

// The small file beside a closed log with the number of its records. Other programs may change the
// log and do not know it: so it says of which state of which file it has the number, and is
// only believed of that.

const fs = require('fs')
const { callbackify, promisify } = require('util')
const { formatLine, parseLine } = require('./recovery-point-text')

const fstat = /** @type {(fd: number, options: { bigint: true }) => Promise<fs.BigIntStats>} */ (promisify(fs.fstat))
const futimes = promisify(fs.futimes)

/** Milliseconds by which the modification time is moved back, at most. */
const MAX_SHIFT = 1
/** How often another time is tried. */
const MAX_SHIFTS = 5
/** A FIFO is not waited for. */
const TO_READ = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0)
/** In a millisecond. */
const NANOSECONDS = 1000000n

/**
 * @typedef {object} CountFile
 * @property {(size: number, cb: (err: Error | null, records?: number | null) => void) => void} read the number, if the log has this
 *   size and is as it was closed; null: not known
 * @property {(records: number | null, cb: import('./path-file').Done) => void} write of a log that is not changed any more; null removes it.
 *   Errors do not matter: without it, or with one of another state of the log, the number is not known
 */

/**
 * @param {string} filename
 * @param {() => number} fdOf the log
 * @returns {CountFile}
 */
function countFile (filename, fdOf) {
  /** @param {number} size */
  async function read (size) {
    const found = parse(readText())
    if (found === null) return null
    const state = stateOf(fs.fstatSync(fdOf(), { bigint: true }))
    return state.size === String(size) && JSON.stringify(found.log) === JSON.stringify(state) ? found.records : null
  }

  /** @returns {string | undefined} undefined: there is none */
  function readText () {
    try {
      return fs.readFileSync(filename, { encoding: 'latin1', flag: TO_READ })
    } catch {}
  }

  /** @param {number | null} records */
  async function write (records) {
    const text = readText()
    // a file of this name that another program has made is left alone
    if (text && parseLine(text.split('\n')[0]) === null) return
    if (records !== null && await replace(records).then(() => true, () => false)) return
    // on a full disk, a part may be there
    await fs.promises.unlink(filename + '.new').catch(() => {})
    if (text !== undefined) await fs.promises.unlink(filename).catch(() => {})
  }

  /** @param {number} records */
  async function replace (records) {
    const stats = await fstat(fdOf(), { bigint: true })
    const log = stateOf(await shiftTime(stats))
    const unfinished = filename + '.new'
    await fs.promises.writeFile(unfinished, formatLine(JSON.stringify({ records, log })), { mode: Number(stats.mode) & 0o777 })
    await fs.promises.rename(unfinished, filename)
  }

  /**
   * A change in the same tick of the system's clock would leave the same times: so the file gets one that no clock gives.
   * @param {fs.BigIntStats} stats
   */
  async function shiftTime ({ atimeMs, mtimeNs }) {
    for (let i = 0; i < MAX_SHIFTS; i++) {
      await futimes(fdOf(), Number(atimeMs) / 1000, (Number(mtimeNs) / 1e6 - MAX_SHIFT * Math.random()) / 1000)
      const shifted = await fstat(fdOf(), { bigint: true })
      // a whole millisecond can be chance
      if (shifted.mtimeNs % NANOSECONDS !== 0n) return shifted
    }
    throw new Error('times are too coarse here to show every change')
  }

  return { read: callbackify(read), write: callbackify(write) }
}

/**
 * @param {string | undefined} text of the file
 * @returns {{ records: number, log: unknown } | null} null: it says nothing, or nothing that can be true
 */
function parse (text) {
  const json = parseLine(text?.split('\n')[0])
  if (json === null) return null
  try {
    const { records, log } = JSON.parse(json)
    return Number.isSafeInteger(records) && records >= 0 ? { records, log } : null
  } catch {
    return null
  }
}

/**
 * @param {fs.BigIntStats} stats
 * @returns {{ size: string, inode: string, modified: string, changed: string }} differs from any other file, and from this one when
 *   it has changed
 */
function stateOf ({ size, ino, mtimeNs, ctimeNs }) {
  return { size: String(size), inode: String(ino), modified: String(mtimeNs), changed: String(ctimeNs) }
}

module.exports = { countFile }
