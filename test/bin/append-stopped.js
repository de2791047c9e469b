'use strict'

// flumelog append, stopped by a signal, by another writer, or by a full disk.

const { once } = require('events')
const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { start, until } = require('../helpers/command-line')
const { makeLog, textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { isNode } = require('../helpers/runtime')
const { flumelog } = require('../helpers/warm-flumelog')

test('append fails and says why while another program has the log open for writing and does not share it', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('first')
  const { code, stderr } = await flumelog(['append', file], { input: 'second\n' })
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*log: another program has this log open for writing and does not share it; close it there first, or open it there with `shared: true` \(flumelog append: --shared\)\n$/)
  await log.close()
  t.deepEqual(await textsOf(file), ['first'])
})

test('append reports a torn write that it truncates, and the file that keeps it', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['a', 'b'])
  fs.appendFileSync(name('log'), Buffer.from([200, 0, 1, 2, 3]))
  const { code, stderr } = await flumelog(['append', name('log')], { input: 'c' })
  t.equal(code, 0)
  t.match(stderr, /^.*log: recovered: truncated 5 bytes of a torn write at offset 10, kept in .*log.cut-10\n/)
  t.deepEqual(await textsOf(name('log')), ['a', 'b', 'c'])
  t.deepEqual([...fs.readFileSync(name('log.cut-10'))], [200, 0, 1, 2, 3])
})

test('Ctrl-C appends all complete lines read so far, closes the log and prints the summary', async (t) => {
  for (const [signal, exitCode] of [['SIGINT', 130], ['SIGTERM', 143]]) {
    const file = testFolder(t)('log')
    const running = start(t, ['append', file])
    await running.send('one\ntwo\nthree\nunfini')
    await until(() => fs.existsSync(file) && fs.statSync(file).size === 23)
    const { code, stdout } = await running.kill(signal)
    t.equal(code, exitCode, signal)
    t.match(stdout, /^.*log: appended 3 records, 11 bytes, in \d+\.\d\d s, [\d,]+ records\/s\n$/)
    t.deepEqual(await textsOf(file), ['one', 'two', 'three'])
    t.ok(isClosed(file), 'the log was closed')
  }
})

test('Ctrl-C that ends the writer of the pipe, too, does not append a part of a line', { skip: process.platform === 'win32' || !isNode }, async (t) => {
  const file = testFolder(t)('log')
  const running = start(t, ['append', file])
  await running.send('one\ntwo\nunfini')
  await until(() => fs.existsSync(file) && fs.statSync(file).size === 14)
  // stopped, so that the end of the pipe and the signal arrive at once
  running.child.kill('SIGSTOP')
  running.child.stdin.end()
  if (!running.child.stdin.closed) await once(running.child.stdin, 'close')
  running.child.kill('SIGINT')
  running.child.kill('SIGCONT')
  t.equal((await running.ended).code, 130)
  t.deepEqual(await textsOf(file), ['one', 'two'])
})

test('a full disk stops append at a line, and the lines before it are kept', async (t) => {
  const name = testFolder(t)
  const lines = Array.from({ length: 50000 }, (_, i) => `line ${i} ${'x'.repeat(93)}`)
  const { code, stdout: summary, stderr: error } = await flumelog(['append', name('log')], {
    input: lines.join('\n'),
    preload: [path.join(__dirname, '..', 'helpers', 'small-disk.js')],
    env: { TEST_DISK_SIZE: String(3500000) }
  })
  t.equal(code, 1)
  t.match(error, /^flumelog: .*log: stopped: the disk is full; free some space and try again; lines from \d+ on were not appended\n$/)
  const line = Number(error.match(/lines from (\d+) on/)[1])
  t.match(summary, new RegExp(`appended ${(line - 1).toLocaleString('en-US')} records`))
  const stored = await textsOf(name('log'))
  t.deepEqual(stored, lines.slice(0, line - 1), 'all before that line')
})
