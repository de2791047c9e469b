'use strict'

// The indexes of ssb-db2 beside its log, which have offsets of the file that is imported: with the new log they would be wrong without a word.

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

/** @param {string} folder */
function hasEntries (folder) {
  try {
    return fs.readdirSync(folder).length > 0
  } catch {
    return false
  }
}

module.exports = { oldIndexes, mustHaveNoIndexes }
