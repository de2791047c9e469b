'use strict'

// A value that a caller gave, as messages of errors show it.

const { inspect } = require('util')

/**
 * @param {unknown} value
 * @returns {string} short enough for a message
 */
function format (value) {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 80 })
}

module.exports = { format }
