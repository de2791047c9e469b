'use strict'

// An HTTP server on several processes that share one log. Each worker appends what is posted to
// it, and answers when that is stored. One of them owns the file; if it dies, another one takes
// over, and a new worker is started: requests to other workers are answered all the same.
//
//     npm install flumelog-random-access-file
//     node cluster.js [FILE] [PORT]
//     curl -d '{"name":"ada"}' http://127.0.0.1:8080/
//     curl http://127.0.0.1:8080/

const cluster = require('cluster')
const fs = require('fs')
const http = require('http')
const os = require('os')
const path = require('path')
const { open } = require('flumelog-random-access-file/promises')

const WORKERS = 4
const MAX_BODY = 60_000
const codec = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

function startWorkers () {
  const file = process.argv[2] ?? path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'cluster-')), 'log')
  const port = process.argv[3] ?? '8080'
  let listening = 0
  let isStopping = false
  for (let i = 0; i < WORKERS; i++) cluster.fork({ LOG_FILE: file, LOG_PORT: port })
  cluster.on('listening', (worker, { port }) => {
    if (++listening === WORKERS) console.log(`${WORKERS} workers append to ${file}, on http://127.0.0.1:${port}/`)
  })
  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) return
    // the port is in use, for example: another worker would fail as well
    if (listening < WORKERS) process.exit(1)
    console.log(`worker ${worker.process.pid} is gone (${signal ?? code}); starting another one`)
    // not at once: if the disk has failed, it cannot open the log
    setTimeout(() => isStopping || cluster.fork({ LOG_FILE: file, LOG_PORT: port }), 1000)
  })
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      isStopping = true
      cluster.disconnect()
    })
  }
}

async function work () {
  // Ctrl-C reaches the workers, too; they wait until they have answered what was asked
  process.on('SIGINT', () => {})
  const disconnected = new Promise(resolve => process.once('disconnect', resolve))
  const log = await open(process.env.LOG_FILE, { codec, shared: true })
  const server = http.createServer((request, response) => {
    answer(log, request).then(
      result => end(response, 200, result),
      err => {
        end(response, err.status ?? 503, { error: err.message, code: err.code })
        // no append of this worker succeeds any more
        if (err.code === 'flumelog:failed' || err.code === 'flumelog:replaced') process.exit(1)
      }
    )
  })
  server.listen(Number(process.env.LOG_PORT), '127.0.0.1')
  await disconnected
  await log.close()
  process.exit()
}

/**
 * POST appends what is posted; GET returns the last ten records.
 * @param {import('flumelog-random-access-file/promises').FlumeLog} log
 * @param {http.IncomingMessage} request
 */
async function answer (log, request) {
  if (request.method !== 'POST') {
    const last = []
    for await (const record of log.stream({ reverse: true, limit: 10 })) last.push(record)
    return { pid: process.pid, role: log.role, last }
  }
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > MAX_BODY) throw Object.assign(new Error(`more than ${MAX_BODY} characters`), { status: 413 })
  }
  const seq = await log.append({ at: Date.now(), pid: process.pid, body })
  return { pid: process.pid, role: log.role, seq }
}

/**
 * @param {http.ServerResponse} response
 * @param {number} status
 * @param {object} result
 */
function end (response, status, result) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(result) + '\n')
}

if (cluster.isPrimary) startWorkers()
else work()
