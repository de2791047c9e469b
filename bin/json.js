'use strict'

// Formats JSON without changing its content. Parsing and stringifying it would round long
// numbers and reorder integer-like keys.

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * @param {Buffer} text valid JSON
 * @returns {Buffer} the same without whitespace between tokens
 */
function compact (text) {
  const result = Buffer.allocUnsafe(text.length)
  let size = 0
  let isInString = false
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]
    if (isInString) {
      if (byte === BACKSLASH) result[size++] = text[i++]
      else if (byte === QUOTE) isInString = false
    } else {
      if (byte <= 0x20) continue
      isInString = byte === QUOTE
    }
    result[size++] = text[i]
  }
  return result.subarray(0, size)
}

/** The tokens of JSON: strings, punctuation, and everything else. */
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/**
 * @param {string} text valid JSON
 * @returns {string} one line per value
 */
function pretty (text) {
  let result = ''
  let indent = ''
  let before = ''
  for (const token of text.match(TOKENS) ?? []) {
    const opened = before === '{' || before === '['
    if (token === '}' || token === ']') {
      indent = indent.slice(2)
      result += opened ? token : `\n${indent}${token}`
    } else if (token === ',') {
      result += token
    } else if (token === ':') {
      result += ': '
    } else {
      if (opened || before === ',') result += `\n${indent}`
      result += token
      if (token === '{' || token === '[') indent += '  '
    }
    before = token
  }
  return result
}

module.exports = { compact, pretty }
