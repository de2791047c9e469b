'use strict'

// Makes a log of what the caller gives: a path or a storage, and options.

const errors = require('./errors')
const { format } = require('./format-value')
const { createLog } = require('./log')
const { settingsOf } = require('./options')
const { mustBeNoSideFile } = require('./storage/location')
const { pathFile } = require('./storage/path-file')
const { storageFile } = require('./storage/storage-file')

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
  if (typeof file === 'string' && file !== '' && !file.includes('\0')) {
    if (!settings.readOnly) mustBeNoSideFile(file)
    // the lock of a shared log decides who owns it, and is taken when the file is open
    return pathFile(file, settings.shared ? { ...settings, lock: false } : settings)
  }
  const storage = /** @type {import('./storage/storage-file').RandomAccessStorage} */ (file)
  if (storage !== null && typeof storage === 'object' && typeof storage.read === 'function' && typeof storage.stat === 'function') {
    if (settings.shared) throw errors.invalid('only a log in a file can be shared; file is a storage')
    return storageFile(storage, settings)
  }
  throw errors.invalid(`file must be the path of a file or a random-access-storage; it is ${format(file)}`)
}

module.exports = { openLog }
