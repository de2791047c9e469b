'use strict'

// What is filtered, as a download.

const { cellText, finder, rowOf } = require('flumelog-random-access-file/json')
const errors = require('../errors')
const { written } = require('../http/events')
const { MAX_READ, filtered, nothingScanned } = require('./filtered')

/** Bytes that are written at a time. */
const PIECE_SIZE = 64 * 1024
const TYPES = { ndjson: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' }
const MAX_FIELDS = 100
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * @param {import('./rows').Rows} rows
 * @param {import('http').ServerResponse} response
 * @param {{ q: string, format: string, fields: string[], raw: boolean, skipCorrupt: boolean, encoding: string | null }} query skipCorrupt: whether
 *   corrupt blocks are left out
 * @returns {Promise<void>}
 * @throws flumelog:invalid, or why the export is incomplete: the answer is broken off then, so that the download fails
 */
async function sendExport (rows, response, { q, format, fields, raw, skipCorrupt, encoding }) {
  if (format !== 'ndjson' && format !== 'csv') throw errors.invalid('format must be ndjson or csv')
  if (fields.length > MAX_FIELDS) throw errors.invalid(`fields must be at most ${MAX_FIELDS}`)
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const lineOf = format === 'ndjson' ? jsonLine : csvLineOf(fields, raw)
  const scanned = nothingScanned()
  const records = filtered(rows, { q, from: rows.log.start, encoding, signal: gone.signal }, scanned)
  // a filter that is wrong is refused before anything is sent
  let next = await records.next()
  const mustBeWhole = () => {
    if (scanned.corrupt > 0 && !skipCorrupt) throw errors.refusal(500, 'corrupt', `corrupt blocks (${scanned.corrupt}) are missing in the export; with skipCorrupt=1, they are left out`)
  }
  if (next.done) mustBeWhole()
  const name = rows.log.name.replace(/[^\w.-]/g, '_')
  response.writeHead(200, { 'content-type': TYPES[format], 'content-disposition': `attachment; filename="${name}.${format}"`, 'cache-control': 'no-store' })
  let text = format === 'csv' ? rowOf(fields.length === 0 ? ['seq', 'time', 'record'] : raw ? fields : fields.map(guarded)) + '\r\n' : ''
  for (; !next.done; next = await records.next()) {
    const { record, decoded, data } = next.value
    if (record.size > MAX_READ) throw errors.refusal(500, 'too-large', `the record at offset ${record.seq} is too large for an export; use flumelog dump`)
    text += lineOf(decoded, data, record.seq, rows.decoder.timeOf(decoded))
    if (text.length < PIECE_SIZE) continue
    await written(response, text, gone.signal)
    text = ''
  }
  if (text !== '') await written(response, text, gone.signal)
  mustBeWhole()
  response.end()
}

/**
 * @param {import('../decoding/decoder').Decoded} decoded
 * @param {Buffer} data
 * @returns {string} what is not JSON becomes a string
 */
function jsonLine ({ json, text }, data) {
  return `${json === undefined ? JSON.stringify(text ?? data.toString('hex')) : json.replace(/\s*[\r\n]\s*/g, ' ')}\n`
}

/**
 * @param {string[]} fields paths; none: the whole record
 * @param {boolean} raw whether cells are as they are in the records
 * @returns {(decoded: import('../decoding/decoder').Decoded, data: Buffer, seq: number, time: number | null) => string}
 */
function csvLineOf (fields, raw) {
  const cell = raw ? (/** @type {string | null} */ text) => text : guarded
  const paths = fields.map(field => field.split('.'))
  return ({ json, text }, data, seq, time) => {
    if (fields.length === 0) return rowOf([String(seq), time === null ? null : new Date(time).toISOString(), cell(json ?? text ?? data.toString('hex'))]) + '\r\n'
    const find = json === undefined ? () => undefined : finder(json)
    return rowOf(paths.map(path => cell(cellText(find(path))))) + '\r\n'
  }
}

/**
 * Spreadsheets take what starts so for a formula, and compute it: `=HYPERLINK(…)`. As OWASP recommends, an apostrophe makes it text.
 * @template {string | null} T
 * @param {T} text
 * @returns {T | string} numbers stay what they are
 */
function guarded (text) {
  return text !== null && /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text
}

module.exports = { sendExport }
