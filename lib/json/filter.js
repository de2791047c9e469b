'use strict'

// Evaluates filters: which records they let pass.

const { isUtf8 } = require('buffer')
const errors = require('../errors')
const { compareTimes, numberOf, parseDate, unitOf } = require('./dates')
const { NUMBER, compareNumbers } = require('./comparison')
const { byteText } = require('./byte-text')
const { whatOccurs } = require('./occurrence')
const { parseFilter } = require('./parse-filter')
const { finder } = require('./text')

const isEnumerable = Object.prototype.propertyIsEnumerable
const WITHOUT_VALUES = ['utf8', 'hex']
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
 * @typedef {import('./parse-filter').Condition} Condition
 * @typedef {import('./parse-filter').Wanted} Wanted
 *
 * @typedef {object} Decoded a record
 * @property {any} [value] missing: it is text, or bytes
 * @property {string} [json] the value as JSON; a record that is JSON as it is written
 * @property {string} [text] if it is text
 *
 * @typedef {object} Filter
 * @property {(bytes: Buffer, end: number, start?: number) => boolean} mayMatch false: no record within these bytes can pass
 * @property {(decoded: Decoded, data: Buffer) => boolean} matches
 * @property {() => string | null} missing a path, if none of the records that were given has a value there
 * @property {(text: string) => Array<{ index: number, length: number }>} marks the first place in a record's text of each text and pattern that it looks for
 */

/** @type {Filter} */
const EVERYTHING = { mayMatch: () => true, matches: () => true, missing: () => null, marks: () => [] }

/**
 * @param {string} query docs/filters.md
 * @param {string | null} encoding of the records
 * @returns {Filter} an empty query lets everything pass
 * @throws flumelog:invalid
 */
function filterOf (query, encoding) {
  return evaluate(parseFilter(query), encoding)
}

/**
 * @param {Condition} condition
 * @param {string | null} encoding
 * @returns {Filter}
 */
function evaluate (condition, encoding) {
  switch (condition.type) {
    case 'text': return textFilter(condition.text, encoding)
    case 'and': return all(condition.parts.map(part => evaluate(part, encoding)))
    case 'or': return any(condition.parts.map(part => evaluate(part, encoding)))
    case 'not': return not(evaluate(condition.part, encoding))
    case 'comparison': return comparison(condition, encoding)
    case 'exists': return valueFilter(condition.path, encoding, () => true)
    case 'pattern': return condition.path === null ? patternFilter(condition.pattern) : valuePattern(condition.path, condition.pattern, encoding)
    default: return EVERYTHING
  }
}

/**
 * Of parts for which no value was found yet, each record is looked at: otherwise nobody could tell whether there is one.
 * @param {Filter[]} parts
 * @returns {Filter}
 */
function all (parts) {
  return {
    mayMatch: (bytes, end, start) => {
      let result = true
      for (const part of parts) {
        const isMissing = part.missing() !== null
        if (!result && !isMissing) continue
        if (!part.mayMatch(bytes, end, start)) result = false
        else if (isMissing) return true
      }
      return result
    },
    matches: (decoded, data) => combine(parts, decoded, data, false),
    missing: () => missingIn(parts),
    marks: (text) => parts.flatMap(part => part.marks(text))
  }
}

/**
 * @param {Filter[]} parts
 * @returns {Filter}
 */
function any (parts) {
  return {
    mayMatch: (bytes, end, start) => parts.some(part => part.mayMatch(bytes, end, start)),
    matches: (decoded, data) => combine(parts, decoded, data, true),
    missing: () => missingIn(parts),
    marks: (text) => parts.flatMap(part => part.marks(text))
  }
}

/**
 * @param {Filter[]} parts
 * @param {Decoded} decoded
 * @param {Buffer} data
 * @param {boolean} decisive the result of one part that decides
 * @returns {boolean}
 */
function combine (parts, decoded, data, decisive) {
  let result = !decisive
  for (const part of parts) {
    if (result === decisive && part.missing() === null) continue
    if (part.matches(decoded, data) === decisive) result = decisive
  }
  return result
}

/** @param {Filter[]} parts */
function missingIn (parts) {
  return parts.map(part => part.missing()).find(path => path !== null) ?? null
}

/**
 * @param {Filter} part
 * @returns {Filter}
 */
function not (part) {
  return { ...EVERYTHING, matches: (decoded, data) => !part.matches(decoded, data), missing: () => part.missing() }
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
  const wanted = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), isAscii ? 'i' : 'iu')
  // what is stored is what is searched, and in UTF-8 the bytes of a character are nothing else
  const inBytes = isAscii ? wanted : byteText(text)
  return {
    mayMatch: (bytes, end, start = 0) => !isTextual || inBytes.test(bytes.toString('latin1', start, end)),
    matches: ({ json, text }, data) => {
      const decoded = json ?? text
      if (decoded !== undefined) return wanted.test(decoded)
      return isTextual ? inBytes.test(data.toString('latin1')) : wanted.test(data.toString('hex'))
    },
    missing: () => null,
    marks: (text) => {
      const found = wanted.exec(text)
      return found === null || found[0] === '' ? [] : [{ index: found.index, length: found[0].length }]
    }
  }
}

/**
 * @param {import('./pattern').Pattern} pattern
 * @returns {Filter}
 */
function patternFilter (pattern) {
  return {
    ...EVERYTHING,
    matches: ({ json, text }) => pattern.find(json ?? text ?? '') !== null,
    marks: (text) => {
      const found = pattern.find(text)
      return found === null || found.length === 0 ? [] : [found]
    }
  }
}

/**
 * @param {string[]} path
 * @param {import('./pattern').Pattern} pattern
 * @param {string | null} encoding
 * @returns {Filter}
 */
function valuePattern (path, pattern, encoding) {
  return valueFilter(path, encoding, (found, written) => isScalar(found) && pattern.find(written) !== null)
}

/**
 * @param {{ path: string[], operator: string, wanted: Wanted }} comparison
 * @param {string | null} encoding
 * @returns {Filter}
 */
function comparison ({ path, operator, wanted }, encoding) {
  const orderOf = orderWith(wanted)
  const passes = PASSES[operator]
  return valueFilter(path, encoding, (found, written) => {
    const order = orderOf(found, written)
    return order === null ? operator === '!=' : passes(order)
  }, operator === '=' ? wanted : null)
}

/**
 * @param {string[]} path
 * @param {string | null} encoding
 * @param {(found: unknown, written: string) => boolean} passes given the value at the path, and as it is written unless it is an object or array
 * @param {Wanted | null} [equal] the only value that can pass; null: others can
 * @returns {Filter}
 * @throws flumelog:invalid
 */
function valueFilter (path, encoding, passes, equal = null) {
  if (WITHOUT_VALUES.includes(encoding ?? '')) throw errors.invalid(`the records are shown as ${encoding === 'hex' ? 'bytes' : 'text'}, and have no value at \`${path.join('.')}\`: put text in double quotes`)
  const hasKey = whatOccurs(path, null)
  const hasBoth = equal === null ? hasKey : whatOccurs(path, equal)
  let hasValue = false
  return {
    // until there is a value at the path, none is worth being told
    mayMatch: encoding === 'json' ? (bytes, end, start) => (hasValue ? hasBoth : hasKey)(bytes, end, start) : () => true,
    missing: () => hasValue ? null : path.join('.'),
    marks: () => [],
    matches: ({ value, json }) => {
      const found = valueAt(value, path)
      if (found === undefined) return false
      hasValue = true
      // an integer that is too long was rounded when it was parsed, maybe to Infinity
      const isRounded = typeof found === 'number' && !Number.isSafeInteger(found) && Math.trunc(found) === found
      return passes(found, isRounded && json !== undefined ? finder(json)(path) ?? String(found) : isScalar(found) ? String(found) : '')
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
    // not the length of an array
    if (typeof value !== 'object' || value === null || !isEnumerable.call(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** @param {unknown} found */
function isScalar (found) {
  return typeof found !== 'object' || found === null
}

/**
 * @param {Wanted} wanted
 * @returns {(found: unknown, text: string) => number | null} order of a value and the wanted one; null: they cannot be compared
 */
function orderWith ({ text: wanted, isQuoted }) {
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
        return (isNumber && NUMBER.test(found) ? compareNumbers(found, wanted) : 0) || compare(found, wanted)
      }
      case 'boolean': return !isQuoted && (wanted === 'true' || wanted === 'false') ? compare(String(found), wanted) : null
      default: return found === null && !isQuoted && wanted === 'null' ? 0 : null
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

module.exports = { filterOf, decodeJson }
