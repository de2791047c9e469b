'use strict'

// The parameters of a request.

const { format } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

class Parameters {
  /** @param {URLSearchParams} search */
  constructor (search) {
    this.search = search
  }

  /**
   * @param {string} name
   * @returns {string | null} null: it is not there, or empty
   */
  text (name) {
    return this.search.get(name) || null
  }

  /**
   * @param {string} name
   * @param {number | null} missing what stands for none; null: it must be there
   * @param {number} [most]
   * @returns {number}
   * @throws flumelog:invalid
   */
  natural (name, missing, most = Number.MAX_SAFE_INTEGER) {
    const text = this.text(name)
    if (text === null && missing !== null) return missing
    const number = Number(text)
    if (text !== null && /^\d+$/.test(text) && number <= most) return number
    throw errors.invalid(`${name} must be an integer from 0 to ${most}; it is ${format(text)}`)
  }

  /** @param {string} name */
  flag (name) {
    return this.text(name) === '1' || this.text(name) === 'true'
  }
}

module.exports = { Parameters }
