'use strict'

// Comma-separated values (RFC 4180): the first row has the names of the fields, each row after it becomes a JSON object of strings.

const { isUtf8 } = require('buffer')
const { chunk } = require('flumelog-random-access-file/blocks')
const errors = require('./errors')
const { recordAt, BATCH } = require('./reader')

const { MAX_LENGTH } = chunk

const NEWLINE = 0x0a
const QUOTE = 0x22
/** Bytes of a last row that is taken for torn: a longer one has lost a quote somewhere. */
const MAX_TORN = 64 * 1024
const NOT_CLOSED = 'the quotes of a field are not closed'
const NOT_UTF8 = 'not UTF-8'
/** Bytes of the header, at most. */
const MAX_HEADER = 1024 * 1024

/** @typedef {import('./reader').Parser} Parser */

/** @implements {Parser} */
class CsvParser {
  /**
   * @param {string[]} names of the fields
   * @param {number} start offset of the first row after the header
   * @param {number} headerLines
   */
  constructor (names, start, headerLines) {
    /** Number of the next line, from 1. A row has several if newlines are in its quotes. */
    this.line = 1 + headerLines
    this.keys = names.map(name => JSON.stringify(name))
    this.start = start
    this.problem = ''
  }

  /** @type {Parser['parse']} */
  parse (bytes, position, base, isLast, items) {
    const { length } = bytes
    while (position < length && items.length < BATCH) {
      const end = endOfRow(bytes, position, length)
      const isWhole = end !== -1
      if (!isWhole && !isLast && length - position <= MAX_LENGTH) break
      let next = isWhole ? end : length
      if (!isBlank(bytes, position, next)) {
        const item = this.itemAt(bytes, position, next, base, isWhole)
        if (item === null) break
        items.push(item)
        if (item.problem !== undefined) next = position + item.size
      }
      this.line += linesIn(bytes, position, next)
      position = next
    }
    return position
  }

  /**
   * @param {Buffer} bytes
   * @param {number} position
   * @param {number} next
   * @param {number} base
   * @param {boolean} isWhole whether a newline ends it
   * @returns {import('./reader').Item | null} null: it is torn
   */
  itemAt (bytes, position, next, base, isWhole) {
    const row = next - position > MAX_LENGTH ? NOT_CLOSED : fieldsOf(bytes, position, next)
    if (typeof row !== 'string' && row.length === this.keys.length) {
      const object = Buffer.from(`{${row.map((value, i) => `${this.keys[i]}:${JSON.stringify(value)}`).join(',')}}`)
      return recordAt(object, 0, object.length, base + position)
    }
    const reason = typeof row === 'string' ? row : `${row.length === 1 ? '1 field' : `${row.length} fields`}, the header has ${this.keys.length}`
    const line = endOfLine(bytes, position, next)
    // whole lines after a quote that is not closed are none that a write has left
    if (!isWhole && next - position <= MAX_TORN && (typeof row !== 'string' || (row === NOT_CLOSED && line === next))) {
      this.problem = `the last row has no newline: ${reason}`
      return null
    }
    // a quote too many may have made one row of many
    return recordAt(bytes, position, typeof row === 'string' ? line : next, base + position, false, `line ${this.line}: ${reason}`)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} end
 * @returns {number} the position after the newline that ends the row; -1: it is not among the bytes
 */
function endOfRow (bytes, position, end) {
  let isQuoted = false
  for (; position < end; position++) {
    const byte = bytes[position]
    if (byte === QUOTE) isQuoted = !isQuoted
    else if (byte === NEWLINE && !isQuoted) return position + 1
  }
  return -1
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} next
 * @returns {number} the position after the first newline; `next` if there is none
 */
function endOfLine (bytes, position, next) {
  const newline = bytes.indexOf(NEWLINE, position)
  return newline !== -1 && newline < next ? newline + 1 : next
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} next
 */
function linesIn (bytes, position, next) {
  let lines = 1
  while ((position = endOfLine(bytes, position, next)) < next) lines++
  return lines
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} next
 * @returns {boolean} whether nothing is in the line
 */
function isBlank (bytes, position, next) {
  return bytes[position] === NEWLINE || (bytes[position] === 0x0d && position + 1 < next && bytes[position + 1] === NEWLINE)
}

/**
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} end
 * @returns {string[] | string} the fields of a row; or what is wrong with it
 */
function fieldsOf (bytes, position, end) {
  if (!isUtf8(bytes.subarray(position, end))) return NOT_UTF8
  const row = bytes.toString('utf8', position, end).replace(/\r?\n$/, '')
  const fields = []
  for (let at = 0; ; at++) {
    const { value, after, problem } = row[at] === '"' ? quotedAt(row, at) : plainAt(row, at)
    if (problem !== undefined) return problem
    fields.push(value)
    at = after
    if (at === row.length) return fields
  }
}

/**
 * @param {string} row
 * @param {number} at
 * @returns {{ value: string, after: number, problem?: string }}
 */
function plainAt (row, at) {
  const comma = row.indexOf(',', at)
  const after = comma === -1 ? row.length : comma
  const value = row.slice(at, after)
  return value.includes('"') ? { value, after, problem: 'a field that does not start with a quote contains one' } : { value, after }
}

/**
 * @param {string} row
 * @param {number} at of the opening quote
 * @returns {{ value: string, after: number, problem?: string }}
 */
function quotedAt (row, at) {
  let value = ''
  for (let from = at + 1; ;) {
    const quote = row.indexOf('"', from)
    if (quote === -1) return { value, after: row.length, problem: NOT_CLOSED }
    value += row.slice(from, quote)
    from = quote + 2
    if (row[quote + 1] === '"') value += '"'
    else if (quote + 1 === row.length || row[quote + 1] === ',') return { value, after: quote + 1 }
    else return { value, after: quote + 1, problem: 'the closing quote of a field is followed by something else than a comma' }
  }
}

/**
 * @param {Buffer} head the first bytes of a file
 * @returns {{ names: string[], start: number, lines: number } | string} what the first row says; or what is wrong with it
 */
function headerOf (head) {
  const mark = head.subarray(0, 3).equals(Buffer.from('\ufeff')) ? 3 : 0
  const end = endOfRow(head, mark, head.length)
  const names = fieldsOf(head, mark, end === -1 ? head.length : end)
  if (typeof names === 'string') return names
  if (names.includes('')) return 'a field has no name'
  if (new Set(names).size < names.length) return 'two fields have the same name'
  const start = end === -1 ? head.length : end
  return { names, start, lines: linesIn(head, 0, start) }
}

/**
 * @param {string} filename
 * @param {Buffer} head the first bytes of the file
 */
function csvParser (filename, head) {
  const header = headerOf(head)
  if (header === NOT_UTF8) throw errors.invalid(`${filename}: the header row is not UTF-8`)
  if (typeof header === 'string') throw errors.invalid(`${filename}: the header row does not name the fields: ${header}`)
  return new CsvParser(header.names, header.start, header.lines)
}

module.exports = { csvParser, headerOf, MAX_HEADER }
