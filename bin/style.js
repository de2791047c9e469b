'use strict'

// Colours, where they are wanted: on a terminal, and with NO_COLOR unset.

/** @type {Record<string, string>} */
const CODES = { red: '31', yellow: '33', dim: '2', bold: '1' }

/**
 * @param {NodeJS.WriteStream} stream on which the text will be printed
 * @param {'red' | 'yellow' | 'dim' | 'bold'} style
 * @param {string} text
 * @returns {string}
 */
function paint (stream, style, text) {
  if (!stream.isTTY || process.env.NO_COLOR || process.env.TERM === 'dumb') return text
  return `\x1b[${CODES[style]}m${text}\x1b[0m`
}

module.exports = { paint }
