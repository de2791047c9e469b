'use strict'

// What a view answers, besides what it streams.

const errors = require('../errors')
const { assetOf } = require('./assets')
const { HEADERS } = require('./safety')
const { codeOf } = require('../log/viewed-log')

/**
 * @typedef {import('http').IncomingMessage} Request
 * @typedef {import('http').ServerResponse} Response
 */

const JSON_TYPE = 'application/json; charset=utf-8'

/** Status codes by what was wrong; others are 500. @type {Record<string, number>} */
const STATUS = {
  'flumelog:invalid': 400,
  'flumelog:not-found': 404,
  'flumelog:deleted': 404,
  'flumelog:trimmed': 404,
  'flumelog:compacted': 409,
  'flumelog:closed': 503,
  'flumelog:replaced': 503
}

/** Before anything is answered. @param {Response} response */
function prepare (response) {
  // a reader that goes is no error
  response.on('error', () => {})
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
}

/**
 * @param {Request} request
 * @param {Response} response
 * @param {string} name of a file of the page
 * @throws what is to be answered if there is no such file
 */
async function sendAsset (request, response, name) {
  const asset = await assetOf(name)
  if (asset === null) throw errors.refusal(404, 'not-found', 'there is nothing at this address')
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']))
  const content = isZipped ? asset.zipped : asset.content
  response.writeHead(200, { 'content-type': asset.type, 'content-length': content.length, 'cache-control': 'no-cache', vary: 'accept-encoding', ...(isZipped && { 'content-encoding': 'gzip' }) })
  response.end(request.method === 'HEAD' ? undefined : content)
}

/**
 * @param {Request} request
 * @param {Response} response
 * @param {unknown} err
 * @param {string} message without the path of a log
 */
function sendError (request, response, err, message) {
  // too late for a status: the reader learns that something is missing
  if (response.headersSent) return response.destroy()
  const { status, code } = /** @type {{ status?: number, code?: string }} */ (err)
  const answered = status ?? STATUS[codeOf(err) ?? ''] ?? 500
  // to be read by somebody who has opened the address
  if (/\btext\/html\b/.test(request.headers.accept ?? '') || !/\/api\//.test(request.url ?? '')) send(response, answered, 'text/plain; charset=utf-8', `${message}\n`)
  else send(response, answered, JSON_TYPE, JSON.stringify({ code: code ?? 'failed', message }))
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {string} type
 * @param {string} body
 */
function send (response, status, type, body) {
  writeHead(response, status, type, body)
  response.end(body)
}

/**
 * @param {Response} response
 * @param {number} status
 * @param {string} type
 * @param {string} body
 */
function writeHead (response, status, type, body) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' })
}

module.exports = { JSON_TYPE, prepare, sendAsset, sendError, writeHead }
