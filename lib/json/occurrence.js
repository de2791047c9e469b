'use strict'

// Which bytes a JSON record must have for a filter to let it pass: looking for them is much cheaper than parsing all records.

const { parseDate } = require('./dates')

const BACKSLASH = 0x5c
/** Keys that may be positions in arrays, which are not written. */
const POSITION = /^\d+$/
/** Other numbers are looked at without this. */
const DECIMAL = /^[+-]?0*(\d*)(?:\.(\d*))?$/
/** A number with an exponent can be equal to one that has no digit in common with it. */
const EXPONENT = /[\d.]e[+-]?\d/i

/** @typedef {import('./parse-filter').Wanted} Wanted */

/**
 * @param {string[]} path
 * @param {Wanted | null} wanted the value that it must have; null: any
 * @returns {(bytes: Buffer, end: number, start?: number) => boolean} false: none of the JSON within these bytes can have it
 */
function whatOccurs (path, wanted) {
  const key = Buffer.from(path.findLast(key => !POSITION.test(key)) ?? '')
  const { text, isNumber } = (wanted === null ? null : occurrenceOf(wanted)) ?? { text: '', isNumber: false }
  const value = Buffer.from(text)
  return (bytes, end, start = 0) => {
    const part = bytes.subarray(start, end)
    const hasKey = part.includes(key)
    if (hasKey && part.includes(value)) return true
    // any character can be written as an escape
    return part.includes(BACKSLASH) || (hasKey && isNumber && EXPONENT.test(part.toString('latin1')))
  }
}

/**
 * @param {Wanted} wanted
 * @returns {{ text: string, isNumber: boolean } | null} what occurs in each record with an equal value; null: that is not known
 */
function occurrenceOf ({ text: wanted, isQuoted }) {
  if (isQuoted) return { text: wanted, isNumber: false }
  if (parseDate(wanted) !== null || /\de/i.test(wanted)) return null
  const [, whole, fraction = ''] = DECIMAL.exec(wanted) ?? []
  if (whole === undefined) return { text: wanted, isNumber: false }
  // as 1.50, 01.5 and 1.5 have it
  const digits = fraction.replace(/0+$/, '')
  return { text: `${whole}${digits === '' ? '' : `.${digits}`}`, isNumber: true }
}

module.exports = { whatOccurs }
