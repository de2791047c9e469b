'use strict'

// How a record is printed, and how a line becomes one.

const { isUtf8 } = require('buffer')
const { Option } = require('commander')
const json = require('./json')
const { UserError } = require('./errors')

/**
 * @typedef {object} Encoding
 * @property {(data: Buffer) => Buffer | string} print throws if the record cannot be shown so
 * @property {boolean} isText a newline comes behind each record
 * @property {(line: Buffer) => Buffer} parse throws if the line cannot be stored so
 * @property {(record: number) => number} longest how long a line for a record of so many bytes can be
 */

/** A line of JSON may have any number of blanks in it, but not so many. */
const LONGEST_JSON = 4 * 1024 * 1024

/** @type {Record<string, Encoding>} */
const encodings = {
  utf8: {
    print: (data) => data,
    isText: true,
    parse: (line) => {
      if (isUtf8(line)) return line
      throw new UserError('it is not UTF-8; --encoding raw takes any bytes')
    },
    longest: (record) => record
  },
  hex: {
    print: (data) => data.toString('hex'),
    isText: true,
    parse: (line) => {
      const text = withoutReturn(line).toString('latin1')
      const data = Buffer.from(text, 'hex')
      if (data.length * 2 === text.length) return data
      throw new UserError('it is not hex: two of 0-9 and a-f for each byte, and nothing else')
    },
    longest: (record) => 2 * record + 1
  },
  base64: {
    print: (data) => data.toString('base64'),
    isText: true,
    parse: (line) => {
      const text = withoutReturn(line).toString('latin1')
      const data = Buffer.from(text, 'base64')
      if (data.toString('base64') === text) return data
      throw new UserError('it is not base64: A-Z, a-z, 0-9, + and /, filled up with = to a multiple of four')
    },
    longest: (record) => Math.ceil(record / 3) * 4 + 1
  },
  raw: {
    print: (data) => data,
    isText: false,
    parse: (line) => line,
    longest: (record) => record
  },
  json: {
    print: (data) => json.pretty(checkedJson(data)),
    isText: true,
    parse: (line) => {
      checkedJson(line)
      return json.compact(line)
    },
    longest: () => LONGEST_JSON
  }
}

/**
 * Lines that come from Windows end in a carriage return, which is no hex and no base64.
 * @param {Buffer} line
 */
function withoutReturn (line) {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line
}

/**
 * @param {Buffer} data
 * @returns {string} the JSON that it is
 */
function checkedJson (data) {
  if (!isUtf8(data)) throw new UserError('it is not JSON: it is not even UTF-8')
  const text = data.toString()
  try {
    JSON.parse(text)
  } catch (err) {
    throw new UserError(`it is not JSON: ${/** @type {Error} */ (err).message}`)
  }
  return text
}

/** @param {string} description */
function encodingOption (description) {
  return new Option('-e, --encoding <name>', description).choices(Object.keys(encodings)).default('utf8')
}

module.exports = { encodings, encodingOption }
