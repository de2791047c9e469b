'use strict'

// Parses and checks the values of arguments; an invalid value is a usage error. The errors
// say what the value must be: bin/usage.js adds its name and what it is.

const fs = require('fs')
const path = require('path')
const { InvalidArgumentError, Option } = require('commander')
const { isCursorName } = require('../lib/cursors/cursor-name')
const { MIN_BLOCK_SIZE, MAX_BLOCK_SIZE } = require('../lib/format/layout')
const { oneOf } = require('./usage')

/** Names of encodings that are accepted, besides those of the help. */
const ENCODING_ALIASES = { text: 'utf8' }

/** An offset, or the first or last record. @typedef {number | 'start' | 'end'} Offset */

/**
 * @param {string} text
 * @returns {string} the name of a file
 */
function fileName (text) {
  // elsewhere it means standard input or output; a file of that name is ./-
  if (text === '-') throw new InvalidArgumentError('must be a file: standard input is read by `append`, and standard output written by `dump`')
  if (text !== '') return text
  throw new InvalidArgumentError('must be the name of a file')
}

/**
 * Node.js decodes names as UTF-8, and all bytes that are not become the same character, so one log could be taken for another.
 * @param {string} text
 * @returns {string} the name of a file to be written
 */
function fileToWrite (text) {
  if (!text.includes('\ufffd')) return fileName(text)
  throw new InvalidArgumentError('must be a name in UTF-8 without U+FFFD (rename the file)')
}

/**
 * Not in a new folder: that would hide a mistyped path, or a disk that is not mounted.
 * @param {string} text
 * @returns {string} the name of a file that may be new
 */
function fileToCreate (text) {
  const folder = path.dirname(fileToWrite(text))
  if (fs.existsSync(folder)) return text
  throw new InvalidArgumentError(`must be in a folder that exists (mkdir -p ${folder})`)
}

/**
 * @param {string} text
 * @returns {Offset} any integer
 */
function bound (text) {
  if (text === 'start' || text === 'end') return text
  const number = Number(text)
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('must be an integer, start or end')
}

/**
 * @param {string} text
 * @returns {Offset} at which a record can start
 */
function offset (text) {
  if (text === 'start' || text === 'end') return text
  const number = parseNatural(text)
  if (number !== null) return number
  throw new InvalidArgumentError('must be an offset (0 or more), start or end')
}

/**
 * @param {string} text
 * @param {Offset[]} before
 * @returns {Offset[]} of one more argument
 */
function offsets (text, before = []) {
  return [...before, offset(text)]
}

/**
 * @param {string} text
 * @returns {number}
 */
function natural (text) {
  const number = parseNatural(text)
  if (number !== null) return number
  throw new InvalidArgumentError('must be an integer, 0 or more')
}

/**
 * Of a limit, 0 could mean that there is none, as in programs, or that nothing is wanted.
 * @param {string} otherwise what to do without a limit
 * @returns {(text: string) => number}
 */
function positive (otherwise) {
  return (text) => {
    const number = parseNatural(text)
    if (number !== null && number > 0) return number
    throw new InvalidArgumentError(`must be an integer, 1 or more${number === 0 ? ` (${otherwise})` : ''}`)
  }
}

/** @param {string} text */
function parseNatural (text) {
  const number = /^\+?\d+$/.test(text) ? Number(text) : NaN
  return Number.isSafeInteger(number) ? number : null
}

/**
 * @param {string} text
 * @returns {number}
 */
function blockSize (text) {
  const number = /^\d+$/.test(text) ? Number(text) : -1
  if (number >= MIN_BLOCK_SIZE && number <= MAX_BLOCK_SIZE) return number
  throw new InvalidArgumentError(`must be an integer from ${MIN_BLOCK_SIZE} to ${MAX_BLOCK_SIZE}`)
}

/**
 * @param {string} text
 * @returns {string} the name of a cursor
 */
function cursorName (text) {
  if (isCursorName(text)) return text
  throw new InvalidArgumentError('must be the name of a cursor: 1 to 64 letters, digits, - or _')
}

/**
 * @param {string} text
 * @returns {string[]} the keys of a path such as value.content.type
 */
function jsonPath (text) {
  const keys = text.split('.')
  if (keys.every(key => key !== '')) return keys
  throw new InvalidArgumentError('must be keys separated by dots, such as value.timestamp')
}

/**
 * @param {string} text
 * @returns {string[]} paths
 */
function jsonPaths (text) {
  const paths = text.split(',')
  if (paths.every(path => path.split('.').every(key => key !== ''))) return paths
  throw new InvalidArgumentError('must be paths separated by commas, such as at,value.author')
}

/**
 * @param {string[]} names
 * @param {Record<string, string>} [aliases] other names, which are accepted
 * @returns {(text: string) => string}
 */
function choiceOf (names, aliases = {}) {
  return (given) => {
    const text = Object.hasOwn(aliases, given) ? aliases[given] : given
    if (names.includes(text)) return text
    throw new InvalidArgumentError(`must be ${oneOf(names)}`)
  }
}

/**
 * @param {string} flags
 * @param {string} description
 * @param {string[]} names
 * @param {Record<string, string>} [aliases]
 */
function choiceOption (flags, description, names, aliases) {
  return new Option(flags, description).choices(names).argParser(choiceOf(names, aliases))
}

function syncOption () {
  return choiceOption('--sync <when>', 'when to fsync', ['always', 'interval', 'never']).default('interval')
}

module.exports = { ENCODING_ALIASES, fileName, fileToWrite, fileToCreate, bound, offset, offsets, natural, positive, blockSize, cursorName, jsonPath, jsonPaths, choiceOf, choiceOption, syncOption }
