'use strict'

// What `flumelog mirror` and `flumelog pull` count, for Prometheus: over HTTP, on this machine only.

const http = require('http')
const { InvalidArgumentError, writeStderr } = require('flumelog-random-access-file/command')

const MAX_PORT = 65535
/** Those that only grow. */
const COUNTERS = new Set(['records', 'bytes', 'deleted'])

/**
 * @param {string} text
 * @returns {number}
 */
function metricsPort (text) {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port
  throw new InvalidArgumentError(`must be a port, 0 to ${MAX_PORT}; 0: any that is free`)
}

/**
 * @param {string} prefix of the names
 * @param {string} stream
 * @param {{ [name: string]: number | boolean }} progress
 * @returns {string} in the text format of Prometheus
 */
function metricsText (prefix, stream, progress) {
  const label = stream.replace(/[\\"]/g, '\\$&')
  return Object.entries(progress).map(([name, value]) => {
    const isCounter = COUNTERS.has(name)
    const metric = `${prefix}_${name === 'isConnected' ? 'connected' : name}${isCounter ? '_total' : ''}`
    return `# TYPE ${metric} ${isCounter ? 'counter' : 'gauge'}\n${metric}{stream="${label}"} ${Number(value)}\n`
  }).join('')
}

/**
 * Serves metrics while something is done.
 * @template T
 * @param {number | undefined} port 0: any that is free; undefined: none are served
 * @param {() => string} text of the metrics
 * @param {boolean | undefined} quiet whether not to say where they are
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withMetrics (port, text, quiet, work) {
  if (port === undefined) return work()
  const server = http.createServer((request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4')
    response.end(text())
  })
  await new Promise((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', () => resolve(undefined)))
  try {
    const { port: actual } = /** @type {import('net').AddressInfo} */ (server.address())
    if (!quiet) writeStderr(`metrics: http://127.0.0.1:${actual}/metrics`)
    return await work()
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

module.exports = { metricsPort, metricsText, withMetrics }
