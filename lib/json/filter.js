'use strict'

// Which records a filter lets pass: a text, or the value at a JSON path compared with one.

const { isUtf8 } = require('buffer')
const errors = require('../errors')
const { compareTimes, numberOf, parseDate, unitOf } = require('./dates')
const { compareNumbers } = require('./comparison')
const { shorten } = require('../format-value')
const { finder } = require('./text')
const { whatOccurs } = require('./occurrence')

/** A path, an operator, a value, with spaces between. */
const COMPARISON = /^(\S+)\s+(=|!=|>=|<=|>|<)\s+([^]+)$/
/** The same without the spaces, where records have values: `level=error` in a text is text. */
const CLOSE_COMPARISON = /^([^\s=<>!"'(){}[\]:,/?&]+)\s*(!=|>=|<=|=|>|<)\s*([^\s=<>][^]*)$/
/** What resembles a comparison: a path, and an operator of other languages, or one without a value. */
const MISTAKEN = /^[^\s=<>!~"'(){}[\]:,/?&]+\s*(===?|!==|<>|=[<>~]|!~|~(?=\s)|(?:[=<>]|!=|>=|<=)$)/
/** A second comparison behind the first value. */
const SECOND = /\s(and|or|&&|\|\|)\s+\S+\s*[=<>!]/i
const WITHOUT_VALUES = ['utf8', 'hex']
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const MAX_LENGTH = 1000
/** By operator: whether the order of a value and the one given, negative, 0 or positive, is one that passes. @type {Record<string, (order: number) => boolean>} */
const PASSES = {
  '=': order => order === 0,
  '!=': order => order !== 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
  '<': order => order < 0,
  '<=': order => order <= 0
}

/**
 * @typedef {object} Decoded a record
 * @property {any} [value] missing: it is text, or bytes
 * @property {string} [json] the value as JSON; a record that is JSON as it is written
 * @property {string} [text] if it is text
 *
 * @typedef {object} Filter
 * @property {(bytes: Buffer, end: number, start?: number) => boolean} mayMatch false: no record within these bytes can pass
 * @property {(decoded: Decoded, data: Buffer) => boolean} matches
 * @property {() => string | null} missing the path, if none of the records that were given has a value there
 */

/**
 * @param {string} query `text`, `"text"`, `path = value`
 * @param {string | null} encoding of the records
 * @returns {Filter} an empty query lets everything pass
 * @throws flumelog:invalid
 */
function filterOf (query, encoding) {
  const trimmed = query.trim()
  if (trimmed.length > MAX_LENGTH) throw errors.invalid(`the filter must have at most ${MAX_LENGTH} characters; it has ${trimmed.length}`)
  const hasValues = !WITHOUT_VALUES.includes(encoding ?? '')
  const found = trimmed.match(COMPARISON) ?? (hasValues ? trimmed.match(CLOSE_COMPARISON) : null)
  if (hasValues) refuseMistakes(trimmed, found)
  if (found !== null) return comparison(found[1].split('.'), found[2], found[3].trim(), encoding)
  return textFilter(/^"[^]*"$/.test(trimmed) && trimmed.length > 1 ? trimmed.slice(1, -1) : trimmed, encoding)
}

/**
 * Refuses what other query languages would take for a comparison, and which would pass no record here.
 * @param {string} query
 * @param {RegExpMatchArray | null} found the comparison that it is
 * @throws flumelog:invalid
 */
function refuseMistakes (query, found) {
  const signs = found === null ? query.match(MISTAKEN)?.[1] : undefined
  if (signs !== undefined) {
    const problem = signs in PASSES ? `\`${signs}\` has no value` : `\`${signs}\` is no operator`
    throw errors.invalid(`${problem}: write path = value, or one of ${Object.keys(PASSES).slice(1).join(' ')}; put text in double quotes`)
  }
  const value = found === null ? '' : found[3].trim()
  if (/^'[^]*'$/.test(value)) throw errors.invalid(`${value} is in single quotes: use double quotes, or none`)
  if (!value.startsWith('"') && SECOND.test(value)) throw errors.invalid('there can be one comparison only; put a value that contains another one in double quotes')
}

/**
 * @param {string} text upper and lower case are the same
 * @param {string | null} encoding
 * @returns {Filter}
 */
function textFilter (text, encoding) {
  const isTextual = encoding === 'json' || encoding === 'utf8'
  // eslint-disable-next-line no-control-regex
  const isAscii = /^[\0-\x7f]*$/.test(text)
  // what is stored is what is searched then, and in UTF-8 these bytes are nothing else
  const isInBytes = isTextual && isAscii
  const wanted = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), isAscii ? 'i' : 'iu')
  return {
    mayMatch: (bytes, end, start = 0) => !isInBytes || wanted.test(bytes.toString('latin1', start, end)),
    matches: ({ json, text }, data) => wanted.test(json ?? text ?? data.toString(isTextual ? 'latin1' : 'hex')),
    missing: () => null
  }
}

/**
 * @param {string[]} path
 * @param {string} operator
 * @param {string} wanted
 * @param {string | null} encoding
 * @returns {Filter}
 */
function comparison (path, operator, wanted, encoding) {
  if (path.some(key => key === '')) throw errors.invalid(`the path must be keys separated by dots, such as value.timestamp; it is ${shorten(path.join('.'))}`)
  const orderOf = orderWith(wanted)
  const passes = PASSES[operator]
  const hasKey = whatOccurs(path, null)
  const hasBoth = operator === '=' ? whatOccurs(path, wanted) : hasKey
  let hasValue = false
  return {
    // until there is a value at the path, none is worth being told
    mayMatch: encoding === 'json' ? (bytes, end, start) => (hasValue ? hasBoth : hasKey)(bytes, end, start) : () => true,
    missing: () => hasValue ? null : path.join('.'),
    matches: ({ value, json }) => {
      const found = valueAt(value, path)
      if (found === undefined) return false
      hasValue = true
      // a number that is too long was rounded when it was parsed
      const isRounded = typeof found === 'number' && !Number.isSafeInteger(found) && Number.isInteger(found)
      const order = orderOf(found, isRounded && json !== undefined ? finder(json)(path) ?? String(found) : String(found))
      return order === null ? operator === '!=' : passes(order)
    }
  }
}

/**
 * @param {Buffer} data of a record
 * @returns {Decoded} its value if it is JSON, or its text if it is UTF-8
 */
function decodeJson (data) {
  if (!isUtf8(data)) return {}
  const text = data.toString()
  try {
    return { value: JSON.parse(text), json: text }
  } catch {
    return { text }
  }
}

/**
 * @param {any} value
 * @param {string[]} path
 * @returns {unknown} undefined: there is none
 */
function valueAt (value, path) {
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/**
 * @param {string} wanted
 * @returns {(found: unknown, text: string) => number | null} order of a value and the wanted one; null: they cannot be compared
 */
function orderWith (wanted) {
  const isQuoted = /^"[^]*"$/.test(wanted) && wanted.length > 1
  const asText = isQuoted ? wanted.slice(1, -1) : wanted
  const date = isQuoted ? null : parseDate(wanted)
  const isNumber = !isQuoted && NUMBER.test(wanted)
  return (found, text) => {
    switch (typeof found) {
      case 'number': {
        if (isNumber) return NUMBER.test(text) ? compareNumbers(text, wanted) : null
        const unit = date === null ? null : unitOf(found)
        return unit === null || date === null ? null : compareNumbers(text, numberOf(date, unit))
      }
      case 'string': {
        const other = date === null ? null : parseDate(found)
        if (other !== null && date !== null) return compareTimes(other, date)
        return (isNumber && NUMBER.test(found) ? compareNumbers(found, wanted) : 0) || compare(found, asText)
      }
      case 'boolean': return !isQuoted && (wanted === 'true' || wanted === 'false') ? compare(String(found), wanted) : null
      default: return found === null && wanted === 'null' ? 0 : null
    }
  }
}

/**
 * @param {string} a
 * @param {string} b
 */
function compare (a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

module.exports = { filterOf, comparison, decodeJson }
