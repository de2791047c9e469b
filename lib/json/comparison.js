'use strict'

// Decides how a search compares the values of records with the one given. Values that cannot
// be compared are an error: a comparison as text would find a wrong record, silently.

const { parseDate, looksLikeDate, compareTimes, numberOf, isoDate, unitOf } = require('./dates')
const { shorten } = require('../format-value')

/**
 * @typedef {object} Found the value at the path in a record
 * @property {string} json as it is written
 * @property {number} seq of the record
 *
 * @typedef {(reason: string) => Error} Fail makes an error that names the file
 *
 * @typedef {object} Type of which all values must be
 * @property {string} noun a value of this type
 * @property {(json: string) => any} key what is compared; null if the value is of another type
 * @property {(a: any, b: any) => number} order of two keys
 */

/** Digits are matched in one way only: otherwise it would take quadratic time. */
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i
/** Sign, digits before and after the point, exponent. */
const DECIMAL = /^([+-]?)0*(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i

/** @type {Record<string, Type>} */
const TYPES = {
  number: { noun: 'a number', key: (json) => typeof JSON.parse(json) === 'number' ? json : null, order: (a, b) => compareNumbers(a, b) },
  boolean: { noun: 'true or false', key: (json) => json === 'true' || json === 'false' ? json : null, order: compare },
  text: { noun: 'a string', key: textOf, order: compare },
  date: { noun: 'an ISO date', key: (json) => parseDate(textOf(json) ?? ''), order: compareTimes }
}

/**
 * @param {string} name of the path
 * @param {string} wanted
 * @param {Found} first of the log
 * @param {Found} last of the log, so the largest
 * @param {Fail} fail
 * @returns {{ compare: (found: Found) => number, note: string | null, disorderOf: (seen: Found[]) => string | null }} compare: negative if a
 *   value is less than `wanted`; note: how `wanted` was understood; disorderOf: which of these records show that the log is not sorted
 * @throws what `fail` returns, if they cannot be compared, or are not sorted
 */
function comparisonOf (name, wanted, first, last, fail) {
  const type = typeOf(first, last)
  const { key, order } = TYPES[type]
  const { target, note = null } = targetOf(type, name, wanted, last, fail)
  const disorder = disorderOf([first, last])
  if (disorder !== null) throw fail(disorder)
  return { compare: (found) => order(keyOf(found), target), note, disorderOf }

  /** @param {Found[]} seen */
  function disorderOf (seen) {
    const sorted = [...seen].sort((a, b) => a.seq - b.seq)
    for (let i = 1; i < sorted.length; i++) {
      const [before, after] = [sorted[i - 1], sorted[i]]
      if (order(keyOf(before), keyOf(after)) > 0) return `the log is not sorted by \`${name}\`: ${written(before)} comes before ${written(after)}`
    }
    return null
  }

  /** @param {Found} found */
  function keyOf (found) {
    const result = key(found.json)
    if (result !== null) return result
    throw fail(`\`${name}\` is ${written(found)}, which is not ${TYPES[type].noun} like ${written(last)}`)
  }
}

/**
 * @param {Found} first
 * @param {Found} last
 */
function typeOf (first, last) {
  const type = typeof JSON.parse(last.json)
  if (type !== 'string') return type
  return TYPES.date.key(first.json) !== null && TYPES.date.key(last.json) !== null ? 'date' : 'text'
}

/**
 * @param {string} type
 * @param {string} name
 * @param {string} wanted
 * @param {Found} last
 * @param {Fail} fail
 * @returns {{ target: any, note?: string }} target: the key to search for
 */
function targetOf (type, name, wanted, last, fail) {
  const date = parseDate(wanted)
  const refuse = (/** @type {string} */ what, reason = '') => fail(`--value must be ${what}, not '${shorten(wanted)}': \`${name}\` is ${written(last)}${reason}`)
  if (date === null && looksLikeDate(wanted) && (type === 'number' || type === 'date')) throw fail(`there is no date '${shorten(wanted)}'`)
  switch (type) {
    case 'number': {
      if (NUMBER.test(wanted)) return { target: wanted }
      if (date === null) throw refuse('a number, or an ISO date if the numbers are times')
      const unit = unitOf(Number(last.json))
      if (unit === null) throw refuse('a number', ', which is not a time in seconds or milliseconds since 1970')
      const target = numberOf(date, unit)
      return { target, note: `\`${name}\` is in ${unit.name} since 1970, so ${wanted} means ${target}` }
    }
    case 'date':
      if (date === null) throw refuse('an ISO date')
      return { target: date, note: `\`${name}\` contains dates, so ${wanted} means ${isoDate(date)}` }
    case 'boolean':
      if (TYPES.boolean.key(wanted) === null) throw refuse('true or false')
  }
  return { target: wanted }
}

/**
 * Exactly, however long they are: doubles would round some ids.
 * @param {string} a
 * @param {string} b
 */
function compareNumbers (a, b) {
  const [left, right] = [partsOf(a), partsOf(b)]
  if (left.sign !== right.sign) return left.sign - right.sign
  return left.sign * (compare(left.magnitude, right.magnitude) || compare(left.digits, right.digits))
}

/**
 * @param {string} number
 * @returns {{ sign: number, magnitude: number, digits: string }} 0.digits times 10 to the power of magnitude; digits has no zeros at its ends
 */
function partsOf (number) {
  const [, minus, whole, rest, exponent = '0'] = /** @type {RegExpMatchArray} */ (number.match(DECIMAL))
  const all = whole + rest
  const digits = all.replace(/^0+/, '')
  if (digits === '') return { sign: 0, magnitude: 0, digits: '' }
  return { sign: minus === '-' ? -1 : 1, magnitude: whole.length - (all.length - digits.length) + Number(exponent), digits: withoutZeros(digits) }
}

/** @param {string} digits */
function withoutZeros (digits) {
  let end = digits.length
  // a regular expression would take quadratic time
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** @param {Found} found */
function written ({ json, seq }) {
  return `${shorten(json)} at offset ${seq}`
}

/**
 * @template {string | number | bigint} T
 * @param {T} a
 * @param {T} b
 */
function compare (a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

/** @param {string} json */
function textOf (json) {
  const value = JSON.parse(json)
  return typeof value === 'string' ? value : null
}

module.exports = { NUMBER, comparisonOf, compareNumbers }
