'use strict'

// The text of a cursor's file: two lines of the same length, each with a checksum, in pages of their own. The valid one
// with the higher number counts. One of them is always durable while the other is being written, so a crash leaves the
// position before or the one after.

const { formatLine, parseLine } = require('../format/lines')

/** Bytes of a line, with its newline: a page, so that a torn write of one line cannot reach the other. */
const LINE_SIZE = 4096

/**
 * Where a cursor is.
 * @typedef {object} Position
 * @property {string} id of the log that it is in
 * @property {number} seq of the last record that was committed; -1: none
 * @property {number} next records from this offset on are to come
 * @property {number | null} tie CRC-32 of the first bytes of that record, by which it is told from one of another log; null: there is
 *   none, or it was deleted
 *
 * @typedef {object} Line
 * @property {string} name the cursor's
 * @property {number} number counts the writes of the file
 */

/**
 * @param {Position & Line} line
 * @returns {Buffer}
 */
function encodeLine ({ name, id, seq, next, tie, number }) {
  return Buffer.from(formatLine(JSON.stringify({ name, id, seq, next, tie, number }), LINE_SIZE), 'latin1')
}

/**
 * @param {Buffer} bytes of the file
 * @returns {{ line: Position & Line, index: number } | null} the line that counts; null: neither is valid
 */
function decodeLines (bytes) {
  const [first, second] = [decodeLine(bytes, 0), decodeLine(bytes, 1)]
  if (second !== null && (first === null || second.number > first.number)) return { line: second, index: 1 }
  return first === null ? null : { line: first, index: 0 }
}

/**
 * @param {Buffer} bytes
 * @param {number} index
 * @returns {(Position & Line) | null}
 */
function decodeLine (bytes, index) {
  const text = parseLine(bytes.toString('latin1', index * LINE_SIZE, (index + 1) * LINE_SIZE - 1))
  if (text === null) return null
  try {
    const { name, id, seq, next = seq + 1, tie = null, number } = JSON.parse(text)
    const isValid = typeof name === 'string' && typeof id === 'string' && [seq, next, number].every(Number.isSafeInteger) && seq >= -1
    return isValid ? { name, id, seq, next, tie, number } : null
  } catch {
    return null
  }
}

module.exports = { LINE_SIZE, encodeLine, decodeLines }
