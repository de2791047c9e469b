'use strict'

// The text of a recovery point's file: lines, each with a checksum. The first has the
// durable offset, as JSON; the second, which is rewritten in place, the acknowledged one. Lines
// with deletions, as JSON, are appended behind them.

const { randomUUID } = require('crypto')
const { crc32 } = require('zlib')

/** Digits of an acknowledged offset: as many as the largest safe integer has. */
const OFFSET_DIGITS = 16
/** Hex digits of a CRC-32. */
const CHECKSUM_DIGITS = 8
/** Bytes of the second line: its checksum, a blank, the offset, a newline. */
const ACKNOWLEDGED_SIZE = CHECKSUM_DIGITS + 1 + OFFSET_DIGITS + 1
const ZERO = 0x30
const BLANK = 0x20
const NEWLINE = 0x0A
const HEX = Buffer.from('0123456789abcdef', 'latin1')

/**
 * @typedef {import('./recovery-point').RecoveryPoint} RecoveryPoint
 * @typedef {import('../recovery/deletions').Deletion} Deletion
 */

/**
 * @param {string} text
 * @returns {string} its CRC-32 in hex, a blank, the text, a newline
 */
function formatLine (text) {
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

/**
 * @param {string | undefined} line without its newline
 * @returns {string | null} its text; null if the checksum is not that of the text
 */
function parseLine (line) {
  if (line === undefined || line[8] !== ' ') return null
  const text = line.slice(9)
  return crc32(text) === parseInt(line.slice(0, 8), 16) ? text : null
}

/**
 * @param {import('./recovery-point').NewPoint} point
 * @param {string} writer
 * @returns {string} the first line of the file
 */
function pointLine ({ offset, counted, dropped = 0, start, trimming }, writer) {
  const trim = trimming && { from: trimming.from, tie: recordAsText(trimming.tie) }
  return formatLine(JSON.stringify({ offset, id: randomUUID(), writer, dropped, counted, start, trimming: trim }))
}

/**
 * @param {import('../recovery/deletions').DeletedRecord} record
 * @returns {[number, number, string]}
 */
function recordAsText ({ seq, length, replaces }) {
  return [seq, length, replaces.toString('base64')]
}

/**
 * @param {[number, number, string]} text
 * @returns {import('../recovery/deletions').DeletedRecord}
 */
function parseRecord ([seq, length, replaces]) {
  return { seq, length, replaces: Buffer.from(replaces, 'base64') }
}

/**
 * Writes the second line, for each append that is acknowledged: without a string.
 * @param {Buffer} line of `ACKNOWLEDGED_SIZE` bytes
 * @param {number} acknowledged
 */
function setAcknowledged (line, acknowledged) {
  const first = CHECKSUM_DIGITS + 1
  for (let i = first + OFFSET_DIGITS - 1; i >= first; i--) {
    const rest = Math.floor(acknowledged / 10)
    line[i] = ZERO + (acknowledged - rest * 10)
    acknowledged = rest
  }
  let checksum = crc32(line.subarray(first, first + OFFSET_DIGITS))
  for (let i = CHECKSUM_DIGITS - 1; i >= 0; i--) {
    line[i] = HEX[checksum & 15]
    checksum >>>= 4
  }
  line[CHECKSUM_DIGITS] = BLANK
  line[ACKNOWLEDGED_SIZE - 1] = NEWLINE
}

/**
 * @param {number} acknowledged
 * @returns {string} the second line; always of the same length
 */
function acknowledgedLine (acknowledged) {
  const line = Buffer.alloc(ACKNOWLEDGED_SIZE)
  setAcknowledged(line, acknowledged)
  return line.toString('latin1')
}

/**
 * @param {Deletion[]} deletions
 * @returns {string} a line to be appended; empty if there are none
 */
function deletionsLine (deletions) {
  if (deletions.length === 0) return ''
  return formatLine(JSON.stringify(deletions.map(({ block, records, checksum, number, whole }) => ({
    block,
    ...whole === undefined
      ? { records: records.map(recordAsText) }
      : { whole: true, size: whole.size, live: whole.live, replaces: whole.replaces.toString('base64') },
    checksum,
    number
  }))))
}

/**
 * @param {string[]} lines
 * @returns {Deletion[][]} of each, up to the first that is not whole: its write was interrupted
 */
function parseDeletions (lines) {
  const parsed = []
  for (const line of lines) {
    const json = parseLine(line)
    if (json === null) break
    parsed.push(JSON.parse(json).map((/** @type {any} */ { block, records = [], checksum, number, whole, size, live, replaces }) => ({
      block,
      records: records.map(parseRecord),
      checksum,
      number,
      ...(whole === undefined ? {} : { whole: { size, live, replaces: Buffer.from(replaces, 'base64') } })
    })))
  }
  return parsed
}

/**
 * @param {string} text of the file
 * @param {boolean} isHeld
 * @returns {RecoveryPoint | null} null if its first line is not whole
 */
function parsePoint (text, isHeld) {
  const [first, second, ...more] = text.split('\n')
  const json = parseLine(first)
  if (json === null) return null
  const acknowledged = parseLine(second)
  try {
    const { offset, id, writer, dropped, counted, start, trimming } = JSON.parse(json)
    const deletions = parseDeletions(more)
    return {
      offset,
      deletions: deletions.flat(),
      id: deletions.length === 0 ? id : `${id}+${deletions.length}`,
      writer,
      dropped,
      ...(counted === undefined ? {} : { counted }),
      ...(start === undefined ? {} : { start }),
      ...(trimming === undefined ? {} : { trimming: { from: trimming.from, tie: parseRecord(trimming.tie) } }),
      acknowledged: acknowledged !== null && /^\d+$/.test(acknowledged) ? Number(acknowledged) : null,
      isHeld
    }
  } catch {
    return null
  }
}

module.exports = { ACKNOWLEDGED_SIZE, acknowledgedLine, deletionsLine, formatLine, parseLine, parsePoint, pointLine, setAcknowledged }
