// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// The interface of the package async-append-only-log, for jitdb and ssb-db2.

const { openInstance } = require('./lib/instance')

/**
 * @typedef {import('flumelog-random-access-file').LogError} LogError
 * @typedef {import('flumelog-random-access-file').SystemError} SystemError
 * @typedef {import('flumelog-random-access-file').CallbackError} CallbackError
 * @typedef {import('flumelog-random-access-file').ErrorCode} ErrorCode
 * @typedef {import('./lib/types').StreamOptions} StreamOptions
 * @typedef {import('./lib/types').Progress} Progress
 * @typedef {import('./lib/types').Statistics} Statistics
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/types').Options<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/types').Log<T>} Log
 */

/**
 * Opens a log, or creates it, with the members of async-append-only-log. README.md says what differs.
 * @template [T=Buffer]
 * @param {string} filename a path; missing parent directories are created
 * @param {Options<T>} [options]
 * @returns {Log<T>}
 * @throws flumelog:invalid if the path or the codec is invalid; that another option is, is the error of every call
 */
function AsyncAppendOnlyLog (filename, options) {
  return openInstance(filename, options ?? {})
}

module.exports = AsyncAppendOnlyLog
