'use strict'

// flumelog view with several logs, or a folder: the list, and each log below a path of its own.

const fs = require('fs')
const net = require('net')
const test = require('tape')
const { open } = require('flumelog-random-access-file/promises')
const { makeLog } = require('../../../test/helpers/logs')
const { testFolder } = require('../../../test/helpers/folder')
const { LogList } = require('../lib/http/log-list')
const { startServer } = require('../lib/http/server')
const { start } = require('../../../test/helpers/command-line')
const { ask } = require('./helpers/view')

/** Shows logs until the test ends. */
async function listOf (t, names) {
  let list
  const { address, close } = await startServer(async (access) => {
    list = new LogList(names, access)
    await list.open()
    return list
  })
  t.teardown(async () => {
    await close()
    await list.close()
  })
  const { port, search } = new URL(address)
  const token = search.slice('?token='.length)
  const get = (path, headers = { 'flumelog-token': token }, more = {}) => ask(port, path, { headers, ...more })
  return { list, port, token, get, logs: async () => (await get('/api/logs')).json.logs }
}

const linesOf = ({ json }) => json.rows.map(({ line }) => line)

test('several logs are listed, with sizes, last writes and cursors, and each is shown below a path of its own', async (t) => {
  const name = testFolder(t)
  await makeLog(name('a.log'), ['one', 'two'])
  await makeLog(name('b c.log'), ['three'])
  const log = await open(name('a.log'))
  const cursor = await log.cursor('mailer')
  await cursor.commit(0)
  await log.close()
  const { get, logs } = await listOf(t, [name('a.log'), name('b c.log'), name('a.log')])
  const listed = await logs()
  t.deepEqual(listed.map(({ name, address, size, error }) => [name, address, size, error]), [['a.log', 'a.log/', 14, null], ['b c.log', 'b%20c.log/', 9, null]], 'each once')
  t.equal(listed[0].written, fs.statSync(name('a.log')).mtimeMs)
  t.deepEqual(listed.map(({ cursors }) => cursors.map(({ name, lag }) => [name, lag])), [[['mailer', 7]], []])
  t.deepEqual(linesOf(await get('/a.log/api/records')), ['one', 'two'])
  t.deepEqual(linesOf(await get('/b%20c.log/api/records')), ['three'])
  t.equal((await get('/a.log/api/log')).json.isListed, true)
  t.match((await get('/')).text, /logs\.js/)
  t.match((await get('/a.log/')).text, /main\.js/)
  const { status, headers } = await get('/b%20c.log?token=x')
  t.deepEqual([status, headers.location], [302, './b%20c.log/?token=x'])
})

test('the list and its logs are for those who have the token and ask by the right name, and have the limits of a log', async (t) => {
  const name = testFolder(t)
  await makeLog(name('a.log'), Array.from({ length: 400 }, () => 'x'.repeat(60000)))
  await makeLog(name('b.log'), Array.from({ length: 400 }, () => 'x'.repeat(60000)))
  const { list, get, port, token } = await listOf(t, [name('a.log'), name('b.log'), name('missing.log')])
  const right = { 'flumelog-token': token }
  for (const path of ['/api/logs', '/a.log/api/log', '/missing.log/api/log', '/missing.log/']) {
    const statusOf = async (headers, more) => (await get(path, headers, more)).status
    t.equal(await statusOf({}), 403, `${path} without the token`)
    t.equal(await statusOf({ 'flumelog-token': `${token}x` }), 403, 'with another one')
    t.equal(await statusOf({ ...right, host: `example.org:${port}` }), 403, 'at another name')
    t.equal(await statusOf({ ...right, origin: 'http://example.org' }), 403, 'from another site')
    t.equal(await statusOf(right, { method: 'POST' }), 405, 'to change something')
  }
  t.equal((await get('/api/logs', right, { method: 'HEAD' })).status, 405)
  t.equal((await get(`/api/logs?token=${token}`, {})).status, 200)
  for (const path of ['/', '/api/logs', '/none']) t.match((await get(path)).headers['content-security-policy'], /^default-src 'none'/, path)
  for (const path of ['/c.log/', '/a.log/none.js', '/a.log/api/logs', '/api/log', '/..%2fa.log/', '/%2e%2e/package.json', '/%', '/__proto__/', '//a.log/', '/a.log%2f']) t.equal((await get(path)).status, 404, path)
  t.equal((await get(`/${'x'.repeat(9000)}`)).status, 414)
  const scans = []
  // readers that do not read
  for (const log of ['a.log', 'b.log', 'a.log', 'b.log']) {
    scans.push(await new Promise(resolve => {
      const socket = net.connect(port, '127.0.0.1', () => socket.write(`GET /${log}/api/export?token=${token} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`))
      socket.once('data', () => resolve(socket.pause()))
    }))
  }
  t.equal(list.turns.scan.running, 4)
  t.deepEqual([(await get('/a.log/api/numbers')).status, (await get('/b.log/api/numbers')).status], [503, 503], 'four scans of all logs together')
  for (const socket of scans) socket.destroy()
  const statuses = (await Promise.all(Array.from({ length: 80 }, () => get('/api/logs')))).map(({ status }) => status)
  t.ok(statuses.filter(status => status === 200).length > 60 && statuses.every(status => [200, 503].includes(status)), 'some requests for the list wait, the others are refused')
})

test('what cannot be read is listed with its error, and without its path, breaks nothing, and is shown as soon as it can be', async (t) => {
  const name = testFolder(t)
  await makeLog(name('a.log'), ['one'])
  fs.writeFileSync(name('notes.txt'), 'no log\n'.repeat(99))
  fs.mkdirSync(name('folder'))
  const { get, logs } = await listOf(t, [name('missing.log'), name('notes.txt'), name('a.log'), name('none/b.log')])
  const listed = await logs()
  t.deepEqual(listed.map(({ name }) => name), ['missing.log', 'notes.txt', 'a.log', 'b.log'])
  t.match(listed[0].error, /^missing\.log: no such file/)
  t.match(listed[1].error, /^notes\.txt: not a log/)
  t.equal(listed[2].error, null)
  t.notOk(JSON.stringify(listed).includes(name('')), 'no answer has a path')
  const { status, json } = await get('/missing.log/api/log')
  t.deepEqual([status, json.message], [503, listed[0].error])
  await makeLog(name('missing.log'), ['there'])
  t.deepEqual(linesOf(await get('/missing.log/api/records')), ['there'])
  for (const file of ['a.log', 'a.log.meta']) fs.rmSync(name(file))
  while ((await logs())[2].error === null) await new Promise(resolve => setImmediate(resolve))
  t.match((await logs())[2].error, /a\.log: (no such file|the file was deleted or moved)/)
  t.notOk(JSON.stringify(await logs()).includes(name('')))
  t.equal((await logs())[0].error, null, 'the others are as they were')
})

test('a folder shows the logs in it, without what is beside them, and is looked at again for each list', async (t) => {
  const name = testFolder(t)
  fs.mkdirSync(name('logs'))
  const { list, get, logs } = await listOf(t, [name('logs')])
  const names = async () => (await logs()).map(({ name }) => name)
  t.deepEqual(await names(), [])
  await makeLog(name('logs/short'), ['one'])
  await makeLog(name('logs/long.log'), Array.from({ length: 300 }, () => 'x'.repeat(1000)))
  const log = await open(name('logs/long.log'))
  await (await log.cursor('mailer')).commit(0)
  await log.close()
  fs.copyFileSync(name('logs/long.log'), name('logs/long.log.unfinished'))
  fs.copyFileSync(name('logs/long.log'), name('logs/long.log.1'))
  fs.writeFileSync(name('logs/notes.txt'), 'no log')
  fs.writeFileSync(name('logs/empty'), '')
  fs.mkdirSync(name('logs/folder.log'))
  fs.symlinkSync(name('logs/none'), name('logs/broken.log'))
  t.deepEqual(await names(), ['long.log', 'long.log.1', 'short'])
  t.deepEqual(linesOf(await get('/short/api/records')), ['one'])
  for (const path of ['/notes.txt/', '/empty/', '/folder.log/', '/long.log.meta/']) t.equal((await get(path)).status, 404, path)
  const { shown } = list.entries.find(({ name }) => name === 'short')
  for (const file of ['short', 'short.meta']) fs.rmSync(name(`logs/${file}`), { force: true })
  t.deepEqual(await names(), ['long.log', 'long.log.1'])
  t.equal(await shown.handler.log.ready().then(() => null, ({ code }) => code), 'flumelog:closed', 'what has gone is closed')
  t.equal((await get('/short/')).status, 404)
})

test('logs of the same name are told apart by their folders, and one may be named as a file of the page', async (t) => {
  const name = testFolder(t)
  for (const folder of ['a/x', 'b/x', 'c']) fs.mkdirSync(name(folder), { recursive: true })
  await makeLog(name('a/x/log'), ['a'])
  await makeLog(name('b/x/log'), ['b'])
  await makeLog(name('c/log'), ['c'])
  for (const own of ['api', 'vendor', 'style.css', 'main.js']) await makeLog(name(`c/${own}`), [own])
  const { get, logs } = await listOf(t, [name('a/x/log'), name('b/x/log'), name('c')])
  t.deepEqual((await logs()).map(({ name }) => name), ['a/x/log', 'b/x/log', 'api', 'c/log', 'main.js', 'style.css', 'vendor'])
  for (const { address, name } of await logs()) t.deepEqual(linesOf(await get(`/${address}api/records`)), [name.replace('/x', '').replace('/log', '')], name)
  t.match((await get('/style.css')).headers['content-type'], /^text\/css/)
  t.match((await get('/vendor/preact.js')).headers['content-type'], /^text\/javascript/)
})

test('at most 100 logs are listed, and the list says that there are more', async (t) => {
  const name = testFolder(t)
  fs.mkdirSync(name('logs'))
  await makeLog(name('logs/000'), ['one'])
  for (let i = 1; i <= 100; i++) fs.copyFileSync(name('logs/000'), name(`logs/${String(i).padStart(3, '0')}`))
  const { get } = await listOf(t, [name('logs')])
  const { logs, isCut } = (await get('/api/logs')).json
  t.deepEqual([logs.length, logs.at(-1).name, isCut], [100, '099', true])
  fs.rmSync(name('logs/100'))
  fs.writeFileSync(name('logs/notes.txt'), 'no log')
  t.equal((await get('/api/logs')).json.isCut, false)
})

test('the command shows a list of several files and folders, and one file as before', async (t) => {
  const name = testFolder(t)
  fs.mkdirSync(name('logs'))
  await makeLog(name('logs/a.log'), ['one'])
  await makeLog(name('b.log'), ['two'])
  const viewing = async (...args) => {
    const running = start(t, ['view', ...args, '--no-open'], { cwd: name('') })
    await running.printed(({ stderr }) => stderr.includes('\n'))
    const { port, search } = new URL(running.stdout.trim())
    return { running, get: (path) => ask(port, path, { headers: { 'flumelog-token': search.slice('?token='.length) } }) }
  }
  const { running, get } = await viewing('logs', 'b.log')
  t.match(running.stderr, /^logs and 1 more: open this address in a browser/)
  t.deepEqual((await get('/api/logs')).json.logs.map(({ name }) => name), ['a.log', 'b.log'])
  t.deepEqual(linesOf(await get('/b.log/api/records')), ['two'])
  running.kill('SIGINT')
  t.equal((await running.ended).code, 0)
  const { get: fromFolder } = await viewing('logs', '--encoding', 'hex')
  t.deepEqual(linesOf(await fromFolder('/a.log/api/records')), ['6f6e65'])
  const { get: alone } = await viewing('b.log')
  t.equal((await alone('/api/log')).json.isListed, false)
  t.equal((await alone('/api/logs')).status, 404)
})
