'use strict'

// Newline-delimited JSON: each line is a value, whose text is the record, without whitespace around it. Blank lines are ignored.

const { isUtf8 } = require('buffer')
const { layout } = require('flumelog-random-access-file/blocks')
const { recordAt, BATCH } = require('./reader')

const NEWLINE = 0x0a

/** @typedef {import('./reader').Parser} Parser */

/** @implements {Parser} */
class NdjsonParser {
  constructor () {
    /** Number of the line, from 1. */
    this.line = 1
    this.problem = ''
  }

  /** @type {Parser['parse']} */
  parse (bytes, position, base, isLast, items) {
    while (position < bytes.length && items.length < BATCH) {
      const newline = bytes.indexOf(NEWLINE, position)
      const isWhole = newline !== -1
      if (!isWhole && !isLast) break
      const next = isWhole ? newline + 1 : bytes.length
      const { start, after } = trim(bytes, position, isWhole ? newline : next, base)
      if (start < after) {
        const reason = problemOf(bytes, start, after)
        if (reason !== null && !isWhole) {
          this.problem = `the last line has no newline, and is ${reason}`
          return position
        }
        items.push(reason === null
          ? recordAt(bytes, start, after, base + position)
          : recordAt(bytes, position, next, base + position, false, `line ${this.line} is ${reason}`))
      }
      this.line++
      position = next
    }
    return position
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
