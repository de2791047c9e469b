'use strict'

// All of one record, as a download.

const { isUtf8 } = require('buffer')
const errors = require('../errors')
const { textOf } = require('../decoding/decoder')
const { MAX_READ } = require('./filtered')

/**
 * @param {import('./rows').Rows} rows
 * @param {import('http').ServerResponse} response
 * @param {{ seq: number, form: string, encoding: string | null }} query form: `stored`, its bytes; `shown`, as text
 * @throws flumelog:invalid, flumelog:not-found
 */
async function sendContent (rows, response, { seq, form, encoding }) {
  if (form !== 'stored' && form !== 'shown') throw errors.invalid('form must be stored or shown')
  const record = await rows.recordAt(seq)
  if (record.deleted) throw errors.notFound(rows.log.log.filename, seq, 'the record is deleted')
  if (record.size > MAX_READ) throw errors.invalid(`the record has more than ${MAX_READ / 1024 / 1024} MiB: use flumelog get`)
  const stored = await rows.dataOf(record, MAX_READ)
  const decoded = form === 'shown' ? rows.decoder.decode(stored, encoding) : null
  const body = decoded === null ? stored : Buffer.from(textOf(decoded) ?? stored.toString('hex'))
  const extension = decoded?.json !== undefined ? 'json' : isUtf8(body) ? 'txt' : 'bin'
  const name = `${rows.log.name.replace(/[^\w.-]/g, '_')}-${seq}.${extension}`
  response.writeHead(200, {
    'content-type': extension === 'bin' ? 'application/octet-stream' : 'text/plain; charset=utf-8',
    'content-length': body.length,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store'
  })
  response.end(body)
}

module.exports = { sendContent }
