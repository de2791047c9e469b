'use strict'

// Beside a backup: of which file it was made. It shows that a backup is of a log in which nothing of it is left, since
// all of that was trimmed, or has become holes.

const fs = require('fs')
const { formatLine, parseLine } = require('../storage/recovery-point-text')

const SUFFIX = '.backup-of'

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 */
async function rememberSource (source, name) {
  const line = await lineFor(source, name)
  if (line === null || await readLine(name) === line) return
  // if it cannot be written, a later backup may have to be replaced
  await fs.promises.writeFile(`${name}${SUFFIX}.new`, formatLine(line), { mode: 0o600 })
    .then(() => fs.promises.rename(`${name}${SUFFIX}.new`, name + SUFFIX)).catch(() => {})
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name of the backup
 * @returns {Promise<boolean>} whether this file was made as a backup of this log's file
 */
async function isKnownSource (source, name) {
  const line = await lineFor(source, name)
  return line !== null && await readLine(name) === line
}

/**
 * @param {import('./source-log').SourceLog} source
 * @param {string} name
 * @returns {Promise<string | null>} null: the log is in a storage
 */
async function lineFor ({ file }, name) {
  if (file.location === null) return null
  const [log, backup] = await Promise.all([file.location.path, name].map(path => fs.promises.stat(path, { bigint: true })))
  return JSON.stringify({ log: stateOf(log), backup: stateOf(backup) })
}

/** @param {fs.BigIntStats} stats */
function stateOf ({ dev, ino, birthtimeNs }) {
  return [dev, ino, birthtimeNs].map(String)
}

/**
 * @param {string} name
 * @returns {Promise<string | null>}
 */
async function readLine (name) {
  const text = await fs.promises.readFile(name + SUFFIX, 'latin1').catch(() => '')
  return parseLine(text.split('\n')[0])
}

module.exports = { isKnownSource, rememberSource }
