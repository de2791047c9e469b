'use strict'

// What a command has done is printed to standard output: as text, as JSON, or not at all.

const test = require('tape')
const { testFolder } = require('../helpers/folder')
const { makeLog, deleteFrom, overwrite } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

const RECORDS = Array.from({ length: 1000 }, (_, i) => JSON.stringify({ i }))

/** In this order; the files of a command are made by those before. `done`: of its JSON, what does not depend on the time or the system. */
const COMMANDS = [
  [['append', 'log'], { file: 'log', records: 3, bytes: 6, role: null }],
  [['del', 'log', '0', '--yes'], { file: 'log', records: 1, bytes: 7, first: 0, last: 0, role: null }],
  [['del', 'log', '--lt', '40', '--yes'], { file: 'log', records: 3, bytes: 21, first: 11, last: 33, role: null }],
  [['del', 'log', '--gt', 'end', '--yes'], { file: 'log', records: 0, bytes: 0, first: null, last: null, role: null }],
  [['trim', 'log', '--keep-records', '500', '--yes'], { file: 'log', bytes: 3072, start: 3072, role: null }],
  [['compact', 'log', '--yes'], { file: 'log', changed: true, role: null }],
  [['verify', 'log'], { file: 'log', valid: true }],
  [['backup', 'log', 'backup'], { file: 'log', target: 'backup', incremental: false }],
  [['restore', 'backup', 'restored', '--force'], { backup: 'backup', file: 'restored', replaced: false }],
  [['export', 'numbers', '--to', 'ndjson'], { file: 'numbers', target: 'numbers.ndjson', format: 'ndjson', records: 1000 }],
  [['import', 'numbers.ndjson', 'imported'], { old: 'numbers.ndjson', file: 'imported', format: 'ndjson', records: 1000 }],
  [['repair', 'corrupt'], { file: 'corrupt', copy: 'corrupt.repaired', original: 'corrupt', torn: [] }],
  [['cursors', 'log'], { file: 'log', cursors: [] }]
]
async function makeFiles (name) {
  const seqs = await makeLog(name('log'), RECORDS, { blockSize: 1024 })
  await deleteFrom(name('log'), seqs.filter((_, i) => i > 600 && i % 2 > 0))
  await makeLog(name('numbers'), RECORDS)
  await makeLog(name('corrupt'), RECORDS, { blockSize: 1024 })
  overwrite(name('corrupt'), 100, 'XX')
}

test('with --json, a command prints one JSON object, and nothing else', async (t) => {
  const name = testFolder(t)
  await makeFiles(name)
  for (const [args, expected] of COMMANDS) {
    const { code, stdout, stderr } = await flumelog([...args, '--json'], { cwd: name('.'), ...args[0] === 'append' && { input: 'a\nbc\ndef\n' } })
    t.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '))
    const printed = JSON.parse(stdout)
    const some = Object.fromEntries(Object.keys(expected).map(key => [key, printed[key]]))
    t.deepEqual(some, expected, 'what was done')
  }
})

test('without it, it prints a summary to standard output, and nothing to stderr; with --quiet, nothing at all', async (t) => {
  for (const quiet of [false, true]) {
    const name = testFolder(t)
    await makeFiles(name)
    for (const [args] of COMMANDS) {
      // its list was asked for
      if (quiet && args[0] === 'cursors') continue
      const { code, stdout, stderr } = await flumelog([...args, ...quiet ? ['--quiet'] : []], { cwd: name('.'), ...args[0] === 'append' && { input: 'a\n' } })
      t.deepEqual({ code, stderr }, { code: 0, stderr: '' }, args.join(' '))
      t.match(stdout, quiet ? /^$/ : /^.+\n$/s, stdout)
    }
  }
})

test('verify --quiet prints what is corrupt', async (t) => {
  const name = testFolder(t)
  await makeFiles(name)
  const { code, stdout, stderr } = await flumelog(['verify', 'corrupt', '--quiet'], { cwd: name('.') })
  t.deepEqual({ code, stderr }, { code: 1, stderr: '' })
  t.match(stdout, /^corrupt 0 to 1024, block 0: .*\ncorrupt: 1 of \d+ blocks is corrupt/)
})

test('what append has stored before it stopped is printed, as text or JSON, and the error to stderr', async (t) => {
  const name = testFolder(t)
  for (const [options, expected] of [[[], /^log: appended 1 record, 1 byte, in /], [['--json'], /"records": 1,\n {2}"bytes": 1,/]]) {
    const { code, stdout, stderr } = await flumelog(['append', 'log', ...options], { cwd: name('.'), input: 'a\n\n' })
    t.equal(code, 1)
    t.match(stdout, expected)
    t.match(stderr, /^flumelog: log: stopped at line 2: .*\n$/)
  }
})
