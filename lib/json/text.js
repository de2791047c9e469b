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

/** Levels; deeper ones are not indented further. */
const MAX_INDENT = 100

/** What follows on a number, or on true, false and null. */
const ENDS = new Set(Buffer.from('[]{},:" \t\r\n'))

/**
 * By characters: an expression for strings needs memory for each escape in one, of which there can be too many.
 * @param {string} text valid JSON
 * @returns {string[]} strings, punctuation, and everything else
 */
function tokensOf (text) {
  const tokens = []
  let i = 0
  while (i < text.length) {
    const start = i
    const first = text.charCodeAt(i++)
    if (first <= 0x20) continue
    if (first === QUOTE) {
      for (let code = 0; i < text.length && code !== QUOTE; i++) {
        code = text.charCodeAt(i)
        if (code === BACKSLASH) i++
      }
    } else if (!ENDS.has(first)) {
      while (i < text.length && !ENDS.has(text.charCodeAt(i))) i++
    }
    tokens.push(text.slice(start, i))
  }
  return tokens
}

/**
 * @param {string} text valid JSON
 * @returns {string} one line per value
 */
function pretty (text) {
  let result = ''
  let depth = 0
  let before = ''
  for (const token of tokensOf(text)) {
    const opened = before === '{' || before === '['
    if (token === '}' || token === ']') {
      depth--
      result += opened ? token : `\n${indentOf(depth)}${token}`
    } else if (token === ',') {
      result += token
    } else if (token === ':') {
      result += ': '
    } else {
      if (opened || before === ',') result += `\n${indentOf(depth)}`
      result += token
      if (token === '{' || token === '[') depth++
    }
    before = token
  }
  return result
}

/** @param {number} depth */
function indentOf (depth) {
  // the size would grow with the square of the depth
  return '  '.repeat(Math.min(depth, MAX_INDENT))
}

/**
 * Finds values by their paths, as they are written: as numbers, long ones would be rounded.
 * @param {string} text valid JSON
 * @returns {(keys: string[]) => string | undefined} the JSON of the value at a path, without whitespace between tokens
 */
function finder (text) {
  const tokens = tokensOf(text)
  return (keys) => {
    /** @type {number | undefined} */
    let start = 0
    for (const key of keys) {
      start = memberAt(tokens, start, key)
      if (start === undefined) return undefined
    }
    return tokens.slice(start, endOfValue(tokens, start)).join('')
  }
}

/**
 * @param {string[]} tokens
 * @param {number} start of a value
 * @param {string} key of an object, or an index of an array
 * @returns {number | undefined} where its member starts; of several with this key, the last, as `JSON.parse` does
 */
function memberAt (tokens, start, key) {
  const isObject = tokens[start] === '{'
  if (!isObject && tokens[start] !== '[') return undefined
  let found
  let i = start + 1
  for (let index = 0; tokens[i] !== '}' && tokens[i] !== ']'; index++) {
    const value = isObject ? i + 2 : i
    if (key === (isObject ? JSON.parse(tokens[i]) : String(index))) found = value
    i = endOfValue(tokens, value)
    if (tokens[i] === ',') i++
  }
  return found
}

/**
 * @param {string[]} tokens
 * @param {number} i where a value starts
 * @returns {number} the token after it
 */
function endOfValue (tokens, i) {
  let depth = 0
  do {
    const token = tokens[i++]
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
  } while (depth > 0)
  return i
}

module.exports = { compact, pretty, finder }
