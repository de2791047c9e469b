'use strict'

// Recognizes ISO dates, and numbers that are times.

/** From the year alone to fractions of a second; without a zone, the time is UTC. */
const ISO_DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?)?)?$/

/** Times since 1970 between the years 1973 and 5138 are in exactly one of these ranges. */
const UNITS = [
  { name: 'seconds', least: 1e8, milliseconds: 1000 },
  { name: 'milliseconds', least: 1e11, milliseconds: 1 }
]
const LARGEST_TIME = 1e14

/**
 * @param {string} text
 * @returns {number | null} milliseconds since 1970; null: it is not an ISO date, or there is no such day
 */
function parseDate (text) {
  const found = text.match(ISO_DATE)
  if (found === null) return null
  const [, year, month = '01', day = '01', time = '00:00', zone = 'Z'] = found
  const date = new Date(`${year}-${month}-${day}T00:00Z`)
  // February 30 would be March 1 or 2
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return null
  const milliseconds = Date.parse(`${year}-${month}-${day}T${time}${zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(milliseconds) ? null : milliseconds
}

/**
 * @param {number} number
 * @returns {{ name: string, milliseconds: number } | null} the unit in which it is a time since 1970; null: in neither
 */
function unitOf (number) {
  if (number >= LARGEST_TIME) return null
  return UNITS.findLast(({ least }) => number >= least) ?? null
}

module.exports = { parseDate, unitOf }
