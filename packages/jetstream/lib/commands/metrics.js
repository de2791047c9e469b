'use strict'

// What `flumelog mirror` and `flumelog pull` count, for Prometheus: over HTTP, on this machine only.

const http = require('http')
const { InvalidArgumentError, untilInterrupted, untilStopped, writeStderr } = require('flumelog-random-access-file/command')

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
 * Does the work of a command until it is done, or with `live`, until it is stopped, and serves metrics meanwhile.
 * @param {{ file: string, left: string, live: boolean, metrics?: number, quiet?: boolean }} options `left`: what an interruption leaves; `metrics`: the port; 0: any that is free
 * @param {() => string} text of the metrics
 * @param {(signal: AbortSignal) => Promise<unknown>} work
 */
async function workWithMetrics ({ file, left, live, metrics: port, quiet }, text, work) {
  const run = () => live ? untilStopped(work) : untilInterrupted(file, work, { left: () => left })
  if (port === undefined) return run()
  const server = http.createServer((request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4')
    response.end(text())
  })
  await new Promise((resolve, reject) => server.on('error', reject).listen(port, '127.0.0.1', () => resolve(undefined)))
  try {
    const { port: actual } = /** @type {import('net').AddressInfo} */ (server.address())
    if (!quiet) writeStderr(`metrics: http://127.0.0.1:${actual}/metrics`)
    await run()
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

module.exports = { metricsPort, metricsText, workWithMetrics }
