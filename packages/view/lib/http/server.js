'use strict'

// A server of its own for a viewer: on this machine only, and for whoever has the token.

const http = require('http')
const { randomBytes } = require('crypto')

const HOST = '127.0.0.1'
const TOKEN_BYTES = 24
/** More connections are closed at once. */
const MAX_CONNECTIONS = 256
/** Milliseconds for the head of a request to arrive, and between two looks at which did not: connections that say nothing keep others out. */
const REQUEST_TIMEOUT = 3000
const CHECKING_INTERVAL = 1000

/**
 * @typedef {{ address: string, close: () => Promise<void> }} ViewServer
 * @typedef {{ handle: (request: http.IncomingMessage, response: http.ServerResponse) => void }} Answering
 */

/**
 * @param {(access: { token: string, hosts: string[] }) => Answering | Promise<Answering>} show makes what answers, for those who have the token
 * @param {number} [port] default: a free one
 * @returns {Promise<ViewServer>} address: with the token. Rejects as `show` does, or with an error of the operating system, such as `EADDRINUSE`
 */
async function startServer (show, port = 0) {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const server = http.createServer({ headersTimeout: REQUEST_TIMEOUT, requestTimeout: REQUEST_TIMEOUT, connectionsCheckingInterval: CHECKING_INTERVAL })
  server.maxConnections = MAX_CONNECTIONS
  const close = () => new Promise(resolve => {
    server.close(() => resolve(undefined))
    server.closeAllConnections()
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, () => {
      server.removeListener('error', reject)
      resolve(undefined)
    })
  })
  const { port: own } = /** @type {import('net').AddressInfo} */ (server.address())
  try {
    const shown = await show({ token, hosts: [`${HOST}:${own}`, `localhost:${own}`] })
    server.on('request', (request, response) => shown.handle(request, response))
  } catch (err) {
    await close()
    throw err
  }
  return { address: `http://${HOST}:${own}/?token=${token}`, close }
}

module.exports = { startServer }
