'use strict'

// The indexes of ssb-db2 and the views of flumedb beside a log, which have offsets of the file that is imported: with the new log their
// results would be wrong, without an error.

const fs = require('fs')
const path = require('path')
const errors = require('./errors')

/** Of `db2/log.bipf`. */
const FOLDERS = ['indexes', 'jit']

/**
 * @param {string} filename of the new log
 * @returns {string | null} a folder of indexes that has any
 */
function oldIndexes (filename) {
  return FOLDERS.map(name => path.join(path.dirname(filename), name)).find(hasEntries) ?? null
}

/**
 * @param {string} filename of the new log
 * @param {() => Promise<string>} formatOf the old file; folders of these names beside a log of another program are none of ssb-db2
 * @throws EEXIST
 */
async function mustHaveNoIndexes (filename, formatOf) {
  const folder = oldIndexes(filename)
  if (folder !== null && await formatOf() === 'async-append-only-log') throw errors.oldIndexes(filename, folder)
}

/**
 * @param {string} filename of the new log
 * @returns {string[]} names, in its folder, of what views of flumeview-reduce and flumeview-level, and of views based on these, are stored in
 */
function viewsBeside (filename) {
  const folder = path.dirname(filename)
  return namesIn(folder).filter(name => isReduceView(path.join(folder, name)) || isLevel(path.join(folder, name)))
}

/** @param {string} file */
function isReduceView (file) {
  return file.endsWith('.json') && fs.statSync(file).isFile() && /^\{"seq":-?[0-9]+,"version":/.test(startOf(file))
}

/** @param {string} file */
function startOf (file) {
  const fd = fs.openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(100)
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes))
  } finally {
    fs.closeSync(fd)
  }
}

/** @param {string} folder */
function isLevel (folder) {
  const names = namesIn(folder)
  return names.includes('CURRENT') && names.some(name => name.startsWith('MANIFEST-'))
}

/** @param {string} folder */
function hasEntries (folder) {
  return namesIn(folder).length > 0
}

/** @param {string} folder */
function namesIn (folder) {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

module.exports = { oldIndexes, mustHaveNoIndexes, viewsBeside }
