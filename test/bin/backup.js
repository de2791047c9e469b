'use strict'

// flumelog backup and restore.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { refuses, start, until } = require('../helpers/command-line')
const { testFolder } = require('../helpers/folder')
const { makeLog, deleteFrom } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const lines = (count, from = 0) => Array.from({ length: count }, (_, i) => `record ${from + i}`)

async function prints (t, args, pattern) {
  const { code, stdout, stderr } = await flumelog(args)
  t.equal(code, 0, stderr || args[0])
  t.match(stdout, pattern, stdout.trim())
}

test('backup copies a log, then what has changed; restore makes a log of it', async (t) => {
  const file = testFolder(t)
  const [first] = await makeLog(file('log'), lines(1000))
  await prints(t, ['backup', file('log'), file('backup')], /backup: backed up all of the log, 13\.9 kB$/m)
  await prints(t, ['backup', file('log'), file('backup')], /nothing has changed/)
  await makeLog(file('log'), lines(10, 1000))
  await prints(t, ['backup', file('log'), file('backup')], /brought up to date: copied \d+ bytes that are new; /)
  await deleteFrom(file('log'), [first])
  await prints(t, ['backup', file('log'), file('backup')], /backed up all of the log/)
  const { stdout } = await flumelog(['backup', file('log'), file('backup'), '--full', '--json'])
  t.deepEqual(JSON.parse(stdout), { file: file('log'), target: file('backup'), bytes: fs.statSync(file('log')).size, start: 0, copied: fs.statSync(file('log')).size, incremental: false })
  await prints(t, ['restore', file('backup'), file('restored')], /restored: restored 1,009 records, /)
  t.ok(fs.readFileSync(file('restored')).equals(fs.readFileSync(file('log'))))
  refuses(t, await flumelog(['restore', file('backup'), file('restored')]), 1, /exists already.*--force/, 'over a log')
  await prints(t, ['restore', file('backup'), file('restored'), '--force'], /the log that was there has been replaced/)
})

test('backup and restore say what is wrong in one line', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), lines(10))
  await makeLog(file('other'), ['other', 'records'])
  fs.mkdirSync(file('folder'))
  refuses(t, await flumelog(['backup', file('log'), file('log')]), 1, /log: the target is the log itself/, 'onto itself')
  refuses(t, await flumelog(['backup', file('log'), file('folder')]), 1, /folder: is a directory/, 'a directory')
  refuses(t, await flumelog(['backup', file('log'), file('other')]), 1, /other: not a backup of .*log: another record is at offset 0; .*--full/, 'another log')
  refuses(t, await flumelog(['backup', file('none'), file('x')]), 1, /none: no such file/, 'no log')
  refuses(t, await flumelog(['backup', file('log')]), 2, /<target> is missing/, 'no target')
  refuses(t, await flumelog(['restore', file('none'), file('x')]), 1, /none: no such file/, 'no backup')
  const open = promises(FlumeLog(file('log')))
  await open.onReady()
  refuses(t, await flumelog(['restore', file('log'), file('x')]), 1, /log: another program has it open for writing, so it is not a backup: .*; to copy an open log, use flumelog backup$/m, 'of an open log')
  refuses(t, await flumelog(['restore', file('other'), file('log'), '--force']), 1, /log: another program has this log open for writing; close it there first$/m, 'an open log')
  await open.close()
})

test('backup says that another program writes the backup', async (t) => {
  const file = testFolder(t)
  await makeLog(file('log'), lines(10))
  await prints(t, ['backup', file('log'), file('backup')], /backed up all of the log/)
  const open = promises(FlumeLog(file('backup')))
  await open.onReady()
  refuses(t, await flumelog(['backup', file('log'), file('backup')]), 1, /backup: another program has this backup open for writing; wait until it is done$/m)
  await open.close()
})

test('Ctrl-C and SIGTERM leave nothing of a first backup, and the earlier one of another', { skip: process.platform === 'win32' && 'there is no SIGINT' }, async (t) => {
  const file = testFolder(t)
  const log = promises(FlumeLog(file('log')))
  for (let i = 0; i < 200; i++) await log.append(lines(5000))
  await log.close()
  for (const [signal, exitCode] of [['SIGINT', 130], ['SIGTERM', 143]]) {
    const run = start(t, ['backup', file('log'), file('backup')])
    await until(() => fs.existsSync(file('backup.unfinished')) || fs.existsSync(file('backup')))
    const { code } = await run.kill(signal)
    // it may have been done by then
    if (code === 0) {
      t.comment('too late')
      fs.rmSync(file('backup'))
    } else {
      t.equal(code, exitCode, signal)
      t.notOk(fs.existsSync(file('backup')), 'no backup')
      t.notOk(fs.existsSync(file('backup.unfinished')), 'nor a part of one')
    }
  }
})
