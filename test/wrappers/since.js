'use strict'

// `since` with promises.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const { getEventListeners, once } = require('events')
const tape = require('tape')
const FlumeLog = require('../..')
const { open, wrap } = require('../../promises')
const { newFile, testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')
const { runtime } = require('../helpers/runtime')

tape('value is the seq of the last record: undefined until the log is open, -1 if it is empty', async (t) => {
  const log = wrap(FlumeLog(newFile()))
  t.equal(log.since.value, undefined)
  t.equal(await log.since.next(), -1, 'the first change is that it is open')
  t.equal(log.since.value, -1)
  const seq = await log.append(['one', 'two'])
  t.equal(log.since.value, seq)
  await log.close()
})

tape('next resolves to the new value, once per call, when a record is acknowledged', async (t) => {
  const log = await open(newFile())
  const waiting = [log.since.next(), log.since.next(), log.since.next({}), log.since.next(null)]
  const seq = await log.append('one')
  t.deepEqual(await Promise.all(waiting), Array(4).fill(seq))
  const next = log.since.next()
  t.equal(await Promise.race([next, Promise.resolve('waiting')]), 'waiting', 'an earlier change does not count')
  t.equal(await log.append('two'), await next)
  t.equal(log.stats().streams, 0, 'it is no stream')
  await log.close()
})

tape('next rejects when the log is closed, cannot be opened, or its signal is aborted', async (t) => {
  const log = await open(newFile())
  const waiting = codeOf(log.since.next())
  const reason = new Error('enough')
  const controller = new AbortController()
  const aborted = log.since.next({ signal: controller.signal }).catch(err => err)
  controller.abort(reason)
  t.equal(await aborted, reason)
  t.equal(await log.since.next({ signal: controller.signal }).catch(err => err), reason, 'also if it was aborted before')
  const { signal } = new AbortController()
  const listening = codeOf(log.since.next({ signal }))
  await log.close()
  t.deepEqual([await waiting, await listening, await codeOf(log.since.next())], Array(3).fill('flumelog:closed'))
  t.equal(getEventListeners(signal, 'abort').length, 0)
  t.equal(await codeOf(log.since.next({ signal: 'soon' })), 'flumelog:invalid')

  const missing = wrap(FlumeLog(testFolder(t)('missing'), { readOnly: true }))
  t.equal(await codeOf(missing.since.next()), 'ENOENT')
})

tape('a loop over since gives the current value, then the latest after each change, and ends when the log is closed', async (t) => {
  const log = await open(newFile())
  const first = await log.append('one')
  const given = []
  const loop = (async () => {
    for await (const seq of log.since) given.push(seq)
  })()
  await log.append('two')
  const last = await log.append('three')
  await log.close()
  await loop
  t.equal(given[0], first)
  t.equal(given.at(-1), last)
  t.deepEqual(given, [...new Set(given)].sort((a, b) => a - b), 'each once, in order')
})

tape('a slow loop over since misses values, but never the last one', async (t) => {
  const log = await open(newFile())
  const changes = log.since.changes()
  t.deepEqual(await changes.next(), { value: -1, done: false })
  let last
  for (let i = 0; i < 5; i++) last = await log.append(`record ${i}`)
  t.deepEqual(await changes.next(), { value: last, done: false })
  const next = changes.next()
  await changes.return()
  t.deepEqual(await next, { value: undefined, done: true }, 'return answers a call that waits')
  const controller = new AbortController()
  const aborted = log.since.changes({ signal: controller.signal })
  await aborted.next()
  const waiting = aborted.next().catch(err => err.name)
  controller.abort()
  t.equal(await waiting, 'AbortError')
  await log.close()
})

tape('a loop over since that was left keeps nothing', async (t) => {
  const log = await open(newFile())
  let waiting = 0
  const { next } = log.flumelog.since
  log.flumelog.since.next = (cb) => {
    waiting++
    const cancel = next(cb)
    return () => {
      waiting--
      cancel()
    }
  }
  const changes = log.since.changes()
  await changes.next()
  changes.next()
  t.equal(waiting, 1)
  await changes.return()
  t.equal(waiting, 0)
  await log.close()
})

tape('next follows a log that another writer has open', async (t) => {
  const file = testFolder(t)('log')
  const writer = await open(file)
  const reader = await open(file, { readOnly: true })
  const next = reader.since.next()
  const seq = await writer.append('one')
  t.equal(await next, seq)
  const closing = codeOf(reader.since.next())
  await reader.close()
  t.equal(await closing, 'flumelog:closed')
  await writer.close()
})

tape('next rejects when the file of the log is replaced', async (t) => {
  const file = testFolder(t)('log')
  const writer = await open(file)
  await writer.append('one')
  await writer.close()
  const reader = await open(file, { readOnly: true })
  const next = codeOf(reader.since.next())
  fs.copyFileSync(file, `${file}.copy`)
  fs.renameSync(`${file}.copy`, file)
  t.equal(await next, 'flumelog:replaced')
  await reader.close()
})

tape('a process that waits for a change of another process stays alive until then', { skip: runtime === 'deno' && 'a watched file keeps a process of Deno alive' }, async (t) => {
  const file = testFolder(t)('log')
  const writer = await open(file)
  const program = `
    const { open } = require(${JSON.stringify(path.join(__dirname, '..', '..', 'promises'))})
    open(${JSON.stringify(file)}, { readOnly: true }).then(async (log) => {
      setImmediate(() => console.log('waiting'))
      console.log(await log.since.next())
    })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let output = ''
  child.stdout.setEncoding('utf8')
  const waiting = new Promise(resolve => child.stdout.on('data', (data) => {
    output += data
    if (output === 'waiting\n') resolve()
  }))
  await Promise.race([waiting, closed])
  const seq = await writer.append('one')
  t.deepEqual(await closed, [0, null])
  t.equal(output, `waiting\n${seq}\n`)
  await writer.close()
})

tape('next of a client of a shared log resolves when the owner appends', async (t) => {
  const file = testFolder(t)('log')
  const owner = await open(file, { shared: true })
  const client = await open(file, { shared: true })
  t.equal(client.role, 'client')
  const next = client.since.next()
  const seq = await owner.append('one')
  t.equal(await next, seq)
  const closing = codeOf(client.since.next())
  await client.close()
  t.equal(await closing, 'flumelog:closed')
  await owner.close()
})

tape('since.next of the log with callbacks calls back once, later, unless it is stopped', async (t) => {
  const log = await open(newFile())
  const called = []
  const stop = log.flumelog.since.next((err, seq) => called.push('stopped', err, seq))
  log.flumelog.since.next((err, seq) => called.push(err, seq))
  stop()
  const seq = await log.append('one')
  await log.append('two')
  t.deepEqual(called, [null, seq])
  t.throws(() => log.flumelog.since.next(), (err) => err.code === 'flumelog:invalid')
  await log.close()
})

tape('any number of waits can have one AbortSignal, without a warning, and leave no listener', async (t) => {
  const log = await open(newFile())
  const controller = new AbortController()
  const { signal } = controller
  const reason = new Error('enough')
  const warnings = []
  const onwarning = (warning) => warnings.push(warning)
  process.on('warning', onwarning)
  const waits = Array.from({ length: 20 }, () => log.since.next({ signal }).catch(err => err))
  const live = Array.from({ length: 20 }, () => log.stream({ live: true, signal }).next().catch(err => err))
  const stuck = log.appendFrom({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }, { signal }).catch(err => err)
  controller.abort(reason)
  t.ok((await Promise.all([...waits, ...live, stuck])).every(err => err === reason))
  t.equal(getEventListeners(signal, 'abort').length, 0)
  t.throws(() => log.stream({ signal: { aborted: false, addEventListener () {} } }), { code: 'flumelog:invalid' })
  await new Promise(resolve => setImmediate(resolve))
  process.removeListener('warning', onwarning)
  t.deepEqual(warnings, [])
  await log.close()
})
