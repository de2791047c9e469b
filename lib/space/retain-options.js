'use strict'

// The option `retain`: what a log is to keep.

const { types } = require('util')
const errors = require('../errors')
const { format } = require('../format-value')
const { optionNames, pick } = require('../option-names')

/**
 * Limits, any of them. Blocks at the head of the log are trimmed as soon as one of them allows it.
 * @typedef {object} RetainOptions
 * @property {number} [bytes] of the log: at least as many stay, and two to three blocks more
 * @property {number} [age] in milliseconds: younger records stay, and two to three blocks more; requires `time`
 * @property {(value: any) => number | Date | null | undefined} [time] the time of a record: a `Date`, or milliseconds since 1970, as `Date.now()` gives it. Anything
 *   else, such as undefined, means that the record has none, and so does a number that is a time of the years 2001 to 2099 in seconds. A block
 *   is as old as its last record that has one; without any, it goes with the next block that has one. If no record has a time, a warning of the
 *   process says so, with the code `FLUMELOG_RETAIN`. It cannot be async
 */

const NAMES = ['bytes', 'age', 'time']
const checkNames = optionNames('retain', NAMES)
const LIMITS = /** @type {const} */ (['bytes', 'age'])

/**
 * @param {unknown} given
 * @returns {RetainOptions | null} null: everything stays
 * @throws flumelog:invalid
 */
function retainOf (given) {
  if (given === undefined || given === null) return null
  checkNames(given)
  const retain = /** @type {RetainOptions} */ (pick(given, NAMES))
  const limits = LIMITS.filter(name => retain[name] !== undefined)
  if (limits.length === 0) throw errors.invalid('retain must have at least one of bytes and age')
  for (const name of limits) {
    if (Number.isSafeInteger(retain[name]) && Number(retain[name]) >= 1) continue
    throw errors.invalid(`${name} of retain must be an integer of 1 or more; it is ${format(retain[name])}`)
  }
  const { age, time } = retain
  if ((age === undefined) !== (time === undefined)) throw errors.invalid('age and time of retain go together: time gives the time of a record')
  if (time !== undefined && typeof time !== 'function') throw errors.invalid(`time of retain must be a function; it is ${format(time)}`)
  if (types.isAsyncFunction(time)) throw errors.invalid('time of retain must return the time itself; an async function returns a promise')
  return retain
}

module.exports = { retainOf }
