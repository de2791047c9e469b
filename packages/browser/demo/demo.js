'use strict'

// Serves the demo: an event list that all tabs share. node packages/browser/demo/demo.js [PORT]

const fs = require('fs')
const http = require('http')
const os = require('os')
const path = require('path')
const { bundle } = require('../build')

const TYPES = { '.mjs': 'text/javascript', '.html': 'text/html; charset=utf-8' }

async function main () {
  const dist = fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-browser-demo-'))
  process.on('exit', () => fs.rmSync(dist, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit())
  await bundle(dist)
  const server = http.createServer(({ url }, response) => {
    const { pathname } = new URL(String(url), 'http://localhost')
    const name = path.basename(pathname) || 'four.html'
    const file = [__dirname, dist].map(folder => path.join(folder, name)).find(file => path.extname(name) in TYPES && fs.existsSync(file))
    response.statusCode = file === undefined ? 404 : 200
    response.setHeader('content-type', file === undefined ? 'text/plain' : TYPES[path.extname(name)])
    response.end(file === undefined ? 'not found' : fs.readFileSync(file))
  })
  server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
    console.log(`http://localhost:${server.address().port}/ has four tabs beside each other; open it in several windows. Ctrl-C stops it`)
  })
}

main().catch((err) => {
  console.error(err)
  process.exitCode = 1
})
