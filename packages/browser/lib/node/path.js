'use strict'

// What the log uses of `path`: all files are in one folder, `/`.

const SEPARATOR = '/'

const basename = (/** @type {string} */ path) => path.slice(path.lastIndexOf(SEPARATOR) + 1)
const join = (/** @type {string[]} */ ...parts) => parts.join(SEPARATOR).replace(/\/+/g, SEPARATOR)
const dirname = (/** @type {string} */ path) => path.slice(0, path.lastIndexOf(SEPARATOR)) || SEPARATOR
const resolve = (/** @type {string[]} */ ...parts) => parts.reduce((path, part) => part.startsWith(SEPARATOR) ? part : join(path, part), SEPARATOR)

const path = { sep: SEPARATOR, basename, dirname, join, resolve }

module.exports = path
