'use strict'

// Recognizes ISO dates, and numbers that are times.

/** From the year alone to fractions of a second; without a zone, the time is UTC. */
const ISO_DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.(\d+))?)?)(Z|[+-]\d\d:?\d\d)?)?)?)?$/

/** Times since 1970 between the years 1973 and 5138 are in exactly one of these ranges. */
const UNITS = [
  { name: 'seconds', least: 1e8, milliseconds: 1000 },
  { name: 'milliseconds', least: 1e11, milliseconds: 1 }
]
const LARGEST_TIME = 1e14

/** A point in time, as exact as it is written. @typedef {{ seconds: number, fraction: string }} Time seconds: since 1970; fraction: digits */

/**
 * @param {string} text
 * @returns {Time | null} null: it is not an ISO date, or there is no such day or time
 */
function parseDate (text) {
  const found = text.match(ISO_DATE)
  if (found === null) return null
  const [, year, month = '01', day = '01', time = '00:00', fraction = '', zone = 'Z'] = found
  const date = new Date(`${year}-${month}-${day}T00:00Z`)
  // February 30 would be March 1 or 2
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return null
  const milliseconds = Date.parse(`${year}-${month}-${day}T${time.replace(/\.\d+$/, '')}${zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(milliseconds) ? null : { seconds: milliseconds / 1000, fraction: fraction.replace(/0+$/, '') }
}

/**
 * @param {string} text
 * @returns {boolean} whether it is written as an ISO date is, though there may be no such day
 */
function looksLikeDate (text) {
  return /^\d{4}-\d\d/.test(text)
}

/**
 * @param {Time} a
 * @param {Time} b
 */
function compareTimes (a, b) {
  if (a.seconds !== b.seconds) return a.seconds - b.seconds
  return a.fraction < b.fraction ? -1 : a.fraction > b.fraction ? 1 : 0
}

/**
 * @param {Time} time
 * @param {{ milliseconds: number }} unit
 * @returns {string} the time as a number
 */
function numberOf ({ seconds, fraction }, { milliseconds }) {
  const shift = milliseconds === 1 ? 3 : 0
  const digits = fraction.padEnd(shift, '0')
  const all = BigInt(seconds) * 10n ** BigInt(digits.length) + BigInt(digits)
  const text = String(all < 0n ? -all : all).padStart(digits.length + 1, '0')
  const point = text.length - digits.length + shift
  const rest = text.slice(point)
  return `${all < 0n ? '-' : ''}${text.slice(0, point).replace(/^0+(?=\d)/, '')}${rest === '' ? '' : `.${rest}`}`
}

/**
 * @param {Time} time
 * @returns {string} in UTC
 */
function isoDate ({ seconds, fraction }) {
  return new Date(seconds * 1000).toISOString().replace('.000Z', `.${fraction.padEnd(3, '0')}Z`)
}

/**
 * @param {number} number
 * @returns {{ name: string, milliseconds: number } | null} the unit in which it is a time since 1970; null: in neither
 */
function unitOf (number) {
  if (number >= LARGEST_TIME) return null
  return UNITS.findLast(({ least }) => number >= least) ?? null
}

module.exports = { parseDate, looksLikeDate, compareTimes, numberOf, isoDate, unitOf }
