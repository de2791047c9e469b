'use strict'

// Moves the copy that repair has written into place, without overwriting any other file.

const fs = require('fs')
const path = require('path')
const { syncFolder } = require('../storage/directory')

/** @typedef {{ copy: string, original: string }} Names */

/**
 * @param {string} file
 * @returns {Promise<string>} the file itself, if this is a symbolic link to it
 */
async function targetOf (file) {
  const target = await fs.promises.realpath(file)
  return (await fs.promises.lstat(file)).isSymbolicLink() ? target : file
}

/**
 * @param {string} file
 * @param {string} unfinished
 * @returns {Promise<Names>}
 */
async function linkRepaired (file, unfinished) {
  const copy = await linkAs(unfinished, `${file}.repaired`)
  await fs.promises.unlink(unfinished)
  await syncFolder(path.dirname(path.resolve(file)))
  return { copy, original: file }
}

/**
 * Replaces the log with the copy. There is a file under the log's name at all times.
 * @param {string} file
 * @param {string} unfinished
 * @returns {Promise<Names>}
 */
async function replace (file, unfinished) {
  const folder = path.dirname(path.resolve(file))
  const { mode, uid, gid } = await fs.promises.stat(file)
  await fs.promises.chmod(unfinished, mode)
  // only root can change the owner; for others, it is the same already, or cannot be kept
  await fs.promises.chown(unfinished, uid, gid).catch(() => {})
  const original = await linkAs(file, `${file}.damaged`)
  // they belong to the old file; applied to the new one, a recovery point would overwrite records
  for (const suffix of ['.recovery-point', '.record-count', '.clients']) {
    await fs.promises.rename(file + suffix, original + suffix).catch(ignoreMissing)
  }
  await syncFolder(folder)
  await fs.promises.rename(unfinished, file)
  await syncFolder(folder)
  return { copy: file, original }
}

/**
 * Links a file under a second name, with a number appended if the name is taken.
 * @param {string} file
 * @param {string} wanted
 * @returns {Promise<string>}
 */
async function linkAs (file, wanted) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    try {
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
    await fs.promises.copyFile(file, name, fs.constants.COPYFILE_EXCL)
    const handle = await fs.promises.open(name, 'r+')
    await handle.sync()
    await handle.close()
  }
}

/** @param {NodeJS.ErrnoException} err */
function ignoreMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

module.exports = { linkOrCopy, linkRepaired, replace, targetOf }
