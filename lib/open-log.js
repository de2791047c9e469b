'use strict'

// Makes a log of what the caller gives: a path, and options.

const errors = require('./errors')
const { format } = require('./format-value')
const { createLog } = require('./log')
const { settingsOf } = require('./options')
const { mustBeNoSideFile } = require('./storage/location')
const { pathFile } = require('./storage/path-file')

/**
 * @param {unknown} file
 * @param {import('./options').Options<any>} options
 * @returns {any}
 */
function openLog (file, options) {
  const settings = settingsOf(options)
  return createLog(logFile(file, settings), settings)
}

/**
 * @param {unknown} file
 * @param {import('./options').Settings} settings
 */
function logFile (file, settings) {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) throw errors.invalid(`file must be the path of a file; it is ${format(file)}`)
  if (!settings.readOnly) mustBeNoSideFile(file)
  // the lock of a shared log decides who owns it, and is taken when the file is open
  return pathFile(file, settings.shared ? { ...settings, lock: false } : settings)
}

module.exports = { openLog }
