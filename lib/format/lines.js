'use strict'

// Lines of text with a checksum: the eight hexadecimal digits of the CRC-32 of the text, a space, the text, a newline. Pure.

const { crc32 } = require('zlib')

/** Hexadecimal digits of a CRC-32. */
const CHECKSUM_DIGITS = 8

/**
 * @param {string} text
 * @param {number} [size] characters of a line that is to have so many: blanks follow the text; default: none do
 * @returns {string} the line
 */
function formatLine (text, size = 0) {
  const padded = text.padEnd(size - CHECKSUM_DIGITS - 2)
  return `${crc32(padded).toString(16).padStart(CHECKSUM_DIGITS, '0')} ${padded}\n`
}

/**
 * @param {string | undefined} line without its newline
 * @returns {string | null} its text; null: the checksum does not match
 */
function parseLine (line) {
  if (line === undefined || line[CHECKSUM_DIGITS] !== ' ') return null
  const text = line.slice(CHECKSUM_DIGITS + 1)
  return crc32(text) === parseInt(line.slice(0, CHECKSUM_DIGITS), 16) ? text : null
}

module.exports = { CHECKSUM_DIGITS, formatLine, parseLine }
