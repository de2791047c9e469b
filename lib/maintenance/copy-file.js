'use strict'

// Copies a log to another file. It may be open: the copy has what was acknowledged when it was started.

const fs = require('fs')
const path = require('path')
const { randomBytes } = require('crypto')
const errors = require('../errors')
const { createFolders, syncFolder } = require('../storage/directory')
const { pathFile } = require('../storage/path-file')
const { openExtent } = require('./extent')
const { linkOrCopy } = require('./repaired-files')
const { mustBePath, workFor } = require('./work')
const { writeCopy } = require('./write-copy')

/** @typedef {import('./write-copy').CopyOptions & import('./work').WorkOptions} CopyFileOptions */

const workOf = workFor('copy', ['compact', 'salvage'])

/**
 * @param {string} file
 * @param {string} target
 * @param {CopyFileOptions} options
 * @returns {Promise<import('./copy').Copied>}
 */
async function copy (file, target, options) {
  const work = workOf(options)
  mustBePath('the file', file)
  mustBePath('the target', target)
  work.mustGoOn()
  // resolved now: the process may change its directory while the log is copied
  const name = path.resolve(target)
  const extent = await openExtent(pathFile(file, { readOnly: true, lock: false }))
  try {
    mustBeMissing(target)
    const unfinished = `${name}.${randomBytes(6).toString('hex')}.copying`
    createFolders(path.dirname(name))
    const { copied } = await writeCopy(extent, unfinished, file, options, work, () => link(unfinished, name, target))
    return copied
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {string} unfinished
 * @param {string} name
 * @param {string} target the name as the caller gave it
 */
async function link (unfinished, name, target) {
  try {
    await linkOrCopy(unfinished, name)
  } catch (err) {
    throw /** @type {NodeJS.ErrnoException} */ (err).code === 'EEXIST' ? errors.exists(target) : err
  }
  await fs.promises.unlink(unfinished)
  await syncFolder(path.dirname(name))
}

/**
 * Before the work; what is created meanwhile is not overwritten, either.
 * @param {string} target
 */
function mustBeMissing (target) {
  if (fs.lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw errors.exists(target)
}

module.exports = { copy }
