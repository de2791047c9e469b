'use strict'

// Decides how search compares the values of records with the one given. Values that cannot
// be compared are an error: a comparison as text would find a wrong record, silently.

const { parseDate, unitOf } = require('./dates')

/**
 * @typedef {object} Found the value at the path in a record
 * @property {string} json as it is written
 * @property {number} seq of the record
 *
 * @typedef {(reason: string) => Error} Fail makes an error that names the file
 *
 * @typedef {object} Type of which all values must be
 * @property {(json: string) => any} key what is compared; null if the value is of another type
 * @property {(a: any, b: any) => number} order of two keys
 */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const INTEGER = /^[+-]?\d+$/

/** @type {Record<string, Type>} */
const TYPES = {
  number: { key: (json) => typeof JSON.parse(json) === 'number' ? json : null, order: (a, b) => compareNumbers(a, b) },
  boolean: { key: (json) => json === 'true' || json === 'false' ? json : null, order: compare },
  text: { key: textOf, order: compare },
  date: { key: (json) => parseDate(textOf(json) ?? ''), order: compare }
}

/**
 * @param {string} name of the path
 * @param {string} wanted
 * @param {Found} first of the log
 * @param {Found} last of the log, so the largest
 * @param {Fail} fail
 * @returns {{ compare: (found: Found) => number, note: string | null }} compare: negative if a value is less than `wanted`; note: how
 *   `wanted` was understood
 * @throws what `fail` returns, if they cannot be compared, or are not sorted
 */
function comparisonOf (name, wanted, first, last, fail) {
  const type = typeOf(first, last)
  const { key, order } = TYPES[type]
  const { target, note = null } = targetOf(type, name, wanted, last, fail)
  if (order(keyOf(first), keyOf(last)) > 0) throw fail(`the log is not sorted by \`${name}\`: it is ${first.json} at offset ${first.seq}, and ${last.json} at offset ${last.seq}`)
  return { compare: (found) => order(keyOf(found), target), note }

  /** @param {Found} found */
  function keyOf (found) {
    const result = key(found.json)
    if (result !== null) return result
    throw fail(`\`${name}\` has values of different types: ${found.json} at offset ${found.seq}, ${last.json} at offset ${last.seq}`)
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
  const refuse = (/** @type {string} */ what, reason = '') => fail(`--value must be ${what}, not '${wanted}': \`${name}\` is ${last.json} at offset ${last.seq}${reason}`)
  switch (type) {
    case 'number': {
      if (NUMBER.test(wanted)) return { target: wanted }
      if (date === null) throw refuse('a number, or an ISO date if the numbers are times')
      const unit = unitOf(Number(last.json))
      if (unit === null) throw refuse('a number', ', which is not a time in seconds or milliseconds since 1970')
      const target = String(date / unit.milliseconds)
      return { target, note: `\`${name}\` is in ${unit.name} since 1970, so ${wanted} is ${target}` }
    }
    case 'date':
      if (date === null) throw refuse('an ISO date')
      return { target: date, note: `\`${name}\` is an ISO date, so ${wanted} is ${new Date(date).toISOString()}` }
    case 'boolean':
      if (TYPES.boolean.key(wanted) === null) throw refuse('true or false')
  }
  return { target: wanted }
}

/**
 * @param {string} a
 * @param {string} b
 */
function compareNumbers (a, b) {
  // long integers, such as some ids, would be rounded
  if (INTEGER.test(a) && INTEGER.test(b)) return compare(BigInt(a), BigInt(b))
  return compare(Number(a), Number(b))
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

module.exports = { comparisonOf }
