// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// The interface of the package async-append-only-log, for jitdb and ssb-db2.

const { openInstance } = require('./lib/async-append-only-log/instance')

/**
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 * @typedef {import('./lib/async-append-only-log/types').StreamOptions} StreamOptions
 * @typedef {import('./lib/async-append-only-log/types').Progress} Progress
 * @typedef {import('./lib/async-append-only-log/types').Statistics} Statistics
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/async-append-only-log/types').Options<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/async-append-only-log/types').Log<T>} Log
 */

/**
 * Opens a log, or creates it, with the members of async-append-only-log. docs/async-append-only-log.md says what differs.
 * @template [T=Buffer]
 * @param {string} filename a path; missing parent directories are created
 * @param {Options<T>} [options]
 * @returns {Log<T>}
 * @throws flumelog:invalid if an option is invalid
 */
function AsyncAppendOnlyLog (filename, options) {
  return openInstance(filename, options ?? {})
}

module.exports = AsyncAppendOnlyLog
