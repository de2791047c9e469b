'use strict'

// Resolves the path of a log once, when the log is created: a later chdir or a changed
// symbolic link must not separate the log from its other files, which are beside the real
// file, not beside a link.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { createFolders } = require('./directory')

/** The longest suffix of the files that a writer makes beside the log: see lib/space/unfinished-files.js. */
const LONGEST_SUFFIX = '.unfinished.offset-map'
/** Bytes in a file name, on nearly every file system. */
const MAX_NAME = 255
/** Files that a log makes beside itself (format.md): a log of this name would be replaced or removed by the other one. */
const BESIDE = /^(.+)\.(meta|offset-map|unfinished|new|socket|mirror-id|pull|cut-\d+|cursor-.+)$/s
/** The number of links to follow; the limit of Linux. */
const MAX_LINKS = 40

/**
 * @typedef {object} Location
 * @property {string} path absolute, and not a symbolic link
 * @property {string} folder that it is in
 * @property {string[]} newFolders directories that were created
 * @property {unknown} problem null, or the error to open the log with
 */

/**
 * @param {string} filename as the caller gave it
 * @param {boolean} readOnly if not, missing parent directories are created
 * @returns {Location}
 */
function locate (filename, readOnly) {
  const location = { path: path.resolve(filename), folder: '', newFolders: /** @type {string[]} */ ([]), problem: /** @type {unknown} */ (null) }
  try {
    checkName(filename, location.path)
    // now, and not when the log is opened: flumedb's views start to put their files beside the log at once
    if (!readOnly) location.newFolders = createFolders(path.dirname(location.path))
    location.path = resolveLinks(location.path)
    checkName(filename, location.path)
  } catch (err) {
    location.problem = err
  }
  location.folder = path.dirname(location.path)
  return location
}

/**
 * Before anything is created: with a longer name, the log could not have its other files.
 * @param {string} filename
 * @param {string} resolved
 */
function checkName (filename, resolved) {
  const size = Buffer.byteLength(path.basename(resolved))
  if (size > MAX_NAME - LONGEST_SUFFIX.length) throw errors.nameTooLong(filename, size, MAX_NAME - LONGEST_SUFFIX.length)
}

/**
 * @param {string} filename absolute
 * @returns {string} the file that open(2) would open or create
 */
function resolveLinks (filename) {
  let name = filename
  for (let links = 0; links < MAX_LINKS; links++) {
    const found = orMissing(() => fs.realpathSync(name))
    if (found !== null) return found
    // nothing there yet, or a link to a file that is to be created
    const folder = orMissing(() => fs.realpathSync(path.dirname(name)))
    if (folder === null) return name
    name = path.join(folder, path.basename(name))
    const target = orMissing(() => fs.lstatSync(name).isSymbolicLink() ? fs.readlinkSync(name) : null)
    if (target === null) return name
    name = path.resolve(folder, target)
  }
  throw Object.assign(new Error(`ELOOP: too many symbolic links encountered, open '${filename}'`), { code: 'ELOOP', path: filename })
}

/**
 * @template T
 * @param {() => T} call
 * @returns {T | null} null if there is no such file
 */
function orMissing (call) {
  try {
    return call()
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return null
    throw err
  }
}

/**
 * @param {string} filename of a log that is to be written
 * @throws flumelog:invalid if another log can have a file of that name
 */
function mustBeNoSideFile (filename) {
  const [, log] = BESIDE.exec(path.basename(filename)) ?? []
  if (log !== undefined) throw errors.sideFile(filename, log)
}

module.exports = { locate, mustBeNoSideFile }
