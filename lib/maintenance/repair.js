'use strict'

// Repairs a corrupt log: writes a valid copy beside it, or in its place.

const fs = require('fs')
const path = require('path')
const { recover } = require('../recovery/recover')
const { loadMetadata } = require('../recovery/recover-end')
const { MAP_SUFFIX } = require('../space/unfinished-files')
const { isSameFile, nullIfMissing, syncFolder } = require('../storage/directory')
const { inheritByName } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { assertLog, openExtent } = require('./extent')
const { copyFile, freeName, linkOrCopy } = require('./new-log')
const { originOf, placeLog, replaceLog } = require('./replace-log')
const { verifyExtent } = require('./verify')
const { mustBePath, workFor } = require('../work')
const { writeCopy } = require('./write-copy')

/** Of the files that go with the log that is kept. */
const BESIDE = ['.meta', MAP_SUFFIX]

/**
 * @typedef {import('./verify').Report} Report
 * @typedef {import('./copy').Copied} Copied
 * @typedef {{ copy: string, original: string }} Names
 *
 * @typedef {object} RepairOnlyOptions
 * @property {boolean} [inPlace] replace the log with the copy, and keep the old file as FILE.corrupt; default false: the copy is
 *   FILE.repaired
 * @typedef {RepairOnlyOptions & import('../work').WorkOptions} RepairOptions
 *
 * @typedef {object} Repaired
 * @property {Report} report on the log as it was
 * @property {Copied | null} copied what the copy consists of; null: nothing was written, since the log is valid
 * @property {string | null} file name of the copy; with `inPlace`, of the log; null: nothing was written
 * @property {string} original name of the file as it was
 */

const workOf = workFor('repair', ['inPlace'])

/**
 * @param {string} file
 * @param {RepairOptions} options
 * @returns {Promise<Repaired>}
 */
async function repair (file, options) {
  const work = workOf(options)
  mustBePath('the file', file)
  work.throwIfStopped()
  // resolved now: the process may change its directory meanwhile
  const resolved = path.resolve(file)
  const { inPlace = false } = options
  await assertLog(file)
  const target = await targetOf(resolved)
  const extent = await openExtent(pathFile(target, { readOnly: false, lock: true }), true)
  try {
    const report = await verifyExtent(extent, work.begin('verify'))
    if (report.valid) return { report, copied: null, file: null, original: file }
    return await writeCopy(extent, { name: target, given: file, original: target }, work, async (copied, unfinished) => {
      const origin = await originOf(extent.io, target, extent.blockSize)
      const { copy, original } = await (inPlace ? replace(extent, target, unfinished, origin) : placeBeside(target, unfinished, origin))
      return { report, copied, file: asGiven(copy), original: asGiven(original) }
    })
  } finally {
    await extent.io.close()
  }

  /** @param {string} name */
  function asGiven (name) {
    return name.startsWith(resolved) ? file + name.slice(resolved.length) : name
  }
}

/**
 * @param {string} file absolute
 * @returns {Promise<string>} the file itself, if this is a symbolic link to it
 */
async function targetOf (file) {
  const target = await fs.promises.realpath(file)
  return (await fs.promises.lstat(file)).isSymbolicLink() ? target : file
}

/**
 * @param {string} file
 * @param {string} unfinished
 * @param {import('./replace-log').Origin} origin
 * @returns {Promise<Names>}
 */
async function placeBeside (file, unfinished, origin) {
  const copy = freeName(`${file}.repaired`)
  await placeLog(copy, unfinished, copy, origin)
  return { copy, original: file }
}

/**
 * Replaces the log with the copy. There is a file under the log's name at all times, and FILE.meta beside it is its own.
 * @param {import('./extent').Extent} extent of the log
 * @param {string} file
 * @param {string} unfinished
 * @param {import('./replace-log').Origin} origin
 * @returns {Promise<Names>}
 */
async function replace (extent, file, unfinished, origin) {
  const { io, found, blockSize } = extent
  inheritByName(unfinished, await fs.promises.stat(file))
  await io.checkPath()
  // what is deleted in it is to be gone from the file that is kept, too
  if (found.patches.length > 0 || found.trim !== null) {
    // what says so must be durable before, whatever became of the fsyncs of who has written it
    await loadMetadata(io, await io.size())
    await recover(io, { ...found, cut: 0, damagedTail: null }, blockSize)
  }
  const kept = `${file}.corrupt`
  // a repair that was killed has given the log this name, too
  if (isSameFile(kept, file) && fs.lstatSync(kept).isFile()) await removeKept(kept)
  const original = freeName(kept)
  await linkOrCopy(file, original)
  try {
    // not linked: FILE.meta is going to be changed
    for (const suffix of BESIDE) await copyFile(file + suffix, original + suffix).catch(nullIfMissing)
    await syncFolder(path.dirname(file))
    await replaceLog(io, file, origin)
  } catch (err) {
    // the copy has not taken its place
    if (fs.existsSync(unfinished)) await removeKept(original)
    throw err
  }
  return { copy: file, original }
}

/** @param {string} original a second name of the log, and what is beside it */
async function removeKept (original) {
  for (const suffix of [...BESIDE, '']) await fs.promises.rm(original + suffix, { force: true })
}

module.exports = { repair }
