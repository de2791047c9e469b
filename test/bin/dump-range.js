'use strict'

// flumelog dump: which records it prints. The last ones, new ones, and those from `start` or to `end`.

const fs = require('fs')
const { setTimeout } = require('timers/promises')
const test = require('tape')
const FlumeLog = require('../..')
const { testFolder } = require('../helpers/folder')
const { start, refuses, inTurns } = require('../helpers/command-line')
const { makeLog, deleteFrom, overwrite } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const RECORDS = Array.from({ length: 40 }, (_, i) => `record ${i}`)
const linesOf = (records) => records.map(record => record + '\n').join('')

test('--tail prints the last records in their order, combined with bounds and a limit', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 64 })
  await deleteFrom(name('log'), [seqs[38], seqs[10]])
  const left = RECORDS.filter((_, i) => i !== 38 && i !== 10)
  const cases = [
    [['--tail', '3'], left.slice(-3)],
    [['-t', '1000'], left],
    [['--tail', '0'], []],
    [['--tail', '3', '--limit', '2'], left.slice(-3, -1)],
    [['--tail', '3', '--lt', String(seqs[20])], RECORDS.slice(17, 20)],
    [['--tail', '3', '--gte', String(seqs[39])], RECORDS.slice(39)],
    [['--tail', '3', '--gt', String(seqs[39])], []]
  ]
  await inTurns(cases, async ([args, expected]) => {
    const { code, stdout, stderr } = await flumelog(['dump', name('log'), ...args])
    t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: linesOf(expected), stderr: '' }, args.join(' '))
  })
  await makeLog(name('empty'), [])
  t.equal((await flumelog(['dump', name('empty'), '--tail', '3'])).stdout, '', 'of an empty log')
})

test('--tail does not skip a corrupt block, unless it is told to', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 64 })
  const valid = RECORDS.filter((_, i) => seqs[i] < 448 || seqs[i] >= 512)
  overwrite(name('log'), 448 + 10, 'XX')
  t.equal((await flumelog(['dump', name('log'), '--tail', '3'])).stdout, linesOf(RECORDS.slice(-3)), 'behind it')
  refuses(t, await flumelog(['dump', name('log'), '--tail', '20']), 1, /block 7 is corrupt .*; use --skip-corrupt to skip it, or flumelog verify/, 'across it')
  const { code, stdout, stderr } = await flumelog(['dump', name('log'), '--tail', '20', '--skip-corrupt'])
  t.equal(code, 1)
  t.equal(stdout, linesOf(valid.slice(-20)))
  t.match(stderr, /^flumelog: .*; skipped 448 to 512\n$/, 'once')
})

test('--tail --live prints the last records, then every new one', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  const follower = start(t, ['dump', name('log'), '--tail', '2', '--live'])
  await follower.printed(({ stdout }) => stdout === 'record 38\nrecord 39\n')
  await flumelog(['append', name('log')], { input: 'new 1\nnew 2\n' })
  await follower.printed(({ stdout }) => stdout === 'record 38\nrecord 39\nnew 1\nnew 2\n')
  t.equal((await follower.kill('SIGINT')).code, 0)
})

test('--new, --tail 0 --live and --live --gt end print only new records, all of them', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), RECORDS)
  await printNew(t, name('log'), [['--new'], ['--tail', '0', '--live'], ['--live', '--gt', 'end']])
})

test('in an empty log, all records are new', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), [])
  await printNew(t, name('log'), [['--tail', '1', '--live'], ['--live', '--gte', 'start'], ['--live', '--gt', 'end']])
})

/** Asserts that dump prints new records, when started with each of these options. */
async function printNew (t, file, options) {
  const followers = options.map(args => start(t, ['dump', file, ...args]))
  const appender = start(t, ['append', file])
  let sent = 0
  // what is appended before they have started is not new. The pause lets this process read what they print: on Bun and Deno
  // the callbacks of writes follow each other before that
  while (followers.some(({ stdout }) => stdout === '')) {
    await appender.send(`new ${sent++}\n`)
    await setTimeout(1)
  }
  const last = `new ${sent - 1}\n`
  for (const [i, follower] of followers.entries()) {
    await follower.printed(({ stdout }) => stdout.endsWith(last))
    const { code, stdout } = await follower.kill('SIGINT')
    t.match(stdout, /^new \d+\n/, 'starts with a new record')
    const first = Number(stdout.split('\n')[0].slice('new '.length))
    const expected = linesOf(Array.from({ length: sent - first }, (_, i) => `new ${first + i}`))
    t.deepEqual({ code, stdout }, { code: 0, stdout: expected }, options[i].join(' '))
  }
}

test('start and end are the offsets of the first and the last record', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 64 })
  await deleteFrom(name('log'), [seqs[0], seqs[39]])
  await makeLog(name('empty'), [])
  const cases = [
    [['dump', 'log', '--gte', 'end'], RECORDS.slice(38, 39)],
    [['dump', 'log', '--gt', 'end'], []],
    [['dump', 'log', '--gt', 'start', '--limit', '1'], RECORDS.slice(2, 3)],
    [['dump', 'log', '--lte', 'start'], RECORDS.slice(1, 2)],
    [['dump', 'log', '--lt', 'end', '--reverse', '--limit', '1'], RECORDS.slice(37, 38)],
    [['get', 'log', 'start'], RECORDS.slice(1, 2)],
    [['get', 'log', 'end'], RECORDS.slice(38, 39)],
    [['dump', 'empty', '--gte', 'start', '--lte', 'end'], []]
  ]
  await inTurns(cases, async ([args, expected]) => {
    const { code, stdout, stderr } = await flumelog(args, { cwd: name('.') })
    t.deepEqual({ code, stdout, stderr }, { code: 0, stdout: linesOf(expected), stderr: '' }, args.join(' '))
  })
  refuses(t, await flumelog(['get', name('empty'), 'end']), 1, /empty: the log has no records$/m, 'the last of none')
})

test('--skip-corrupt lists the corrupt blocks before the first record and after the last one, whatever the range', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 64 })
  // without the last block, which is not full, and so has no checksum
  const last = Math.floor(seqs[39] / 64) - 1
  fs.truncateSync(name('log'), (last + 1) * 64)
  overwrite(name('log'), 10, 'XX')
  overwrite(name('log'), last * 64 + 10, 'XX')
  const valid = RECORDS.filter((_, i) => seqs[i] >= 64 && seqs[i] < last * 64)
  const cases = [
    [['--tail', '2'], valid.slice(-2), [last]],
    [['--tail', '1000'], valid, [0, last]],
    [['--gte', 'end'], valid.slice(-1), [last]],
    [['--lte', 'end'], valid, [0, last]],
    [['--gte', 'start'], valid, [0, last]],
    [['--gt', 'end'], [], [last]]
  ]
  await inTurns(cases, async ([args, expected, blocks]) => {
    const { code, stdout, stderr } = await flumelog(['dump', name('log'), '--skip-corrupt', ...args])
    t.deepEqual({ code, stdout }, { code: 1, stdout: linesOf(expected) }, args.join(' '))
    t.deepEqual([...stderr.matchAll(/block (\d+) is corrupt/g)].map(([, block]) => Number(block)), blocks, `${args.join(' ')}: the corrupt blocks`)
  })
  await makeLog(name('bad'), RECORDS, { blockSize: 64 })
  fs.truncateSync(name('bad'), 64)
  overwrite(name('bad'), 3, 'XX')
  const { code, stdout, stderr } = await flumelog(['dump', name('bad'), '--skip-corrupt', '--tail', '2'])
  t.deepEqual({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /^flumelog: .*bad: block 0 is corrupt .*; skipped 0 to 64\n$/, 'no record is left')
})

test('dump prints what the log has when it is opened, so it ends even if what it prints is appended to the log', async (t) => {
  const name = testFolder(t)
  const log = promises(FlumeLog(name('log')))
  const records = Array.from({ length: 10000 }, (_, i) => `record ${i} ${'x'.repeat(90)}`)
  await log.append(records)
  await log.sync()
  // it has to wait for its reader
  const dumping = start(t, ['dump', name('log')])
  dumping.child.stdout.pause()
  await dumping.atRest()
  await log.append(records)
  dumping.child.stdout.resume()
  const { code, stdout } = await dumping.ended
  await log.close()
  t.equal(code, 0)
  t.ok(stdout === linesOf(records), 'nothing of what was appended later')
})
