'use strict'

// flumelog view: the server that the command starts.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const { makeLog } = require('../../../test/helpers/logs')
const { testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { flumelog, refuses, start } = require('../../../test/helpers/command-line')
const { ask } = require('./helpers/view')

/** @returns {Promise<{ running: any, port: string, get: (path: string) => Promise<any> }>} the command, when it has printed its address */
async function viewing (t, args, options) {
  const running = start(t, ['view', ...args], options)
  await running.printed(({ stdout }) => stdout.includes('\n'))
  const { port, search } = new URL(running.stdout.trim())
  const headers = { 'flumelog-token': search.slice('?token='.length) }
  return { running, port, get: (path, more = {}) => ask(port, path, { headers, ...more }) }
}

test('view prints an address at which the log is shown, until it is stopped', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['{"at":1600000000}', '{"at":1600000001}'])
  const before = fs.readFileSync(file)
  const { running, get } = await viewing(t, [file, '--no-open'])
  t.match(running.stdout, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}\n$/)
  t.equal((await get('/api/log')).json.encoding, 'json')
  t.deepEqual((await get('/api/records')).json.rows.map(({ time }) => time), [1600000000000, 1600000001000])
  running.kill('SIGINT')
  const { code, stderr } = await running.ended
  t.equal(code, 0)
  t.match(stderr, /log: open this address in a browser; Ctrl-C stops the server/)
  t.equal(fs.readFileSync(file).compare(before), 0, 'the log is as it was')
})

test('view opens a browser, or says that there is none', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), ['one'])
  fs.writeFileSync(file('browser'), `#!/bin/sh\necho "$1" > ${file('opened')}.tmp && mv ${file('opened')}.tmp ${file('opened')}\n`, { mode: 0o755 })
  const { running } = await viewing(t, [file('log')], { env: { BROWSER: file('browser') } })
  while (!fs.existsSync(file('opened'))) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(fs.readFileSync(file('opened'), 'utf8'), running.stdout)
  const { running: other } = await viewing(t, [file('log')], { env: { BROWSER: file('nothing') } })
  await other.printed(({ stderr }) => stderr.includes('\n'))
  t.match(other.stderr, /no browser was found; open this address in one/)
})

test('view follows a log that another process writes', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  const { get } = await viewing(t, [file, '--no-open'])
  t.deepEqual((await get('/api/records')).json.rows.map(({ line }) => line), ['one'])
  await log.append('two')
  let rows
  do ({ rows } = (await get('/api/records')).json); while (rows.length < 2)
  t.deepEqual(rows.map(({ line }) => line), ['one', 'two'])
  await log.close()
})

test('view says that a log was moved, deleted or truncated, and shows what is there as soon as it can be opened', async (t) => {
  const file = testFolder(t)
  const path = file('log')
  await makeLog(path, ['one', 'two'])
  const { get } = await viewing(t, [path, '--no-open'])
  /** Asks until the answer is this one. */
  const until = async (isIt) => {
    let answer
    do answer = await get('/api/live?from=0'); while (!isIt(answer))
    return answer.json
  }
  const { id, end } = await until(({ status }) => status === 200)
  fs.renameSync(path, file('moved'))
  t.match((await until(({ status }) => status === 503)).message, /log: the file was deleted or moved/)
  fs.renameSync(file('moved'), path)
  t.equal((await until(({ status }) => status === 200)).id, id, 'moved back, it is the same log')
  await makeLog(file('other'), ['three', 'four', 'five'])
  for (const name of fs.readdirSync(file(''))) if (name.startsWith('log')) fs.rmSync(file(name))
  fs.renameSync(file('other'), path)
  await until(({ status, json }) => status === 200 && json.id !== id)
  t.deepEqual((await get('/api/records')).json.rows.map(({ line }) => line), ['three', 'four', 'five'], 'replaced, it is another log')
  fs.truncateSync(path, 9)
  await until(({ status, json }) => status === 200 && json.end < end)
  t.deepEqual((await get('/api/records')).json.rows.map(({ line }) => line), ['three'], 'truncated')
})

test('view decodes records as it is told', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), ['one'])
  const { get } = await viewing(t, [file('log'), '--no-open', '--encoding', 'hex'])
  t.equal((await get('/api/records')).json.rows[0].line, '6f6e65')
  fs.writeFileSync(file('codec.js'), 'exports.decode = (data) => ({ length: data.length })')
  fs.writeFileSync(file('codec.mjs'), 'export default { decode: (text) => text.toUpperCase(), buffer: false }')
  const { get: byCodec } = await viewing(t, [file('log'), '--no-open', '--codec', file('codec.js')])
  t.equal((await byCodec('/api/records')).json.rows[0].line, '{"length":3}')
  const { get: byModule } = await viewing(t, [file('log'), '--no-open', '--codec', file('codec.mjs')])
  t.equal((await byModule('/api/records')).json.rows[0].line, '"ONE"')
})

test('view refuses what it cannot show, in one line', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), ['one'])
  const { running, port } = await viewing(t, [file('log'), '--no-open'])
  refuses(t, await flumelog(['view', file('none'), '--no-open']), 1, /none: no such file/)
  refuses(t, await flumelog(['view', file('log'), '--no-open', '--port', port]), 1, /port \d+ is taken/)
  refuses(t, await flumelog(['view', file('log'), '--port', '70000']), 2, /--port must be a port, an integer from 0 to 65535/)
  refuses(t, await flumelog(['view', file('log'), '--encoding', 'xml']), 2, /--encoding must be json, utf8, hex, bipf, cbor or msgpack/)
  refuses(t, await flumelog(['view', file('log'), '--codec', file('none.js')]), 1, /none.js: the codec cannot be loaded: .*none\.js[^/]*$/m)
  fs.writeFileSync(file('empty.js'), '')
  refuses(t, await flumelog(['view', file('log'), '--codec', file('empty.js')]), 1, /a codec must export a function `decode`/)
  refuses(t, await flumelog(['view', file('log'), '--codec', file('empty.js'), '--encoding', 'hex']), 2, /--encoding cannot be used with --codec/)
  running.kill('SIGTERM')
  t.equal((await running.ended).code, 0)
})
