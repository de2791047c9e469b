'use strict'

// Moves the copy that repair has written into place, without overwriting any other file.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { punchHead } = require('../recovery/punch-head')
const { MAP_SUFFIX, namesOf } = require('../space/unfinished-files')
const { nullIfMissing, syncFolder } = require('../storage/directory')
const { inheritByName } = require('../storage/inherit')
const { ALL_SUFFIXES, inTheWay, mustBeFree } = require('./beside')
const { anotherOrigin, originOf, putBeside, replaceLog } = require('./replace-log')

/** Of the files that go with the log that is kept. */
const BESIDE = [...ALL_SUFFIXES, MAP_SUFFIX]

/** @typedef {{ copy: string, original: string }} Names */

/**
 * @param {string} file absolute
 * @returns {Promise<string>} the file itself, if this is a symbolic link to it
 */
async function targetOf (file) {
  const target = await fs.promises.realpath(file)
  return (await fs.promises.lstat(file)).isSymbolicLink() ? target : file
}

/**
 * @param {import('./extent').Extent} extent of the log
 * @param {string} file
 * @param {string} unfinished
 * @param {boolean} isMoved whether records have other offsets in the copy
 * @returns {Promise<Names>}
 */
async function linkRepaired (extent, file, unfinished, isMoved) {
  const origin = isMoved ? anotherOrigin(extent.blockSize) : await originOf(extent.io, file, extent.blockSize)
  const copy = await finishAs(unfinished, () => linkAs(unfinished, `${file}.repaired`, name => putBeside(name, unfinished, origin)))
  return { copy, original: file }
}

/**
 * Replaces the log with the copy. There is a file under the log's name at all times, and the recovery point beside it is its own.
 * @param {import('./extent').Extent} extent of the log
 * @param {string} file
 * @param {boolean} isMoved whether records have other offsets in the copy
 * @returns {Promise<Names>}
 */
async function replace (extent, file, isMoved) {
  const { unfinished } = namesOf(file)
  const folder = path.dirname(file)
  inheritByName(unfinished, await fs.promises.stat(file))
  await extent.io.checkPath()
  await completeChanges(extent)
  const origin = isMoved ? anotherOrigin(extent.blockSize) : await originOf(extent.io, file, extent.blockSize)
  const original = await linkAs(file, `${file}.corrupt`, async () => {})
  try {
    // not linked: FILE.meta is going to be changed
    for (const suffix of BESIDE) await copyFile(file + suffix, original + suffix).catch(nullIfMissing)
    await syncFolder(folder)
    await replaceLog(file, origin)
  } catch (err) {
    await undo(file, original)
    throw err
  }
  return { copy: file, original }
}

/**
 * Before the recovery point is taken away, without which they would never be: what is left of this may be what there is under the
 * log's name after a crash.
 * @param {import('./extent').Extent} extent
 */
async function completeChanges ({ io, patches, trim, blockSize }) {
  if (patches.length === 0 && trim === null) return
  // killed in the middle, the next opening must find the rest
  await io.sync()
  await io.syncMetadata()
  for (const { offset, data } of patches) await io.write(offset, data)
  if (trim !== null) await punchHead(io, trim.from, trim.start, blockSize)
  await io.sync()
}

/**
 * @param {string} file
 * @param {string} original the other name that was given to it
 */
async function undo (file, original) {
  for (const suffix of BESIDE) {
    // only what could be put back is removed
    await linkOrCopy(original + suffix, file + suffix).catch(err => { if (err.code !== 'EEXIST') throw err })
      .then(() => fs.promises.unlink(original + suffix)).catch(() => {})
  }
  await fs.promises.unlink(original).catch(() => {})
}

/**
 * Links a file under a second name, with a number appended if the name is taken, or the name of a file beside it.
 * @param {string} file
 * @param {string} wanted
 * @param {(name: string) => Promise<void>} prepare called before the file gets the name
 * @returns {Promise<string>}
 */
async function linkAs (file, wanted, prepare) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    if (inTheWay(name) !== null) continue
    try {
      await prepare(name)
      await linkOrCopy(file, name)
      return name
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EEXIST') throw err
    }
  }
}

/**
 * @param {string} file
 * @param {string} name
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
  await syncFile(name).catch(async (err) => {
    await fs.promises.unlink(name).catch(() => {})
    throw err
  })
}

/**
 * Gives a log that was written under another name its own.
 * @param {string} unfinished
 * @param {string} name
 * @param {string} target the name as the caller gave it
 */
async function linkNew (unfinished, name, target) {
  // again: they may have come while the log was copied
  mustBeFree(name, target)
  try {
    await linkOrCopy(unfinished, name)
    return name
  } catch (err) {
    throw /** @type {NodeJS.ErrnoException} */ (err).code === 'EEXIST' ? errors.exists(target) : err
  }
}

/** @param {string} name */
async function syncFile (name) {
  const handle = await fs.promises.open(name, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Gives a complete file its name: afterwards it has that only, or if that fails, none.
 * @param {string} unfinished
 * @param {() => Promise<string>} link
 * @returns {Promise<string>} what `link` gives: the name
 */
async function finishAs (unfinished, link) {
  const name = await link()
  try {
    await fs.promises.unlink(unfinished)
    await syncFolder(path.dirname(name))
    return name
  } catch (err) {
    await fs.promises.unlink(name).catch(() => {})
    throw err
  }
}

module.exports = { finishAs, linkNew, linkOrCopy, linkRepaired, replace, targetOf }
