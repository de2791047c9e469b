'use strict'

// Ctrl-C and SIGTERM while a command writes a file.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const { filesIn, testFolder } = require('../helpers/folder')
const { flumelog } = require('../helpers/command-line')
const { makeLog, deleteFrom, overwrite } = require('../helpers/logs')

const SIGNAL = path.join(__dirname, '..', 'helpers', 'signal-at-call.js')
const EXIT_CODES = [['SIGINT', 130], ['SIGTERM', 143]]
/** By command: its arguments, the call of fs at which the signal comes, and what it says. */
const COMMANDS = [
  [['repair', 'corrupt'], 'writev', 'corrupt: interrupted; it is unchanged, and nothing is left of a copy; the same command starts over'],
  [['repair', 'corrupt', '--in-place'], 'writev', 'corrupt: interrupted; it is unchanged, and nothing is left of a copy; the same command starts over'],
  [['compact', 'log', '--yes'], 'writev', 'log: interrupted; the log is as it was; the same command starts over'],
  [['backup', 'log', 'new'], 'writev', 'new: interrupted; nothing is left of it; the same command starts over'],
  [['backup', 'log', 'backup', '--full'], 'writev', 'backup: interrupted; the earlier backup is as it was; the same command starts over'],
  [['restore', 'log', 'new'], 'writev', 'new: interrupted; nothing is left of it; the same command starts over'],
  [['restore', 'log', 'backup', '--force'], 'writev', 'backup: interrupted; the log is as it was; the same command starts over'],
  [['import', 'log', 'new'], 'writev', 'new: interrupted; nothing is left of it'],
  [['export', 'log', 'new', '--to', 'flumelog-offset'], 'handle.write', 'new: interrupted; nothing is left of it']
]

test('a command that is interrupted says what is left and how to go on, and leaves nothing half done', { skip: process.platform === 'win32' && 'there is no SIGINT' }, async (t) => {
  const name = testFolder(t)
  const records = Array.from({ length: 3000 }, (_, i) => `record ${i} `.padEnd(4000, '.'))
  const seqs = await makeLog(name('log'), records)
  fs.copyFileSync(name('log'), name('backup'))
  fs.copyFileSync(name('log'), name('corrupt'))
  overwrite(name('corrupt'), 100000, 'XX')
  await deleteFrom(name('log'), [seqs[0]])
  const contents = () => Object.fromEntries(filesIn(name('.')).map(file => [file, fs.readFileSync(name(file))]))
  const before = contents()
  for (const [i, [args, call, said]] of COMMANDS.entries()) {
    // one of them for each, since starting a program takes long
    const [signal, exitCode] = EXIT_CODES[i % EXIT_CODES.length]
    const { code, stdout, stderr } = await flumelog(args, { cwd: name('.'), preload: [SIGNAL], env: { TEST_SIGNAL: signal, TEST_NAME: call, TEST_CALL: '2' } })
    t.deepEqual([code, stdout, stderr], [exitCode, '', `flumelog: ${said}\n`], `${signal}: ${args.join(' ')}`)
    const after = contents()
    t.deepEqual(Object.keys(after), Object.keys(before))
    t.ok(Object.keys(before).every(file => after[file]?.equals(before[file])), 'all files are as they were')
  }
})

test('a repair that is interrupted when the copy is about to get its name, or has it, ends as one that was not', { skip: process.platform === 'win32' && 'there is no SIGINT' }, async (t) => {
  for (const options of [[], ['--in-place']]) {
    // fsyncs of the copy, of FILE.meta, and of the directory
    for (let call = 1; call <= 10; call++) {
      const name = testFolder(t)
      await makeLog(name('log'), Array.from({ length: 100 }, (_, i) => `record ${i} `.padEnd(4000, '.')))
      overwrite(name('log'), 100000, 'XX')
      const before = fs.readFileSync(name('log'))
      const { code, stderr } = await flumelog(['repair', 'log', ...options], { cwd: name('.'), preload: [SIGNAL], env: { TEST_SIGNAL: 'SIGINT', TEST_NAME: 'handle.sync', TEST_CALL: String(call) } })
      const copy = options.length === 0 ? 'log.repaired' : 'log.corrupt'
      const isDone = filesIn(name('.')).includes(copy)
      t.deepEqual([code, stderr], isDone ? [0, ''] : [130, 'flumelog: log: interrupted; it is unchanged, and nothing is left of a copy; the same command starts over\n'])
      if (!isDone) t.ok(fs.readFileSync(name('log')).equals(before))
    }
  }
})
