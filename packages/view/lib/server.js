'use strict'

// A server of its own for a viewer: on this machine only, and for whoever has the token.

const http = require('http')
const { randomBytes } = require('crypto')
const { Handler } = require('./handler')

const HOST = '127.0.0.1'
const TOKEN_BYTES = 24
/** More connections are closed at once. */
const MAX_CONNECTIONS = 256
/** Milliseconds for the head of a request to arrive. */
const REQUEST_TIMEOUT = 10000

/** @typedef {{ address: string, close: () => Promise<void> }} ViewServer */

/**
 * @param {unknown} log
 * @param {import('./handler').ViewOptions & { port?: number }} [options] port: default 0, a free one
 * @returns {Promise<ViewServer>} address: with the token. Rejects with an error of the operating system, such as `EADDRINUSE`
 */
async function startServer (log, { port = 0, ...options } = {}) {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const server = http.createServer({ headersTimeout: REQUEST_TIMEOUT, requestTimeout: REQUEST_TIMEOUT })
  server.maxConnections = MAX_CONNECTIONS
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, () => {
      server.removeListener('error', reject)
      resolve(undefined)
    })
  })
  const { port: own } = /** @type {import('net').AddressInfo} */ (server.address())
  const handler = new Handler(log, { ...options, token, hosts: [`${HOST}:${own}`, `localhost:${own}`] })
  server.on('request', (request, response) => handler.handle(request, response))
  return {
    address: `http://${HOST}:${own}/?token=${token}`,
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

module.exports = { startServer }
