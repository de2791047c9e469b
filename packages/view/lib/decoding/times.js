'use strict'

// When a record was made, by the names that such members usually have.

const { parseDate, unitOf } = require('flumelog-random-access-file/json')

const NAMES = ['time', 'timestamp', 'at', 'ts', 'date', 'createdAt', 'created_at', '@timestamp']
/** Objects in which records of ssb, and others, have their content. */
const WRAPPERS = ['value', 'meta', 'metadata']

/**
 * @param {any} value of a record
 * @returns {number | null} milliseconds since 1970
 */
function timeIn (value) {
  if (!isObject(value)) return null
  for (const object of [value, ...WRAPPERS.map(name => own(value, name)).filter(isObject)]) {
    for (const name of NAMES) {
      const time = millisecondsOf(own(object, name))
      if (time !== null) return time
    }
  }
  return null
}

/** @param {unknown} value a number in seconds or milliseconds, or an ISO date */
function millisecondsOf (value) {
  if (typeof value === 'number') {
    const unit = unitOf(value)
    return unit === null ? null : value * unit.milliseconds
  }
  return typeof value === 'string' ? timeOfDate(value) : null
}

/**
 * @param {string} text an ISO date
 * @returns {number | null} milliseconds since 1970; null: it is none
 */
function timeOfDate (text) {
  const date = parseDate(text)
  return date === null ? null : date.seconds * 1000 + Number(`0.${date.fraction}0`) * 1000
}

/** @param {any} value */
function isObject (value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * @param {any} object
 * @param {string} name
 */
function own (object, name) {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

module.exports = { timeIn, timeOfDate }
