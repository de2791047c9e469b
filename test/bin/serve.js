'use strict'

// flumelog serve: owns a log for other processes that append to it.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start, until, refuses } = require('../helpers/command-line')
const { makeLog, textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const helper = (name) => path.join(__dirname, '..', 'helpers', name)
const filesIn = (file) => fs.readdirSync(path.dirname(file)).filter(name => !name.endsWith('.meta')).sort()

const serving = ({ stderr }) => stderr.endsWith('serving; other processes can append\n')

test('serve creates a log, owns it for others until it is stopped, and closes it', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    const file = testFolder(t)('log')
    const owner = start(t, ['serve', file])
    await owner.printed(serving)
    const client = promises(FlumeLog(file, { shared: true }))
    await client.append(['one', 'two'])
    t.equal(client.log.role, 'client')
    await flumelog(['append', file], { input: 'three\n' })
    await client.close()
    const { code, stdout, stderr } = await owner.kill(signal)
    t.deepEqual({ code, stdout }, { code: 0, stdout: '' }, signal)
    t.match(stderr, /^.*log: serving; other processes can append\n.*log: stopped after \d+ s: 3 records, 11 bytes appended\n$/)
    t.deepEqual(filesIn(file), ['log'], 'it is closed, and nothing else is left')
    t.deepEqual(await textsOf(file), ['one', 'two', 'three'])
  }
})

test('serve --json prints a line of counters every second and at the end, and nothing else', async (t) => {
  const file = testFolder(t)('log')
  const running = start(t, ['serve', file, '--json'])
  await running.printed(({ stdout }) => stdout.includes('\n'))
  const client = promises(FlumeLog(file, { shared: true }))
  await client.append(['one', 'two'])
  await running.printed(({ stdout }) => stdout.includes(`"pid":${process.pid},"appended":{"records":2,"bytes":6}`))
  await client.close()
  const { code, stdout, stderr } = await running.kill('SIGTERM')
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const counters = stdout.trimEnd().split('\n').map(line => JSON.parse(line))
  t.equal(counters[0].role, 'owner')
  t.deepEqual(counters[0].clients, [])
  t.equal(counters.at(-1).unsynced, 0, 'at the end, all is fsynced')
})

test('serve --json closes the log when its reader closes the pipe', async (t) => {
  const file = testFolder(t)('log')
  const running = start(t, ['serve', file, '--json'])
  await running.printed(({ stdout }) => stdout.includes('\n'))
  await flumelog(['append', file], { input: 'one' })
  running.child.stdout.destroy()
  const { code, stderr } = await running.ended
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  t.deepEqual(filesIn(file), ['log'])
})

test('on a terminal, serve shows clients, records/s and bytes, and its role; with --quiet, nothing', async (t) => {
  const file = testFolder(t)('log')
  const running = start(t, ['serve', file], { columns: 80 })
  await running.printed(({ stderr }) => stderr.includes('serving 0 clients  0 records/s  0 records, 0 bytes  '))
  const client = promises(FlumeLog(file, { shared: true }))
  await client.append(['one', 'two'])
  await running.printed(({ stderr }) => /serving 1 client {2}\d+ records\/s {2}2 records, 6 bytes {2}\d+ s/.test(stderr))
  const next = start(t, ['serve', file], { columns: 80 })
  await next.printed(({ stderr }) => stderr.includes('waiting to take over  '))
  await client.close()
  const { stderr } = await running.kill('SIGINT')
  t.match(stderr, /log: stopped after .*: 2 records, 6 bytes appended\n$/)
  await next.printed(({ stderr }) => stderr.includes('serving 0 clients'))
  t.doesNotMatch(next.stderr, /took over/, 'the status says it')

  await next.kill('SIGTERM')
  const quiet = start(t, ['serve', file, '--quiet'], { columns: 80 })
  await until(() => fs.existsSync(file + '.socket'))
  await flumelog(['append', file], { input: 'three' })
  t.equal((await quiet.kill('SIGTERM')).stderr.trim(), '')
})

test('serve reports a torn write that it truncates', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['a', 'b'])
  fs.appendFileSync(file, Buffer.from([200, 0, 1, 2, 3]))
  const running = start(t, ['serve', file])
  await running.printed(serving)
  t.match((await running.kill('SIGTERM')).stderr, /^.*log: recovered: truncated 5 bytes of a torn write at offset 10, kept in .*log.cut-10\n/)
})

test('serve fails with one line when it cannot open the log', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  const log = promises(FlumeLog(file))
  await log.append('a')
  refuses(t, await flumelog(['serve', file], { preload: [helper('impatient.js')] }), 1, /log: another program has this log open for writing and does not share it; /, 'a log that is not shared')
  await log.close()
  refuses(t, await flumelog(['serve', name('.')]), 1, /is a directory/, 'a directory')
  fs.writeFileSync(name('text'), 'no log at all\n'.repeat(50))
  refuses(t, await flumelog(['serve', name('text')]), 1, /text: not a log: neither a valid block nor enough whole records were found; check the name, or import it if another program has written it/m, 'a text')
  t.deepEqual(filesIn(name('text')), ['log', 'text'], 'no socket is left')
})
