'use strict'

// The files of an import that is not finished, beside the log that it makes: NEW.importing is the log so far, and NEW.importing.state
// says up to where it, and the others, are durable.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { nullIfMissing, syncFolder } = require('../storage/directory')
const { formatLine, parseLine } = require('../storage/recovery-point-text')
const map = require('./map-file')

const SKIPPED_SUFFIX = '.skipped'

/**
 * @typedef {object} Extra what the log has more than the records that were imported, because of chunks
 * @property {number} records
 * @property {number} bytes
 * @property {number} deleted records among the chunks of large ones, which keep these deleted
 *
 * @typedef {object} Snapshot of an import, at the start of a block
 * @property {number} offset in the old file, of the record that starts the block
 * @property {number} size of the new log before the block
 * @property {number} digest of the records in it
 * @property {import('./importer').ImportCounts} counts
 * @property {Extra} extra
 * @property {number} mapSize in bytes
 * @property {number} skippedSize in bytes
 *
 * @typedef {object} State
 * @property {string} settings what has to be the same for an import to be continued
 * @property {Snapshot | null} snapshot null: of a finished import
 * @property {{ end: string, result: object } | null} finished the log is complete and valid, and ends so; only its name may be missing
 */

class Unfinished {
  /** @param {string} target the log, absolute */
  constructor (target) {
    this.target = target
    this.log = `${target}.importing`
    this.map = `${this.log}.map`
    this.skipped = `${this.log}.skipped`
    this.state = `${this.log}.state`
  }

  /** @returns {State | null} */
  readState () {
    try {
      const text = parseLine(fs.readFileSync(this.state, 'utf8').split('\n')[0])
      return text === null ? null : JSON.parse(text)
    } catch (err) {
      return nullIfMissing(/** @type {NodeJS.ErrnoException} */ (err))
    }
  }

  /**
   * Replaces the state; what it speaks of has to be durable.
   * @param {State} state
   */
  async writeState (state) {
    const name = `${this.state}.new`
    const handle = await fs.promises.open(name, 'w', 0o600)
    try {
      await handle.writeFile(formatLine(JSON.stringify(state)))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await fs.promises.rename(name, this.state)
  }

  /**
   * @param {Snapshot} snapshot
   * @returns {boolean} whether the files have what it says
   */
  has ({ size, mapSize, skippedSize }) {
    return sizeOf(this.log) >= size && sizeOf(this.map) >= mapSize && sizeOf(this.skipped) >= skippedSize
  }

  /**
   * Gives the files their names. Killed anywhere in it, it can be repeated.
   * @param {() => void} mustBeFree throws if there is another log of the name
   */
  async finish (mustBeFree) {
    const isUnnamed = fs.existsSync(this.log) && !isSameFile(this.log, this.target)
    if (isUnnamed) mustBeFree()
    await renameIfThere(this.map, this.target + map.SUFFIX)
    await renameIfThere(this.skipped, this.target + SKIPPED_SUFFIX)
    // last: the log is what others wait for
    if (isUnnamed) await linkOrRename(this.log, this.target)
    await syncFolder(path.dirname(this.target))
    // the state last: it says that the log under its name is this one
    for (const name of [this.log, this.skipped, `${this.state}.new`, this.state]) fs.rmSync(name, { force: true })
    await syncFolder(path.dirname(this.target))
  }

  /** Removes all of them. */
  remove () {
    // the state first: without it, nobody believes the others
    for (const name of [this.state, `${this.state}.new`, this.map, this.skipped, this.log]) fs.rmSync(name, { force: true })
  }
}

/**
 * A link, unlike a rename, does not replace a file that has come meanwhile.
 * @param {string} from
 * @param {string} to
 */
async function linkOrRename (from, to) {
  try {
    await fs.promises.link(from, to)
  } catch (err) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
    // not all file systems support links
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw err
    await fs.promises.rename(from, to)
  }
}

/** @param {string} name */
function sizeOf (name) {
  return fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * @param {string} from
 * @param {string} to
 */
async function renameIfThere (from, to) {
  if (sizeOf(from) === 0) return
  if (fs.existsSync(to)) throw errors.exists(to)
  await fs.promises.rename(from, to)
}

/**
 * @param {string} a
 * @param {string} b
 */
function isSameFile (a, b) {
  const first = fs.statSync(a, { bigint: true })
  const second = fs.statSync(b, { bigint: true, throwIfNoEntry: false })
  return second !== undefined && first.ino === second.ino && first.dev === second.dev
}

module.exports = { Unfinished, SKIPPED_SUFFIX }
