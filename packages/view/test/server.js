'use strict'

// A view in a server of its own, and mounted in others.

const http = require('http')
const os = require('os')
const net = require('net')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const view = require('..')
const { open } = require('flumelog-random-access-file/promises')
const { Handler } = require('../lib/http/handler')
const { startServer } = require('../lib/http/server')
const { promises } = require('../../../test/helpers/promises')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { ask, viewOf } = require('./helpers/view')

async function logOf () {
  const log = promises(FlumeLog(newFile()))
  await log.append(['{"at":1}', '{"at":2}'])
  return log
}

test('its own server listens on 127.0.0.1 only, at a free port, and gives an address with a token', async (t) => {
  const log = await logOf()
  const { address, close } = await startServer(access => new Handler(log.log, access))
  const { hostname, port, search } = new URL(address)
  t.equal(hostname, '127.0.0.1')
  t.match(search, /^\?token=[\w-]{32}$/)
  const other = await startServer(access => new Handler(log.log, access))
  t.notEqual(new URL(other.address).search, search, 'another one each time')
  await other.close()
  t.equal((await ask(port, '/api/log')).status, 403)
  const headers = { 'flumelog-token': search.slice('?token='.length) }
  t.equal((await ask(port, '/api/log', { headers })).status, 200)
  t.equal((await ask(port, '/api/log', { headers: { ...headers, host: 'localhost' } })).status, 403, 'the port belongs to the name')
  const outside = Object.values(os.networkInterfaces()).flat().find(({ internal, family }) => !internal && family === 'IPv4')
  if (outside !== undefined) {
    const socket = net.connect(Number(port), outside.address)
    t.ok(await new Promise(resolve => socket.on('connect', () => resolve(false)).on('error', () => resolve(true))), 'no other address is listened on')
  }
  await close()
  await log.close()
})

test('a port that is taken is an error', async (t) => {
  const log = await logOf()
  const { address, close } = await startServer(access => new Handler(log.log, access))
  const port = Number(new URL(address).port)
  await startServer(access => new Handler(log.log, access), port).then(() => t.fail(), err => t.equal(err.code, 'EADDRINUSE'))
  await close()
  await log.close()
})

test('mounted below a path, it answers there and nowhere else', async (t) => {
  const log = await logOf()
  const token = 'a-token-that-is-long'
  const { get } = await viewOf(t, log.log, { prefix: '/admin/log', token })
  const { status, headers: { location } } = await get(`/admin/log?token=${token}`)
  t.deepEqual([status, location], [302, `./log/?token=${token}`], 'the token is kept when the slash is added')
  const headers = { 'flumelog-token': token }
  t.equal((await get('/admin/log/', { headers })).status, 200)
  t.equal((await get('/admin/log/api/log', { headers })).json.end, 24)
  for (const path of ['/', '/api/log', '/admin', '/admin/logs/api/log', '/admin/log2/']) t.equal((await get(path, { headers })).status, 404, path)
  await log.close()
})

test('a router may take its part of the path away, if it keeps the address in originalUrl', async (t) => {
  const log = await open(testFolder(t)('log'))
  await log.append('one')
  const handler = view(log, { hosts: null })
  const server = http.createServer((request, response) => handler(Object.assign(request, { originalUrl: request.url, url: request.url.slice('/tools'.length) }), response))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  const { port } = server.address()
  t.equal((await ask(port, '/tools/api/log', { headers: { host: 'logs.example', origin: 'https://logs.example' } })).json.end, 7, 'by any name')
  t.equal((await ask(port, '/tools')).headers.location, './tools/')
  await log.close()
})

test('it jumps to the start, the end, a percentage, an offset and a value', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 256 }))
  const seqs = []
  for (let i = 0; i < 200; i++) seqs.push(await log.append(JSON.stringify({ at: 1600000000000 + i * 3600000, i })))
  await log.del(seqs[0])
  const { api, get } = await viewOf(t, log.log)
  const seqAt = async (query) => (await api(`find?${query}`)).seq
  t.deepEqual([await seqAt('at=start'), await seqAt('at=end'), await seqAt('at=0'), await seqAt(`at=${seqs[7]}`), await seqAt(`at=${seqs[7] - 1}`)], [seqs[1], seqs[199], seqs[1], seqs[7], seqs[7]])
  t.deepEqual([await seqAt('at=0%25'), await seqAt('at=100%25'), await seqAt('at=99999999')], [seqs[1], seqs[199], seqs[199]])
  const half = await seqAt('at=50%25')
  t.ok(half >= seqs[90] && half <= seqs[110])
  t.equal(await seqAt('where=i+%3D+150'), seqs[150])
  t.deepEqual(await api('find?where=at+%3D+2020-09-15'), { seq: seqs[36], exact: false, note: '`at` is in milliseconds since 1970, so 2020-09-15 means 1600128000000', warning: null })
  t.equal((await get('/api/find?where=i+%3D+1000')).json.code, 'flumelog:not-found')
  t.match((await get('/api/find?where=none+%3D+1')).json.message, /string or boolean at `none` \(keys of the record: at, i\)/)
  await log.del(seqs[50])
  t.deepEqual(await api('find?where=i+%3D+50'), { seq: seqs[51], exact: false, note: null, warning: 'No record with i = 50 was found: in this one, it is 51. If the log is not sorted by it, filter instead' })
  t.deepEqual(await api('find?where=i+%3D+51.0'), { seq: seqs[51], exact: true, note: null, warning: null })
  t.match((await api('find?at=99999999')).warning, /^The log ends at offset \d+: this is its last record$/)
  t.equal((await api('find?at=10')).warning, null)
  t.equal((await get('/api/find?at=150%25')).json.message, "a place in the log is an offset, a percentage from 0% to 100%, start, or end; it is '150%'")
  t.match((await get('/api/find?where=i+%3D+x')).json.message, /the value must be a number/)
  await log.close()
})

test('it jumps to a date by whatever shows the time of a row', async (t) => {
  const start = Date.parse('2024-01-01T00:00:00Z')
  for (const [name, timeOf] of Object.entries({ timestamp: (i) => start + i * 3600000, ts: (i) => (start / 1000) + i * 3600, at: (i) => new Date(start + i * 3600000).toISOString(), time: (i) => start + i * 3600000 })) {
    const log = promises(FlumeLog(newFile(), { blockSize: 256 }))
    const seqs = []
    for (let i = 0; i < 100; i++) seqs.push(await log.append(JSON.stringify({ [name]: timeOf(i) })))
    const { api, get } = await viewOf(t, log.log)
    t.deepEqual(await api('find?time=2024-01-02'), { seq: seqs[24], warning: null }, name)
    t.equal((await api('find?time=2024-01-01T09:30:00Z')).seq, seqs[10])
    t.equal((await get('/api/find?time=2025-01-01')).json.code, 'flumelog:not-found')
    t.equal((await get('/api/find?time=soon')).json.code, 'flumelog:invalid')
    await log.close()
  }
  const log = promises(FlumeLog(newFile()))
  await log.append('{"name":"ada"}')
  const { get } = await viewOf(t, log.log)
  t.match((await get('/api/find?time=2024-01-02')).json.message, /the record at offset 0 has no time/)
  await log.close()
})

test('it jumps over what is deleted, however long reading that takes', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 256 }))
  const count = 12000
  await log.append(Array.from({ length: count }, (_, i) => JSON.stringify({ tail: i })))
  const last = count - 50
  const { seq } = await log.search(data => JSON.parse(data).tail - last)
  await log.del({ gte: 0, lt: seq })
  const { api } = await viewOf(t, log.log)
  await api('log')
  const { now } = performance
  // as if each look at the clock came a second after the one before it
  let passed = 0
  t.teardown(() => { performance.now = now })
  performance.now = () => now.call(performance) + 1000 * passed++
  for (const query of ['at=start', 'at=0', 'at=10%25', `where=tail+%3E%3D+${last}`]) t.equal((await api(`find?${query}`)).seq, seq, query)
  t.equal((await api(`record?seq=${seq}`)).previous, null)
  await log.del({ gte: seq })
  const { get } = await viewOf(t, log.log)
  t.equal((await get('/api/find?at=end')).json.code, 'flumelog:not-found')
  await log.close()
})
