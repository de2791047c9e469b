'use strict'

// Who may look at a log, and how much at a time.

const http = require('http')
const net = require('net')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { promises } = require('../../../test/helpers/promises')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { isNode } = require('../../../test/helpers/runtime')
const { thorough } = require('../../../test/helpers/thorough')
const { Handler } = require('../lib/http/handler')
const { startServer } = require('../lib/http/server')
const { ask, viewOf } = require('./helpers/view')

const REQUESTS = thorough ? 10000 : 3000
const TOKEN = 'a-token-of-32-characters-or-so-x'

async function logOf (count, { storage = newFile(), size = 10 } = {}) {
  const log = promises(FlumeLog(storage))
  await log.append(Array.from({ length: count }, (_, i) => `record ${i} `.padEnd(size, '.')))
  return log
}

test('without the token, nothing of the log is told', async (t) => {
  const log = await logOf(10)
  const { get, port } = await viewOf(t, log.log, { token: TOKEN })
  const header = (value) => ({ headers: { 'flumelog-token': value } })
  for (const path of ['/api/log', '/api/records', '/api/live', '/api/export', '/api/log?token=', `/api/log?token=${TOKEN}x`, `/api/log?token=${TOKEN.slice(0, -1)}`]) {
    for (const options of [{}, header(''), header('wrong'), header(`${TOKEN}x`), { headers: { cookie: `flumelog-view-${port}=${TOKEN}; flumelog-token=${TOKEN}` } }]) {
      const { status, text } = await get(path, options)
      // a header goes before what is in the address
      if (status !== 403 || /record \d/.test(text)) t.fail(`${path} ${JSON.stringify(options)}: ${status} ${text}`)
    }
  }
  for (const path of ['/', `/?token=${TOKEN}`, '/style.css']) t.notOk(/record \d|secret/.test((await get(path)).text), `${path} is the same for each log`)
  t.match((await get('/api/log', { headers: { accept: 'text/html,*/*' } })).text, /^use the address that flumelog view has printed/, 'it says what to do')
  t.equal((await get('/api/log', header(TOKEN))).status, 200)
  t.equal((await get(`/api/log?token=${TOKEN}`)).status, 200, 'a link has it in its address')
  await log.close()
})

test('nothing is stored in cookies, which a browser sends to every server on this machine', async (t) => {
  const log = await logOf(1)
  const { get } = await viewOf(t, log.log, { token: TOKEN })
  for (const path of ['/', `/?token=${TOKEN}`, `/api/log?token=${TOKEN}`]) t.equal((await get(path)).headers['set-cookie'], undefined, path)
  t.equal((await get(`/?token=${TOKEN}`)).headers['referrer-policy'], 'no-referrer')
  await log.close()
})

test('a request by another name, of another site, or with another method is refused', async (t) => {
  const log = await logOf(1)
  const { get, port } = await viewOf(t, log.log)
  const status = async (headers, options) => (await get('/api/log', { headers, ...options })).status
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example', '127.0.0.2', '[::2]', `127.0.0.1:${port}:80`]) t.equal(await status({ host }), 403, `host ${host}`)
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '127.0.0.1', `[::1]:${port}`]) t.equal(await status({ host }), 200, `host ${host}`)
  t.match((await get('/api/log', { headers: { host: 'logs.example' } })).json.message, /not shown at 'logs\.example', only at 127\.0\.0\.1, .*option `hosts`/, 'it says what to do')
  for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${port + 1}`, `http://localhost:${port}`, 'file://']) t.equal(await status({ origin }), 403, `origin ${origin}`)
  t.equal(await status({ origin: `http://127.0.0.1:${port}` }), 200)
  for (const site of ['cross-site', 'same-site']) t.equal(await status({ 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' }), 403, site)
  for (const site of ['same-origin', 'none']) t.equal(await status({ 'sec-fetch-site': site }), 200, site)
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) t.equal(await status({}, { method }), 405, method)
  await log.close()
})

test('every answer forbids scripts of others, sniffing and framing', async (t) => {
  const log = await logOf(1)
  const { get } = await viewOf(t, log.log)
  for (const path of ['/', '/api/log', '/api/nothing', '/api/filter?q=x', '/api/export', '/none.js']) {
    const { headers } = await get(path)
    const policy = headers['content-security-policy']
    t.ok(policy.startsWith("default-src 'none'; script-src 'self'; style-src 'self'") && !policy.includes('unsafe') && policy.includes("frame-ancestors 'none'"), path)
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.notOk('access-control-allow-origin' in headers)
  }
  await log.close()
})

test('no file but those of the page can be reached', async (t) => {
  const log = await logOf(1)
  const { get } = await viewOf(t, log.log)
  for (const path of ['/../handler.js', '/..%2fhandler.js', '/%2e%2e/handler.js', '//etc/passwd', '/vendor/../../handler.js', '/vendor/__proto__', '/vendor/constructor', '/__proto__', '/api/__proto__', '/api/constructor', '/package.json',
    '/api/../handler.js', '/\\..\\handler.js', '/.', '/vendor/', '/%00', '/%ff', 'http://evil.example/api/log', '/api/log/', '/api/']) {
    t.equal((await get(path)).status, 404, path)
  }
  t.equal((await get(`/${'x'.repeat(9000)}`)).status, 414)
  await log.close()
})

test('wrong parameters are refused, each with what would be right', async (t) => {
  const log = await logOf(100)
  const { get } = await viewOf(t, log.log)
  const bad = ['records?from=-1', 'records?from=x', 'records?from=1.5', 'records?from=1e3', 'records?from=99999999999999999999', 'records?count=201', 'records?count=x', 'record', 'record?seq=', 'record?seq=-1', 'record?seq=NaN',
    'records?encoding=xml', 'find', 'find?at=', 'find?at=x', 'find?at=101%25', 'find?at=-1', 'find?where=a..b+%3D+1', 'blocks?from=-1', 'blocks?count=1025', 'block', 'block?number=x',
    `filter?q=${'x'.repeat(2000)}`, 'filter?q=a..b+%3D+1', 'export?format=xml', 'filter?from=x']
  for (const path of bad) {
    const { status, json } = await get(`/api/${path}`)
    if (status !== 400 || json.code !== 'flumelog:invalid' || json.message.length < 10) t.fail(`${path}: ${status} ${JSON.stringify(json)}`)
  }
  for (const [path, code] of [['record?seq=1', 'flumelog:not-found'], ['record?seq=99999', 'flumelog:not-found'], ['block?number=7', 'flumelog:not-found'], ['find?where=a+%3D+1', undefined]]) {
    const { status, json } = await get(`/api/${path}`)
    t.ok([400, 404].includes(status) && (code === undefined || json.code === code), path)
  }
  t.deepEqual((await get('/api/records?from=9007199254740991')).json.rows, [], 'an offset behind the end has no records')
  await log.close()
})

test('no answer has the path of the log', async (t) => {
  const file = testFolder(t)('secret-log')
  const log = await logOf(100, { storage: file })
  const { get } = await viewOf(t, log.log)
  const folder = file.slice(0, file.lastIndexOf('/'))
  for (const path of ['log', 'records', 'record?seq=0', 'record?seq=1', 'record?seq=99999', 'block?number=0', 'block?number=9', 'blocks', 'find?where=a+%3D+1', 'find?at=x', 'numbers', 'verify', 'filter?q=a+%3D+1', 'export']) {
    const { text } = await get(`/api/${path}`)
    if (text.includes(folder)) t.fail(`${path}: ${text}`)
  }
  t.equal((await get('/api/log')).json.name, 'secret-log')
  await log.close()
  const { status, text } = await get('/api/records')
  t.equal(status, 503, 'the log is closed')
  t.notOk(text.includes(folder))
})

test('a few scans run at a time, and the others are refused', async (t) => {
  const log = await logOf(20000, { size: 1000 })
  const { get, port } = await viewOf(t, log.log, { maxScans: 2 })
  const held = []
  // readers that do not read: the export waits for them
  for (let i = 0; i < 2; i++) held.push(await hangingReader(port, '/api/export'))
  const { status, json, headers } = await get('/api/filter?q=x')
  t.deepEqual([status, json.code, headers['retry-after']], [503, 'busy', '1'])
  t.equal((await get('/api/log')).status, 200, 'other requests are answered')
  for (const socket of held) socket.destroy()
  let answer
  do answer = await get('/api/filter?q=x'); while (answer.status === 503)
  t.equal(answer.events.at(-1).event, 'end', 'once the readers have gone, there is room')
  await log.close()
})

test(`${REQUESTS} requests at once are answered or refused, and the server lives`, async (t) => {
  const log = await logOf(500, { size: 200 })
  const { get, port } = await viewOf(t, log.log)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 200 })
  t.teardown(() => agent.destroy())
  const before = process.memoryUsage().rss
  const paths = ['/api/records?count=5', '/api/log', '/api/blocks?count=2', '/api/record?seq=0', '/api/filter?q=zzz', '/none', '/api/records?from=x']
  const statuses = new Map()
  await Promise.all(Array.from({ length: REQUESTS }, async (_, i) => {
    const { status } = await ask(port, paths[i % paths.length], { agent })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }))
  t.deepEqual([...statuses.keys()].filter(status => ![200, 400, 404, 503].includes(status)), [])
  t.comment(JSON.stringify([...statuses]))
  t.equal((await get('/api/log')).status, 200)
  t.ok(process.memoryUsage().rss - before < 600e6, `memory is bounded: ${Math.round((process.memoryUsage().rss - before) / 1e6)} MB more`)
  await log.close()
})

test('what is no HTTP, or ends in its middle, does no harm', async (t) => {
  const log = await logOf(10)
  const { get, port } = await viewOf(t, log.log)
  for (const bytes of ['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\n', 'GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n', '\0\0\0', `GET /${'x'.repeat(70000)} HTTP/1.1\r\n\r\n`, 'GET /api/log HTTP/1.1\r\n\r\n', 'GET /api/records HTTP/1.0\r\nHost: localhost\r\n\r\n']) {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise(resolve => socket.write(bytes, resolve))
    socket.destroy()
  }
  t.equal((await get('/api/log')).status, 200)
  await log.close()
})

test('a scan ends when its reader goes', async (t) => {
  const log = await logOf(20000, { size: 2000 })
  const handler = new Handler(log.log, {})
  const server = http.createServer((request, response) => handler.handle(request, response))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  const { port } = server.address()
  for (const path of ['/api/export', '/api/filter?q=record', '/api/numbers', '/api/verify']) {
    const socket = await hangingReader(port, path)
    socket.destroy()
    while (handler.turns.scan.running > 0) await new Promise(resolve => setImmediate(resolve))
    t.pass(path)
  }
  await log.close()
})

test('connections that say nothing are closed, so that they keep others out for some seconds only', { skip: !isNode && 'Node.js closes them, by its option connectionsCheckingInterval' }, async (t) => {
  const log = await logOf(1)
  const { address, close } = await startServer(access => new Handler(log.log, access))
  const { port, search } = new URL(address)
  const silent = Array.from({ length: 300 }, () => net.connect(Number(port), '127.0.0.1').on('error', () => {}))
  const closed = Promise.all(silent.map(socket => new Promise(resolve => socket.on('close', resolve).resume())))
  const late = new Promise(resolve => setTimeout(resolve, 15000, 'late').unref())
  t.notEqual(await Promise.race([closed, late]), 'late', 'all are closed')
  t.equal((await ask(Number(port), `/api/log${search}`)).status, 200)
  await close()
  await log.close()
})

test('a list decodes some MB at most, and is shorter if its records are large', async (t) => {
  const log = promises(FlumeLog(newFile(), { large: true }))
  await log.append(Array.from({ length: 200 }, (_, i) => JSON.stringify({ time: 1600000000000 + i, text: 'x'.repeat(206000) })))
  const handler = new Handler(log.log, {})
  const bytesOf = async (decode) => {
    let bytes = 0
    const { parse } = JSON
    JSON.parse = (text, ...more) => {
      bytes += text.length
      return parse(text, ...more)
    }
    try {
      const { rows, next } = await handler.rows.list({ from: 0, count: 200, encoding: decode })
      return { bytes, rows, next }
    } finally {
      JSON.parse = parse
    }
  }
  await handler.log.ready()
  const { bytes, rows, next } = await bytesOf('json')
  t.ok(bytes < 3e6, `${bytes} bytes are parsed`)
  t.ok(rows.length > 50 && rows.length < 200 && next !== null, `of ${rows.length} records`)
  t.deepEqual([rows[9].time, rows[9].line.length], [1600000000009, 300], 'their time, and their start')
  const { rows: more } = await handler.rows.list({ from: next, count: 200, encoding: 'json' })
  t.equal(more[0].time, rows.at(-1).time + 1, 'the next list goes on there')
  const back = await handler.rows.list({ from: log.log.stats().size, count: 200, reverse: true, encoding: 'json' })
  const earlier = await handler.rows.list({ from: back.next, count: 200, reverse: true, encoding: 'json' })
  t.equal(earlier.rows[0].time, back.rows.at(-1).time - 1, 'in reverse, too')
  let decoded = 0
  const codec = { decode: (data) => { decoded += data.length } }
  const other = new Handler(log.log, { codec })
  const { rows: whole } = await other.rows.list({ from: 0, count: 200, encoding: 'codec' })
  t.ok(decoded < 3e6 && whole.length > 5, `what can be decoded as a whole only: ${decoded} bytes, ${whole.length} records`)
  await log.close()
})

test('a few answers are made at a time, however many are asked for, and are large', async (t) => {
  const log = promises(FlumeLog(newFile(), { large: true }))
  await log.append(JSON.stringify({ list: Array.from({ length: 1200 }, (_, i) => `${i}`.padStart(10000, '.')) }))
  const handler = new Handler(log.log, {})
  const { read } = handler.rows
  let running = 0
  let most = 0
  handler.rows.read = async function (...args) {
    most = Math.max(most, ++running)
    try {
      return await read.apply(this, args)
    } finally {
      running--
    }
  }
  const server = http.createServer((request, response) => handler.handle(request, response))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  const { seq } = (await ask(server.address().port, '/api/records')).json.rows[0]
  const answers = await Promise.all(Array.from({ length: 64 }, () => ask(server.address().port, `/api/record?seq=${seq}`)))
  t.ok(answers.every(({ status, json }) => status === 200 && json.size > 12e6), 'all are answered')
  t.ok(most <= 4, `${most} at a time`)
  await log.close()
})

/** @returns {Promise<net.Socket>} of a reader that has got the start of an answer, and reads no more */
function hangingReader (port, path) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    socket.once('data', () => {
      socket.pause()
      resolve(socket)
    })
  })
}
