'use strict'

// Converts records to text, and lines of text to records.

const { isUtf8 } = require('buffer')
const { ENCODING_ALIASES, choiceOption } = require('./arguments')
const json = require('../lib/json/text')
const { UserError } = require('./errors')

/**
 * @typedef {object} Encoding
 * @property {(data: Buffer) => Buffer | string} print throws if the record cannot be printed in this encoding
 * @property {boolean} isText print a newline after each record
 * @property {(line: Buffer) => Buffer} parse throws if the line is not in this encoding
 * @property {boolean} takesReturn whether a carriage return at the end belongs to the line
 * @property {(lines: Buffer) => boolean} storesAsIs whether `parse` would return each of these lines unchanged
 * @property {(recordSize: number) => number} maxLineSize of a line that encodes a record of this size, in bytes
 */

/** In bytes. A line of JSON can contain any amount of whitespace; this is a limit on memory. */
const MAX_JSON_LINE = 4 * 1024 * 1024

/** @type {Record<string, Encoding>} */
const encodings = {
  utf8: {
    print: (data) => data,
    isText: true,
    takesReturn: true,
    parse: (line) => {
      if (isUtf8(line)) return line
      throw new UserError('not UTF-8 (--encoding raw accepts any bytes)')
    },
    storesAsIs: isUtf8,
    maxLineSize: (recordSize) => recordSize
  },
  hex: {
    print: (data) => data.toString('hex'),
    isText: true,
    takesReturn: false,
    parse: (line) => {
      const text = withoutReturn(line).toString('latin1')
      const data = Buffer.from(text, 'hex')
      if (data.length * 2 === text.length) return data
      throw new UserError('not hex: expected two digits (0-9, a-f) per byte, and nothing else')
    },
    storesAsIs: () => false,
    maxLineSize: (recordSize) => 2 * recordSize + 1
  },
  base64: {
    print: (data) => data.toString('base64'),
    isText: true,
    takesReturn: false,
    parse: (line) => {
      const text = withoutReturn(line).toString('latin1')
      const data = Buffer.from(text, 'base64')
      if (data.toString('base64') === text) return data
      throw new UserError('not base64: expected A-Z, a-z, 0-9, + and /, padded with = to a multiple of four characters')
    },
    storesAsIs: () => false,
    maxLineSize: (recordSize) => Math.ceil(recordSize / 3) * 4 + 1
  },
  raw: {
    print: (data) => data,
    isText: false,
    takesReturn: true,
    parse: (line) => line,
    storesAsIs: () => true,
    maxLineSize: (recordSize) => recordSize
  },
  json: {
    print: (data) => json.pretty(checkedJson(data)),
    isText: true,
    takesReturn: false,
    parse: (line) => {
      checkedJson(line)
      return json.compact(line)
    },
    storesAsIs: () => false,
    maxLineSize: (recordSize) => Math.max(recordSize, MAX_JSON_LINE)
  }
}

/**
 * Lines from Windows end in a carriage return, which is neither hex nor base64.
 * @param {Buffer} line
 */
function withoutReturn (line) {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line
}

/**
 * @param {Buffer} data
 * @returns {string} its text, which is valid JSON
 */
function checkedJson (data) {
  if (!isUtf8(data)) throw new UserError('not JSON, since it is not UTF-8')
  const text = data.toString()
  try {
    JSON.parse(text)
  } catch (err) {
    throw new UserError(`not JSON: ${/** @type {Error} */ (err).message}`)
  }
  return text
}

/** @param {string} description */
function encodingOption (description) {
  return choiceOption('-e, --encoding <name>', description, Object.keys(encodings), ENCODING_ALIASES).default('utf8')
}

module.exports = { encodings, checkedJson, encodingOption }
