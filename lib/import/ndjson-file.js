'use strict'

// Newline-delimited JSON: each line is a value, whose text is the record, without whitespace around it. Blank lines are ignored.

const { isUtf8 } = require('buffer')
const layout = require('../format/layout')
const { spacesInJson } = require('./json-value')
const { MAX_LINE } = require('./lines')

const NEWLINE = 0x0a

/** @typedef {import('./record-reader').Parser} Parser */

/** @implements {Parser} */
class NdjsonParser {
  /** @param {number} offset where parsing starts */
  constructor (offset) {
    /** Number of the line, from 1; NaN: not known. */
    this.line = offset === 0 ? 1 : NaN
    /** The newline. */
    this.frame = 1
    this.needed = 0
    this.problem = ''
    /** Up to where lines were looked at together for whether they are UTF-8, and whether they all are. */
    this.checked = 0
    this.isUtf8 = false
  }

  /** @type {Parser['parse']} */
  parse (bytes, position, end, base, isLast, handler) {
    if (base + position >= this.checked) this.checkUtf8(bytes, position, end, base)
    while (position < end) {
      const newline = bytes.indexOf(NEWLINE, position)
      const isWhole = newline !== -1 && newline < end
      if (!isWhole && !isLast) {
        if (end - position > MAX_LINE) {
          this.problem = `${this.where()} has more than ${MAX_LINE} bytes, so this may be no file of lines`
          break
        }
        this.needed = end - position + 1
        break
      }
      const next = isWhole ? newline + 1 : end
      const { start, after } = trim(bytes, position, isWhole ? newline : end, base)
      if (start < after) {
        const isText = this.isUtf8 && base + next <= this.checked
        const reason = isText && spacesInJson(bytes, start, after) !== -1 ? null : problemOf(bytes, start, after)
        if (reason !== null && !isWhole) {
          this.problem = `the last line has no newline, and is ${reason}`
          return position
        }
        const isPaused = reason === null
          ? handler.record(bytes, start, after, base + position, false)
          : handler.problem(bytes, position, next, base + position, `${this.where()} is ${reason}`)
        this.line++
        if (isPaused) return next
      } else this.line++
      position = next
    }
    return position
  }

  where () {
    return isNaN(this.line) ? 'the line' : `line ${this.line}`
  }

  /**
   * Checks all whole lines: one call per line would take longer than the rest.
   * @param {Buffer} bytes
   * @param {number} position
   * @param {number} end
   * @param {number} base offset of the first byte in the file
   */
  checkUtf8 (bytes, position, end, base) {
    const after = bytes.lastIndexOf(NEWLINE, end - 1) + 1
    if (after <= position) return
    this.checked = base + after
    this.isUtf8 = isUtf8(layout.view(bytes.buffer, bytes.byteOffset + position, after - position))
  }

  /** Only the last line can be torn. @type {Parser['resync']} */
  async resync () {
    return -1
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} after
 * @param {number} base offset of the first byte in the file
 * @returns {{ start: number, after: number }} without whitespace, nor a byte order mark at the start of the file
 */
function trim (bytes, start, after, base) {
  if (base + start === 0 && after - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3
  while (start < after && isSpace(bytes[start])) start++
  while (start < after && isSpace(bytes[after - 1])) after--
  return { start, after }
}

/** @param {number} byte */
function isSpace (byte) {
  return byte === 0x20 || byte === 0x0d || byte === 0x09
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} after
 * @returns {string | null} what the line is; null: it is JSON
 */
function problemOf (bytes, start, after) {
  if (!isUtf8(layout.view(bytes.buffer, bytes.byteOffset + start, after - start))) return 'not UTF-8'
  try {
    JSON.parse(layout.text(bytes, start, after))
    return null
  } catch (err) {
    return `not JSON: ${/** @type {Error} */ (err).message}`
  }
}

module.exports = { NdjsonParser }
