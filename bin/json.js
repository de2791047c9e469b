'use strict'

// JSON made compact, or pretty, without a change to what it says: parsing and
// stringifying it again would round long numbers and move keys that look like ones.

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * @param {Buffer} text valid JSON
 * @returns {Buffer} the same without blanks between its parts
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

/** What JSON is made of: strings, marks, and everything else. */
const PARTS = /"[^"\\]*(?:\\[^][^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/**
 * @param {string} text valid JSON
 * @returns {string} a line a value
 */
function pretty (text) {
  let result = ''
  let indent = ''
  let before = ''
  for (const part of text.match(PARTS) ?? []) {
    const opened = before === '{' || before === '['
    if (part === '}' || part === ']') {
      indent = indent.slice(2)
      result += opened ? part : `\n${indent}${part}`
    } else if (part === ',') {
      result += part
    } else if (part === ':') {
      result += ': '
    } else {
      if (opened || before === ',') result += `\n${indent}`
      result += part
      if (part === '{' || part === '[') indent += '  '
    }
    before = part
  }
  return result
}

module.exports = { compact, pretty }
