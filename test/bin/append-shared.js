'use strict'

// flumelog append, when several processes append to one log.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { filesIn, testFolder } = require('../helpers/folder')
const { start, until } = require('../helpers/command-line')
const { textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { signal } = require('../helpers/runtime')
const { flumelog } = require('../helpers/warm-flumelog')

const IMPATIENT = path.join(__dirname, '..', 'helpers', 'impatient.js')
const THROUGH = ', through the process that owns the log'

/** A running `flumelog serve` that owns the log. */
async function serve (t, file, options) {
  const owner = start(t, ['serve', file], options)
  await owner.printed(({ stderr }) => stderr.includes('serving'))
  return owner
}

test('append goes through the process that owns a shared log, and says so in its summary', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append('first')
  const { code, stdout, stderr } = await flumelog(['append', file], { input: 'second\nthird\n' })
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, new RegExp(`^.*log: appended 2 records, 11 bytes, in \\d+\\.\\d\\d s, [\\d,]+ records/s${THROUGH}\n$`))
  t.equal((await flumelog(['append', file, '--quiet'], { input: 'fourth' })).stdout, '', '--quiet says nothing')
  await owner.append('fifth')
  t.deepEqual(await textsOf(file), ['first', 'second', 'third', 'fourth', 'fifth'])
  await owner.close()
})

test('through a symbolic link, append finds the owner of the log that it leads to', async (t) => {
  const name = testFolder(t)
  fs.mkdirSync(name('real'))
  fs.symlinkSync(path.join('real', 'log'), name('link'))
  const owner = promises(FlumeLog(name('real/log'), { shared: true }))
  await owner.append('first')
  t.match((await flumelog(['append', name('link')], { input: 'second' })).stdout, new RegExp(`link: appended 1 record, .*${THROUGH}\n$`))
  await owner.close()
  t.deepEqual(await textsOf(name('real/log')), ['first', 'second'])
})

test('with --shared, the first append owns the log, and others go through it', async (t) => {
  const file = testFolder(t)('log')
  const first = start(t, ['append', file, '--shared'])
  await first.send('one\n')
  await until(async () => fs.existsSync(file) && fs.statSync(file).size === 7)
  t.match((await flumelog(['append', file], { input: 'two' })).stdout, new RegExp(THROUGH))
  first.child.stdin.end('three')
  const { code, stdout } = await first.ended
  t.equal(code, 0)
  t.match(stdout, /log: appended 2 records, 8 bytes, in \d+\.\d\d s, [\d,]+ records\/s\n$/, 'the owner does not count those of others')
  t.deepEqual(await textsOf(file), ['one', 'two', 'three'])
  t.deepEqual(filesIn(path.dirname(file)), ['log'], 'no socket and no recovery point is left')
})

test('append goes on when the owner closes the log or is killed: it takes over, and loses no line', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    const file = testFolder(t)('log')
    const owner = await serve(t, file)
    const appender = start(t, ['append', file])
    await appender.send('one\n')
    await until(async () => (await textsOf(file)).length === 1)
    await owner.kill(signal)
    await appender.send('two\n')
    await until(async () => (await textsOf(file)).length === 2)
    appender.child.stdin.end('three\n')
    const { code, stdout } = await appender.ended
    t.equal(code, 0, signal)
    t.match(stdout, /^.*log: appended 3 records, 11 bytes, in \d+\.\d\d s, [\d,]+ records\/s\n$/)
    t.deepEqual(await textsOf(file), ['one', 'two', 'three'])
  }
})

test('append takes over from an owner that was killed, and removes the socket it has left', async (t) => {
  const file = testFolder(t)('log')
  const owner = await serve(t, file)
  await flumelog(['append', file], { input: 'one\n' })
  await owner.kill('SIGKILL')
  t.ok(fs.existsSync(file + '.socket'))
  const { code, stdout, stderr } = await flumelog(['append', file], { input: 'two\n' })
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /^.*log: appended 1 record, 3 bytes, in \d+\.\d\d s, [\d,]+ records\/s\n$/, 'nothing else is said')
  t.notOk(fs.existsSync(file + '.socket'))
  t.deepEqual(await textsOf(file), ['one', 'two'])
})

test('--no-shared fails while another process owns the log, and says what to do', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append('first')
  const { code, stderr } = await flumelog(['append', file, '--no-shared'], { input: 'second' })
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*log: another program has this log open for writing; close it there first, or omit --no-shared\n$/)
  await owner.close()
  t.equal((await flumelog(['append', file, '--no-shared'], { input: 'second' })).code, 0)
  t.deepEqual(await textsOf(file), ['first', 'second'])
})

test('an owner that does not answer is reported: when the log is opened, and at a line whose fate is unknown', async (t) => {
  const file = testFolder(t)('log')
  const owner = await serve(t, file)
  const running = start(t, ['append', file, '--stats'], { preload: [IMPATIENT] })
  await running.send('one\n')
  await running.printed(({ stderr }) => stderr.includes('"written":{"records":1,'))
  signal(owner.child, 'SIGSTOP')
  await running.send('two\n')
  const { code, stdout, stderr } = await running.ended
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*log: stopped at line 2: the process that owns the log does not answer, so it is unknown whether this line, and those after it, were appended; the lines before it were appended$/m)
  t.match(stdout, new RegExp(`log: appended 1 record, 3 bytes, in .* records/s${THROUGH}\n$`))

  const other = await flumelog(['append', file], { input: 'three\n', preload: [IMPATIENT] })
  t.equal(other.code, 1)
  t.match(other.stderr, /^flumelog: .*log: the process that owns this log does not answer; check whether it is stopped, and end it if it hangs\n$/)
})

test('if the disk of the owner is full, append stops at a line, and the lines before it are kept', async (t) => {
  const file = testFolder(t)('log')
  const owner = await serve(t, file, {
    // it also looks whether the log takes appends, while they fail
    preload: ['small-disk.js', 'short-intervals.js'].map(name => path.join(__dirname, '..', 'helpers', name)),
    env: { TEST_DISK_SIZE: String(400000) }
  })
  const lines = Array.from({ length: 8000 }, (_, i) => `line ${i} ${'x'.repeat(93)}`)
  const { code, stderr } = await flumelog(['append', file], { input: lines.join('\n') })
  t.equal(code, 1)
  const [error] = stderr.split('\n')
  t.match(error, /^flumelog: .*log: stopped: the disk is full; free some space and try again; lines from \d+ on were not appended$/)
  const line = Number(error.match(/lines from (\d+) on/)[1])
  t.deepEqual(await textsOf(file), lines.slice(0, line - 1), 'all before that line')
  const ended = await owner.kill('SIGTERM')
  t.equal(ended.code, 0, `the owner goes on: ${ended.stderr}`)
})
