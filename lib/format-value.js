'use strict'

// A value that a caller gave, as messages of errors show it.

const { inspect } = require('util')

/** Characters of a value that an error quotes. */
const MAX_QUOTED = 80

/**
 * @param {unknown} value
 * @returns {string} short enough for a message
 */
function format (value) {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 80 })
}

/**
 * @param {string} text a value to be quoted
 * @returns {string} at most 80 characters of it
 */
function shorten (text) {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 1)}…`
}

module.exports = { format, shorten }
