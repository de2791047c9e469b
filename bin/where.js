'use strict'

// The filters of dump and search: docs/filters.md.

const { InvalidArgumentError } = require('commander')
const { decodeJson, filterOf } = require('../lib/json/filter')
const { parseFilter } = require('../lib/json/parse-filter')

/**
 * @param {string} query
 * @returns {Where}
 */
function parseWhere (query) {
  if (query.trim() === '') throw new InvalidArgumentError('must be a text, or a comparison such as value.author = @bob')
  try {
    return new Where(query)
  } catch (err) {
    throw new InvalidArgumentError(`is invalid: ${/** @type {Error} */ (err).message}`)
  }
}

/**
 * @param {string} query
 * @returns {{ path: string[], value: string }} of a comparison that a binary search can look for
 */
function parseCondition (query) {
  try {
    const condition = parseFilter(query)
    if (condition.type === 'comparison' && ['=', '>='].includes(condition.operator)) return { path: condition.path, value: condition.wanted.text }
  } catch (err) {
    throw new InvalidArgumentError(`is invalid: ${/** @type {Error} */ (err).message}`)
  }
  throw new InvalidArgumentError('must be path >= value, or path = value: a binary search looks for one value')
}

class Where {
  /** @param {string} query */
  constructor (query) {
    this.filter = filterOf(query, 'json')
    /** Whether there were records that could have passed. */
    this.hasRecords = false
    this.hasMatches = false
  }

  /**
   * @param {Buffer} data
   * @returns {boolean}
   */
  matches (data) {
    this.hasRecords = true
    const isMatch = this.filter.mayMatch(data, data.length) && this.filter.matches(decodeJson(data), data)
    if (isMatch) this.hasMatches = true
    return isMatch
  }

  /** @returns {string | null} for stderr, at the end */
  note () {
    if (this.hasMatches || !this.hasRecords) return null
    const missing = this.filter.missing()
    return missing === null ? 'no record matches --where' : `no record that was looked at has a value at \`${missing}\`; check --where`
  }

  /**
   * @param {(data: Buffer, seq: number) => void} print
   * @param {number} [limit] of records that are printed
   * @returns {(data: Buffer, seq: number) => boolean} prints those that match; false: the limit is reached
   */
  printing (print, limit = Infinity) {
    let left = limit
    return (data, seq) => {
      if (!this.matches(data)) return true
      print(data, seq)
      return --left > 0
    }
  }
}

module.exports = { parseCondition, parseWhere }
