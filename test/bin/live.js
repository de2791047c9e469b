'use strict'

// flumelog dump --live: follows the log as it grows.

const { once } = require('events')
const fs = require('fs')
const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { start } = require('../helpers/command-line')
const { makeLog, overwrite } = require('../helpers/logs')
const { runtime } = require('../helpers/runtime')
const { flumelog } = require('../helpers/warm-flumelog')

test('dump --live prints what another process appends, immediately, and Ctrl-C stops it silently', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['old 1', 'old 2'])
  const follower = start(t, ['dump', file, '--live', '--seqs'])
  await follower.printed(({ stdout }) => stdout.includes('old 2\n'))

  const appender = start(t, ['append', file])
  let expected = '0\told 1\n9\told 2\n'
  for (let i = 0; i < 5; i++) {
    await appender.send(`new ${i}\n`)
    expected += `${18 + i * 9}\tnew ${i}\n`
    await follower.printed(({ stdout }) => stdout === expected)
  }
  t.pass('each record was printed before the next one was appended')

  appender.child.stdin.end()
  t.equal((await appender.ended).code, 0)
  const { code, signal, stdout, stderr } = await follower.kill('SIGINT')
  t.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
  t.equal(stdout, expected)
})

test('dump --live --gt prints only the records after an offset', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, ['a', 'b', 'c'])
  const follower = start(t, ['dump', file, '--live', '--gt', String(seqs[1]), '--limit', '2'])
  await follower.printed(({ stdout }) => stdout === 'c\n')
  await flumelog(['append', file], { input: 'd' })
  t.equal((await follower.ended).stdout, 'c\nd\n')
})

test('dump --live exits silently at the next record after its reader has closed the pipe', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['a'])
  const follower = start(t, ['dump', file, '--live'])
  await follower.printed(({ stdout }) => stdout === 'a\n')
  follower.child.stdout.destroy()
  await flumelog(['append', file], { input: 'b\n' })
  const { code, stderr } = await follower.ended
  t.equal(code, 0)
  t.equal(stderr, '')
})

test('Ctrl-C ends dump --live although its reader does not read', { skip: process.platform === 'win32' || (runtime === 'deno' && 'a write that nobody reads blocks the whole process') }, async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, Array.from({ length: 300 }, () => 'x'.repeat(5000)))
  for (const args of [['--live'], ['--live', '--tail', '250']]) {
    const follower = start(t, ['dump', file, ...args])
    await once(follower.child.stdout, 'readable')
    follower.child.stdout.pause()
    await follower.atRest()
    follower.child.kill('SIGINT')
    const [code, signal] = await once(follower.child, 'exit')
    t.deepEqual({ code, signal }, { code: 0, signal: null }, args.join(' '))
    follower.child.stdout.destroy()
  }
})

test('dump --live fails when the file is replaced by a shorter one', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['a long record', 'another long one'])
  const follower = start(t, ['dump', file, '--live'])
  await follower.printed(({ stdout }) => stdout.includes('another'))
  fs.truncateSync(file, 17)
  const { code, stdout, stderr } = await follower.ended
  t.equal(code, 1)
  t.equal(stdout, 'a long record\nanother long one\n')
  t.match(stderr, /^flumelog: .*log: the file was truncated: 37 bytes had been read, it now has 17; open it again\n$/)
})

test('dump --live --skip-corrupt skips a corrupt block and follows the log', async (t) => {
  const file = testFolder(t)('log')
  const records = Array.from({ length: 20 }, (_, i) => `record ${i}`)
  const seqs = await makeLog(file, records, { blockSize: 64 })
  overwrite(file, 10, 'XX')
  const follower = start(t, ['dump', file, '--live', '--skip-corrupt'])
  await follower.printed(({ stdout }) => stdout.endsWith('record 19\n'))
  await flumelog(['append', file], { input: 'the last' })
  await follower.printed(({ stdout }) => stdout.endsWith('the last\n'))
  const { code, stdout, stderr } = await follower.kill('SIGINT')
  t.equal(stdout, [...records.filter((_, i) => seqs[i] >= 64), 'the last', ''].join('\n'))
  t.match(stderr, /skipped 0 to 64\n$/)
  t.equal(code, 1, 'damage was found')
})
