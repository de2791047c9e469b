'use strict'

// Makes records safe to print on a terminal, which may not even be text.

const { isUtf8 } = require('buffer')
const { escapeControls } = require('./style')

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

module.exports = { printable }
