'use strict'

// The files beside a log that a process which opens it goes by. Beside a copy, those of an earlier log of its
// name would truncate it, or overwrite its records.

const fs = require('fs')
const errors = require('../errors')

/** `.record-count` is not among them: it is believed of no other file than the one it was made for. */
const SUFFIXES = ['.recovery-point', '.clients']
/** Also those that only belong to the log. */
const ALL_SUFFIXES = [...SUFFIXES, '.record-count']

/**
 * @param {string} file
 * @returns {string | null} the first file in the way of a new log of this name; null: there is none
 */
function inTheWay (file) {
  return [file, ...SUFFIXES.map(suffix => file + suffix)].find(isThere) ?? null
}

/**
 * @param {string} file
 * @param {string} given the name as the caller gave it
 * @throws EEXIST
 */
function mustBeFree (file, given) {
  const found = inTheWay(file)
  if (found === null) return
  throw found === file ? errors.exists(given) : errors.existsBeside(given, found.slice(file.length))
}

/** @param {string} name */
function isThere (name) {
  return fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined
}

module.exports = { ALL_SUFFIXES, inTheWay, mustBeFree }
