'use strict'

// The files beside a log that a process goes by that opens it.

const fs = require('fs')
const errors = require('../errors')
const { MetadataReader } = require('../storage/metadata-reader')

/** Of the files that are ignored unless they belong to the log. */
const ALL_SUFFIXES = ['.meta']

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
  // one that an earlier log of this name has left says nothing of another log
  if (isThere(`${file}.meta`) && !new MetadataReader(`${file}.meta`, true).readVersion()) throw errors.existsBeside(given, '.meta')
}

/** @param {string} name */
function isThere (name) {
  return fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined
}

module.exports = { ALL_SUFFIXES, inTheWay, mustBeFree }
