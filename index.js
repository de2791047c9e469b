// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Opens a log.

const fs = require('fs')

/** @type {((file: any, options: any) => any) | undefined} */
let openLog

/**
 * @typedef {import('./lib/types').Stats} Stats
 * @typedef {import('./lib/types').Cut} Cut
 * @typedef {import('./lib/types').AppendOptions} AppendOptions
 * @typedef {import('./lib/types').CursorInfo} CursorInfo
 * @typedef {import('./lib/types').CommitOptions} CommitOptions
 * @typedef {import('./lib/types').SinkOptions} SinkOptions
 * @typedef {import('./lib/read/options').StreamOptions} StreamOptions
 * @typedef {import('./lib/read/options').ScanOptions} ScanOptions
 * @typedef {import('./lib/read/options').Skipped} Skipped
 * @typedef {import('./lib/space/retain-options').RetainOptions} RetainOptions
 * @typedef {import('./lib/errors').LogError} LogError
 * @typedef {import('./lib/errors').SystemError} SystemError
 * @typedef {import('./lib/errors').CallbackError} CallbackError
 * @typedef {import('./lib/errors').ErrorCode} ErrorCode
 */

/**
 * @template [T=Buffer] a record, as the codec decodes it
 * @template [A=T] what can be appended
 * @typedef {import('./lib/types').FlumeLog<T, A>} Log
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/types').Cursor<T>} Cursor
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/read/source').LogRecord<T>} LogRecord
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/read/source').SizedRecord<T>} SizedRecord
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').Options<T>} Options
 */

/**
 * @template [T=Buffer]
 * @typedef {import('./lib/options').Codec<T>} Codec
 */

/**
 * Opens a log, or creates it. Errors of the file are given to `onReady` and to every call made on the log.
 *
 * @template T
 * @overload
 * @param {string} file a path; missing parent directories are created
 * @param {Options<T> & { codec: Codec<T> }} options
 * @returns {Log<T>}
 * @throws flumelog:invalid if an option or `file` is invalid
 */
/**
 * Opens a log of values of JSON, or creates it.
 * @template [T=any] what the records are, which nothing checks
 * @overload
 * @param {string} file
 * @param {Options<T> & { codec: 'json' }} options
 * @returns {Log<T>}
 */
/**
 * Opens a log of Buffers, or creates it.
 *
 * @overload
 * @param {string} file
 * @param {Options & { codec?: undefined }} [options]
 * @returns {Log<Buffer, Uint8Array | string>}
 */
/**
 * Opens a log of Buffers with a codec, or creates it.
 *
 * @overload
 * @param {string} file
 * @param {Options} options
 * @returns {Log}
 */
/**
 * @param {any} file
 * @param {Options<any>} options
 * @returns {Log<any>}
 */
function FlumeLog (file, options = {}) {
  openLog ??= load()
  return openLog(file, options)
}

/** With the first log, since it takes most of the time of a `require`. */
function load () {
  // In Node.js, realpath stops early if the last file of which the status was read is a pipe or a socket, such as standard input. What is required
  // through a symbolic link, as pnpm installs packages, would not find its own dependencies.
  fs.statSync(__filename, { throwIfNoEntry: false })
  return require('./lib/open-log').openLog
}

module.exports = FlumeLog
