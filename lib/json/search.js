'use strict'

// Binary search for a JSON value at a path, in a log that is sorted by it.

const { comparisonOf } = require('./comparison')
const { shorten } = require('../format-value')
const { finder } = require('./text')

/** Keys that an error lists. */
const MAX_KEYS = 10

/**
 * @typedef {import('./comparison').Found} Found
 * @typedef {import('./comparison').Fail} Fail
 * @typedef {{ seq: number, data: Buffer }} SeqAndData
 *
 * @typedef {object} SearchedLog
 * @property {(data: Buffer, seq: number) => string} jsonOf gives a record as JSON, or throws what says why that cannot be
 * @property {(reverse: boolean) => Promise<SeqAndData | null>} firstRecord the first record, or with `reverse` the last; null: there is none
 * @property {(compare: (data: Buffer, seq: number) => number) => Promise<SeqAndData | null>} search the first record for which `compare`
 *   is 0 or more; null: there is none
 * @property {(note: string) => void} onNote told how the value was understood, if that is not as it is written, and which records that were
 *   compared are not sorted
 */

/**
 * @param {SearchedLog} log
 * @param {string[]} path keys
 * @param {string} wanted
 * @param {Fail} fail
 * @returns {Promise<SeqAndData | null>} the first record whose value is not less than `wanted`
 * @throws what `fail` returns, if values cannot be compared, or are not sorted
 */
async function searchJson (log, path, wanted, fail) {
  const valueIn = (/** @type {SeqAndData} */ { data, seq }) => foundIn(log.jsonOf(data, seq), seq, path, fail)
  const first = await log.firstRecord(false)
  const last = await log.firstRecord(true)
  if (first === null || last === null) return null
  const seen = [valueIn(first), valueIn(last)]
  const { compare, note, disorderOf } = comparisonOf(path.join('.'), wanted, seen[0], seen[1], fail)
  if (note !== null) log.onNote(note)
  const found = await log.search((data, seq) => {
    const value = valueIn({ data, seq })
    seen.push(value)
    return compare(value)
  })
  const disorder = disorderOf(seen)
  if (disorder !== null) log.onNote(`${disorder}; ${found === null ? 'so there may be such a record' : 'so an earlier record may match, too'}`)
  return found
}

/**
 * @param {string} text valid JSON
 * @param {number} seq
 * @param {string[]} path
 * @param {Fail} fail
 * @returns {Found}
 */
function foundIn (text, seq, path, fail) {
  const json = finder(text)(path)
  if (json !== undefined && /^["\dtf-]/.test(json)) return { json, seq }
  throw fail(`the record at offset ${seq} has no number, string or boolean at \`${path.join('.')}\`; check --path (${describeKeys(JSON.parse(text), path)})`)
}

/**
 * @param {any} value of a record
 * @param {string[]} path
 * @returns {string} what the path can go on with where it ends
 */
function describeKeys (value, path) {
  let depth = 0
  while (depth < path.length && isObject(value) && Object.hasOwn(value, path[depth])) value = value[path[depth++]]
  const where = depth === 0 ? 'the record' : `\`${path.slice(0, depth).join('.')}\``
  if (!isObject(value)) return `${where} is ${shorten(JSON.stringify(value))}`
  const keys = Object.keys(value)
  return `keys of ${where}: ${keys.slice(0, MAX_KEYS).map(shorten).join(', ')}${keys.length > MAX_KEYS ? ', …' : ''}`
}

/** @param {any} value */
function isObject (value) {
  return value !== null && typeof value === 'object'
}

module.exports = { searchJson }
