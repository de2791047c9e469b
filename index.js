'use strict'

// Opens a log.

const errors = require('./lib/errors')
const { pathFile, storageFile } = require('./lib/file')
const { settingsOf, show } = require('./lib/options')
const { createLog } = require('./lib/log')

/**
 * Opens a log, or begins one. What goes wrong with the file is told to `onReady`
 * and to every call made on the log.
 *
 * @template [T=Buffer]
 * @param {string | import('./lib/file').RandomAccessStorage} file a path (its folders are created), or a storage.
 *   A storage has no lock, no recovery point, and nothing that keeps what recovery cuts off
 * @param {import('./lib/options').Options<T>} [options]
 * @returns {import('./lib/log').FlumeLog<T>}
 * @throws flumelog:invalid if an option, or `file`, is of the wrong kind
 */
function FlumeLog (file, options = {}) {
  const settings = settingsOf(options)
  return createLog(logFile(file, settings), settings)
}

/**
 * @param {unknown} file
 * @param {import('./lib/options').Settings} settings
 */
function logFile (file, settings) {
  if (typeof file === 'string' && file !== '' && !file.includes('\0')) return pathFile(file, settings)
  const storage = /** @type {import('./lib/file').RandomAccessStorage} */ (file)
  if (storage !== null && typeof storage === 'object' && typeof storage.read === 'function' && typeof storage.stat === 'function') {
    return storageFile(storage, settings)
  }
  throw errors.invalid('the first argument must be the path of a file or a random-access-storage; ' +
    `it is ${show(file)}`)
}

module.exports = FlumeLog
