'use strict'

// Some modules of the log are in a file of their own, dist/more-HASH.mjs, since few calls and options need them, such as compactions, cursors
// and `shared`; the build says which. The worker of a page loads it before it opens a log, if an option needs it, else after that. Where the
// rest of the log requires one of these modules, the build puts functions that call those of the file. The file takes from the worker the
// modules that both use.

const { failure } = require('./errors')

/** Options for which a log needs the file when it is opened. */
const OPTIONS = ['large', 'readOnly', 'retain', 'shared']

/** By the numbers that the build has given them; null: the file is not loaded. @type {any[] | null} */
let modules = null
/** @type {Promise<void> | null} */
let loading = null
let attempts = 0
/** Of the file. @type {string} */
let address

/**
 * @param {string} url of the file
 * @param {any[][]} modules what it takes from those of the worker
 */
function setFile (url, modules) {
  // the worker is of this package alone
  Object.assign(globalThis, { flumelogModules: modules })
  address = url
}

/** @returns {Promise<void>} rejects if it cannot be loaded; the next call tries it again */
function load () {
  // the build tells bundlers to leave the import
  loading ??= import(nextUrl()).then(
    (found) => { modules = found.modules },
    (cause) => {
      loading = null
      throw failure('flumelog:failed', `a part of flumelog-browser could not be loaded, which this call needs; appending and reading do not: ${cause.message}`, { cause })
    })
  return loading
}

/** Firefox keeps the failure of an address. */
function nextUrl () {
  return attempts++ === 0 ? address : `${address}?${attempts}`
}

function isLoaded () {
  return modules !== null
}

/** @param {any} options of a log */
function isNeededBy (options) {
  return OPTIONS.some(name => Boolean(options?.[name]))
}

/**
 * @param {number} number
 * @returns {any} what the module exports
 */
function moduleOf (number) {
  if (modules === null) throw failure('flumelog:failed', 'a part of flumelog-browser is not loaded')
  return modules[number]
}

module.exports = { setFile, load, isLoaded, isNeededBy, moduleOf }
