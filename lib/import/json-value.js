'use strict'

// Whether bytes are JSON, without making its objects and strings, which takes most of the time of `JSON.parse`.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const LETTER_U = 0x75
const FIRST_PRINTABLE = 0x20
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** Bits of the number that says which arrays and objects are open. */
const MAX_DEPTH = 30
const LITERALS = ['true', 'false', 'null'].map(text => Buffer.from(text))

// kinds of bytes
const SPACE = 1
const ESCAPED = 2
const DIGIT = 4
const HEX = 8
const KINDS = new Uint8Array(256)
for (const byte of Buffer.from(' \t\r\n')) KINDS[byte] |= SPACE
for (const byte of Buffer.from('"\\/bfnrt')) KINDS[byte] |= ESCAPED
for (const byte of Buffer.from('0123456789')) KINDS[byte] |= DIGIT
for (const byte of Buffer.from('0123456789abcdefABCDEF')) KINDS[byte] |= HEX

/** Bytes between tokens that were skipped so far: a variable, since most JSON has none, and nothing is returned for them then. */
let spaces = 0

/**
 * @param {Buffer} bytes of which those up to `end` are UTF-8
 * @param {number} position
 * @param {number} end of a line, without spaces before it
 * @returns {number} the bytes of spaces between the tokens of one JSON value; -1: it is none, or nested deeply, and `JSON.parse` has to be asked
 */
function spacesInJson (bytes, position, end) {
  spaces = 0
  // one bit per array (0) or object (1) that is open, after the highest
  let open = 1
  for (;;) {
    position = skipSpace(bytes, position)
    const byte = bytes[position]
    let isValue = true
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (open >>> MAX_DEPTH !== 0) return -1
      const isObject = byte === OPEN_OBJECT
      open = open << 1 | (isObject ? 1 : 0)
      position = skipSpace(bytes, position + 1)
      // an empty one is closed below
      isValue = bytes[position] === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)
      if (!isValue && isObject) position = skipKey(bytes, position, end)
    } else if (byte === QUOTE) position = skipString(bytes, position, end)
    else position = skipWord(bytes, position)
    if (position === -1) return -1
    if (!isValue) continue
    for (;;) {
      if (open === 1) return position === end ? spaces : -1
      position = skipSpace(bytes, position)
      const isObject = (open & 1) === 1
      if (bytes[position] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        if (bytes[position] !== COMMA) return -1
        position++
        if (isObject) position = skipKey(bytes, skipSpace(bytes, position), end)
        if (position === -1) return -1
        break
      }
      position++
      open >>>= 1
    }
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 */
function skipSpace (bytes, position) {
  while ((KINDS[bytes[position]] & SPACE) !== 0) {
    position++
    spaces++
  }
  return position
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} end
 * @returns {number} where the value of the member starts, perhaps after spaces; -1: it has no key
 */
function skipKey (bytes, position, end) {
  if (bytes[position] !== QUOTE) return -1
  position = skipString(bytes, position, end)
  if (position === -1) return -1
  position = skipSpace(bytes, position)
  return bytes[position] === COLON ? position + 1 : -1
}

/**
 * @param {Buffer} bytes
 * @param {number} position of the opening quote
 * @param {number} end
 * @returns {number} after the closing one; -1: it is no string
 */
function skipString (bytes, position, end) {
  position++
  while (position < end) {
    const byte = bytes[position++]
    if (byte === QUOTE) return position
    if (byte === BACKSLASH) {
      position = skipEscape(bytes, position)
      if (position === -1) return -1
    } else if (byte < FIRST_PRINTABLE) return -1
  }
  return -1
}

/**
 * @param {Buffer} bytes
 * @param {number} position after a backslash
 * @returns {number} after what it escapes; -1: it cannot be escaped
 */
function skipEscape (bytes, position) {
  if (bytes[position] !== LETTER_U) return (KINDS[bytes[position]] & ESCAPED) !== 0 ? position + 1 : -1
  for (let i = 1; i <= 4; i++) if ((KINDS[bytes[position + i]] & HEX) === 0) return -1
  return position + 5
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @returns {number} after a number, `true`, `false` or `null`; -1: it is none of these
 */
function skipWord (bytes, position) {
  for (const literal of LITERALS) {
    if (bytes[position] !== literal[0]) continue
    for (let i = 1; i < literal.length; i++) if (bytes[position + i] !== literal[i]) return -1
    return position + literal.length
  }
  if (bytes[position] === MINUS) position++
  // nothing follows a zero in front
  position = bytes[position] === ZERO ? position + 1 : skipDigits(bytes, position)
  if (position !== -1 && bytes[position] === POINT) position = skipDigits(bytes, position + 1)
  // e and E differ in one bit
  if (position !== -1 && (bytes[position] | 0x20) === 0x65) {
    const sign = bytes[position + 1]
    position = skipDigits(bytes, position + (sign === PLUS || sign === MINUS ? 2 : 1))
  }
  return position
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @returns {number} after one digit or more; -1: there is none
 */
function skipDigits (bytes, position) {
  const start = position
  while ((KINDS[bytes[position]] & DIGIT) !== 0) position++
  return position > start ? position : -1
}

module.exports = { spacesInJson }
