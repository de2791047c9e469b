'use strict'

// Makes text safe to print on a terminal, which would obey control characters: they could
// clear the screen, change the colours, or make it send what was not typed.

const { isUtf8 } = require('buffer')

/** Control characters (C0, DEL and C1), except tabs and newlines. */
const CONTROLS = /[^\P{Cc}\t\n]/gu

/**
 * @param {string} text
 * @returns {string} with control characters as in JSON: \u001b
 */
function escapeControls (text) {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * @param {Buffer | string} data
 * @returns {string} bytes that are not UTF-8 as \x9b
 */
function printable (data) {
  if (typeof data === 'string') return escapeControls(data)
  if (isUtf8(data)) return escapeControls(data.toString())
  let text = ''
  for (let i = 0; i < data.length;) {
    const length = sequenceLength(data[i])
    const sequence = data.subarray(i, i + length)
    const isValid = isUtf8(sequence)
    text += isValid ? sequence.toString() : `\\x${data[i].toString(16).padStart(2, '0')}`
    i += isValid ? length : 1
  }
  return escapeControls(text)
}

/** @param {number} byte the first one of a character in UTF-8 */
function sequenceLength (byte) {
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
}

module.exports = { escapeControls, printable }
