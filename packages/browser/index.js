// The types need those of Node.js, which TypeScript 6 and later load only where this is said.
/// <reference types="node" preserve="true" />

'use strict'

// Opens a log in a browser: in a dedicated worker itself, on a page in a worker that it starts.

const { open: openRemote, callOnce } = require('./lib/client')
const { failure } = require('./lib/errors')

/** Whether this is a dedicated worker, which can open files. */
const isWorker = 'DedicatedWorkerGlobalScope' in globalThis

/**
 * @template T
 * @typedef {import('./lib/types').Codec<T>} Codec
 */

/**
 * @template T
 * @typedef {import('./lib/types').OpenOptions<T>} OpenOptions
 */

/**
 * @template T
 * @template [A=T]
 * @typedef {import('./lib/types').Log<T, A>} Log
 */

/**
 * @typedef {import('./lib/types').LogError} LogError
 * @typedef {import('./lib/types').ErrorCode} ErrorCode
 * @typedef {import('flumelog-random-access-file').SystemError} SystemError
 */

/**
 * A file of a log, by the name that it has in Node.js.
 * @typedef {{ name: string, data: Blob | ArrayBuffer | Uint8Array }} NamedData
 */

/** @returns {Promise<any>} what lib/served.js exports */
function localModule () {
  // @ts-ignore: the build makes it
  return import('./log.mjs')
}

/** Throws where no worker can be started. */
function mustHaveWorkers () {
  if (typeof (/** @type {any} */ (globalThis)).Worker === 'function') return
  throw failure('flumelog:unsupported', 'a log can be opened on a page and in a dedicated worker: elsewhere files have no synchronous handles, or there are none')
}

/**
 * @param {string} name
 * @param {any[]} args
 */
async function call (name, ...args) {
  if (isWorker) return (await localModule())[name](...args)
  mustHaveWorkers()
  return callOnce(name, ...args)
}

/**
 * Opens a log of this origin, or creates it; rejects if that fails.
 * @template T
 * @overload
 * @param {string} name without `/`
 * @param {OpenOptions<T> & { codec: Codec<T> }} options
 * @returns {Promise<Log<T>>}
 */
/**
 * Opens a log of values of JSON, or creates it.
 * @template [T=any] what the records are, which nothing checks
 * @overload
 * @param {string} name
 * @param {OpenOptions<T> & { codec: 'json' }} options
 * @returns {Promise<Log<T>>}
 */
/**
 * Opens a log of bytes, or creates it.
 * @overload
 * @param {string} name
 * @param {OpenOptions<Uint8Array> & { codec?: undefined }} [options]
 * @returns {Promise<Log<Uint8Array, Uint8Array | string>>}
 */
/**
 * @param {string} name
 * @param {any} [options]
 * @returns {Promise<any>}
 */
async function open (name, options = {}) {
  if (isWorker) return (await localModule()).open(name, options)
  mustHaveWorkers()
  return openRemote(name, options)
}

/**
 * The files of a log that is closed, to be stored elsewhere or opened by Node.js: the log, FILE.meta and those of its cursors. They are read
 * when their contents are asked for, so do that before the log is opened again.
 * @param {string} name
 * @returns {Promise<File[]>}
 */
function exportFiles (name) {
  return call('exportFiles', name)
}

/**
 * Creates a log of its files, as `exportFiles` gives them, or as they are in Node.js: all or nothing.
 * @param {string} name of the new log
 * @param {Iterable<File | NamedData>} files the log, whose name is the shortest, and those beside it, whose names start with that
 * @returns {Promise<void>} rejects with EEXIST if there is such a log
 */
function importFiles (name, files) {
  return call('importFiles', name, [...files])
}

/**
 * Removes a log that is closed, with all its files.
 * @param {string} name
 * @returns {Promise<void>}
 */
function removeLog (name) {
  return call('removeLog', name)
}

/**
 * @returns {Promise<string[]>} the names of all logs of this origin
 */
function listLogs () {
  return call('listLogs')
}

module.exports = { open, exportFiles, importFiles, removeLog, listLogs }
