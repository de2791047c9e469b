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
