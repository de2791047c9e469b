'use strict'

// Search: binary over sequences, or by the time at which records were stored, of which the server has an index.

const { format, optionNames } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

const checkNames = optionNames('search', ['time'])

/** What a server can compare: it counts nanoseconds since 1970 in 64 bits, and takes a time that does not fit for another one. No record has one. */
const LAST_TIME = Date.UTC(2262, 0)

/**
 * @typedef {import('./direct-get').Message} Message
 * @typedef {{ seq: number, value: any }} Found
 */

/**
 * @param {import('./reader').Reader} reader
 * @param {(message: Message) => Found} foundOf decodes a record
 * @param {unknown} what `compare`, or `{ time }`
 * @returns {Promise<Found>}
 */
async function search (reader, foundOf, what) {
  const { first_seq: first, last_seq: last } = await reader.refresh()
  const message = typeof what === 'function'
    ? await firstOf(reader, message => isAtOrAfter(/** @type {any} */ (what), foundOf(message)), first, last)
    : await reader.since(timeOf(what), last)
  if (message === null) throw errors.noMatch(reader.label)
  return foundOf(message)
}

/**
 * Binary search.
 * @param {import('./reader').Reader} reader
 * @param {(message: Message) => boolean} isAtOrAfter the target; true for all messages after one for which it is
 * @param {number} first sequence
 * @param {number} last sequence that is known
 * @returns {Promise<Message | null>} the first message for which it is true
 */
async function firstOf (reader, isAtOrAfter, first, last) {
  /** All messages before `low` are before the target; those from `high` on are not. */
  let low = Math.max(first, 1)
  let high = last + 1
  /** @type {Message | null} */
  let found = null
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2)
    const message = await reader.next(middle, last)
    // no message from the middle on
    if (message === null || message.seq >= high) high = middle
    else if (isAtOrAfter(message)) {
      found = message
      high = middle
    } else low = message.seq + 1
  }
  return found
}

/**
 * @param {import('flumelog-random-access-file/parts').Compare} compare
 * @param {Found} record
 * @throws flumelog:invalid if `compare` does not return a number; what it throws
 */
function isAtOrAfter (compare, { seq, value }) {
  let order
  try {
    order = compare(value, seq)
  } catch (thrown) {
    throw errors.thrown('compare', thrown)
  }
  if (typeof order === 'bigint' || (typeof order === 'number' && !Number.isNaN(order))) return order >= 0
  throw errors.invalid(`compare must return a number; for the record ${seq} it returned ${format(order)}`)
}

/**
 * @param {any} what
 * @returns {Date}
 * @throws flumelog:invalid
 */
function timeOf (what) {
  if (what === null || typeof what !== 'object') throw errors.invalid(`compare must be a function, or { time }; it is ${format(what)}`)
  checkNames(what)
  const time = new Date(what.time)
  if (Number.isNaN(time.getTime())) throw errors.invalid(`time must be a Date, or milliseconds since 1970; it is ${format(what.time)}`)
  return new Date(Math.min(Math.max(time.getTime(), 0), LAST_TIME))
}

module.exports = { search, firstOf }
