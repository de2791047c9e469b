'use strict'

// The names of cursors, which are parts of file names.

const path = require('path')
const errors = require('../errors')
const { format } = require('../format-value')
const { NEW } = require('../storage/whole-file')

/** In the name of a cursor's file, between the log's and the cursor's. */
const INFIX = '.cursor-'
/** Without a dot, so that a file that is being created cannot be taken for another cursor. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/
/** Bytes in a file name, on nearly every file system. */
const MAX_FILE_NAME = 255

/**
 * @param {unknown} name
 * @returns {boolean}
 */
function isCursorName (name) {
  return typeof name === 'string' && NAME.test(name)
}

/**
 * @param {string} logPath
 * @param {unknown} name
 * @returns {string} the path of the cursor's file
 * @throws flumelog:invalid
 */
function cursorPath (logPath, name) {
  if (!isCursorName(name)) {
    throw errors.invalid(`the name of a cursor must be 1 to 64 letters (A to Z, a to z), digits, - or _, since it is part of a file name; it is ${format(name)}`)
  }
  const filename = logPath + INFIX + name
  const bytes = Buffer.byteLength(path.basename(filename + NEW))
  if (bytes > MAX_FILE_NAME) {
    throw errors.invalid(`the file of cursor '${name}', ${filename}, would have a name of ${bytes} bytes; the maximum is ${MAX_FILE_NAME}; use a shorter name`)
  }
  return filename
}

/**
 * @param {string} logPath
 * @param {string[]} files in the log's folder
 * @returns {string[]} the names of the log's cursors, sorted
 */
function cursorNames (logPath, files) {
  const prefix = path.basename(logPath) + INFIX
  return files.filter(file => file.startsWith(prefix)).map(file => file.slice(prefix.length)).filter(isCursorName).sort()
}

module.exports = { isCursorName, cursorPath, cursorNames }
