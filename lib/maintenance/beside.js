'use strict'

// The files beside a log that a process which opens it goes by.

const fs = require('fs')
const errors = require('../errors')

/** Beside a copy, those of an earlier log of its name would count. */
const SUFFIXES = ['.clients']
/** Also those that are ignored unless they belong to the file. */
const ALL_SUFFIXES = ['.meta', ...SUFFIXES]

/**
 * @param {string} file
 * @returns {string | null} the first file that has this name, or is named as one beside it; null: there is none
 */
function inTheWay (file) {
  return [file, ...ALL_SUFFIXES.map(suffix => file + suffix)].find(isThere) ?? null
}

/**
 * @param {string} file
 * @param {string} given the name as the caller gave it
 * @throws EEXIST
 */
function mustBeFree (file, given) {
  if (isThere(file)) throw errors.exists(given)
  for (const suffix of SUFFIXES) if (isThere(file + suffix)) throw errors.existsBeside(given, suffix)
}

/** @param {string} name */
function isThere (name) {
  return fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined
}

module.exports = { ALL_SUFFIXES, inTheWay, mustBeFree }
