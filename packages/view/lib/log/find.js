'use strict'

// Where to jump: to the start, the end, a percentage or an offset, or to a value by binary search.

const { format, shorten } = require('flumelog-random-access-file/blocks')
const { filterOf, finder, parseDate, parseFilter, quoted, searchJson } = require('flumelog-random-access-file/json')
const errors = require('../errors')
const { offsetOf } = require('./rows')
const { timeOfDate } = require('../decoding/times')

/** @typedef {import('./rows').Rows} Rows */

/**
 * @param {Rows} rows
 * @param {string} at `start`, `end`, a percentage such as `50%`, an offset
 * @param {AbortSignal} signal ends the search
 * @returns {Promise<{ seq: number, warning: string | null }>} seq of the record there, or the next one, or the last; warning: if there is none from there on
 * @throws flumelog:invalid, flumelog:not-found
 */
async function findAt (rows, at, signal) {
  const { start, end } = rows.log
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(at) ?? []
  const isInvalid = at !== 'start' && at !== 'end' && (number === undefined || (percent === '' && !Number.isSafeInteger(Number(number))) || (percent === '%' && Number(number) > 100))
  if (isInvalid) throw errors.invalid(`a place in the log is an offset, a percentage from 0% to 100%, start, or end; it is ${format(at)}`)
  const from = at === 'start' ? start : at === 'end' ? end : percent === '%' ? Math.floor(start + (end - start) * Number(number) / 100) : Number(number)
  for (const reverse of at === 'end' ? [true] : [false, true]) {
    const item = await rows.nearest(from, reverse, signal)
    if (item !== null) return { seq: offsetOf(item), warning: from > end ? `The log ends at offset ${end}: this is its last record` : null }
  }
  throw errors.notFound(rows.log.log.filename, from, 'the log has no records')
}

/**
 * @param {Rows} rows
 * @param {string} query `path = value` or `path >= value`, in the language of filters
 * @param {string | null} encoding
 * @param {AbortSignal} signal ends the search
 * @returns {Promise<{ seq: number, exact: boolean, note: string | null, warning: string | null }>} the first record whose value is not less; exact: whether it is equal;
 *   note: how the value was understood, and what is not sorted; warning: that it is not there
 * @throws flumelog:invalid, flumelog:not-found
 */
async function findValue (rows, query, encoding, signal) {
  const condition = parseFilter(query)
  if (condition.type !== 'comparison' || !['=', '>='].includes(condition.operator)) throw errors.invalid('to jump, write an offset, 50 %, start, end, a date, or path = value, such as timestamp = 2018-02-06')
  const { path: keys, wanted } = condition
  const [path, value] = [keys.join('.'), wanted.text]
  const fail = (/** @type {string} */ reason) => errors.invalid(reason.replace('; check --path (', ' (').replace('--value', 'the value'))
  /** @type {string[]} */
  const notes = []
  const found = await searchJson({
    jsonOf: (data, seq) => {
      const { json } = rows.decoder.decode(data, encoding)
      if (json === undefined) throw fail(`the record at offset ${seq} is not JSON, nor another encoding that has values`)
      return json
    },
    firstRecord: async (reverse) => {
      const record = await rows.nearest(reverse ? rows.log.end : rows.log.start, reverse, signal)
      if (record === null || !('seq' in record)) return null
      return { seq: record.seq, data: await rows.dataOf(record, Infinity) }
    },
    search: (compare) => rows.log.search(compare),
    onNote: (text) => { notes.push(text) }
  }, keys, value, fail)
  if (found === null) throw errors.notFound(rows.log.log.filename, rows.log.end, `no record with ${path} >= ${value}`)
  const decoded = rows.decoder.decode(found.data, encoding)
  const exact = filterOf(`${path} = ${wanted.isQuoted ? quoted(value) : value}`, encoding).matches(decoded, found.data)
  // one jumps to about a date
  const isWrong = !exact && parseDate(value) === null
  const warning = isWrong ? `No record with ${path} = ${shorten(value)} was found: in this one, it is ${shorten(finder(decoded.json ?? '')(keys) ?? '')}. If the log is not sorted by it, filter instead` : null
  return { seq: found.seq, exact, note: notes.length === 0 ? null : notes.join('; '), warning }
}

/**
 * @param {Rows} rows
 * @param {string} date
 * @param {string | null} encoding
 * @returns {Promise<{ seq: number, warning: null }>} the first record whose time, as its row shows it, is not earlier
 * @throws flumelog:invalid, flumelog:not-found
 */
async function findTime (rows, date, encoding) {
  const { decoder, log } = rows
  const wanted = timeOfDate(date)
  if (wanted === null) throw errors.invalid(`time must be a date such as 2024-01-31 or 2024-01-31T12:00:00Z; it is ${format(date)}`)
  const found = await log.search((data, seq) => {
    const time = decoder.timeOf(decoder.decode(data, encoding))
    if (time === null) throw errors.invalid(`the record at offset ${seq} has no time: jump by path = value`)
    return time - wanted
  })
  if (found === null) throw errors.notFound(log.log.filename, log.end, `no record at or after ${date}`)
  return { seq: found.seq, warning: null }
}

module.exports = { findAt, findTime, findValue }
