'use strict'

// Colours text for terminals, unless NO_COLOR is set.

/** @type {Record<string, string>} */
const CODES = { red: '31', yellow: '33', dim: '2', bold: '1' }

/**
 * @param {NodeJS.WriteStream} stream to which the text will be printed
 * @param {'red' | 'yellow' | 'dim' | 'bold'} style
 * @param {string} text
 * @returns {string}
 */
function paint (stream, style, text) {
  if (!stream.isTTY || process.env.NO_COLOR || process.env.TERM === 'dumb') return text
  return `\x1b[${CODES[style]}m${text}\x1b[0m`
}

module.exports = { paint }
