'use strict'

// The command line: errors common to all commands, and readers that close the pipe.

const fs = require('fs')
const test = require('tape')
const { filesIn, testFolder } = require('../helpers/folder')
const { start, refuses, inTurns } = require('../helpers/command-line')
const { makeLog } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

/** One command for each way to open a log. */
const COMMANDS = ['dump', 'get', 'append', 'verify', 'repair']
/** The other arguments that each requires, and its input. */
const REST = { get: ['0'] }
const INPUT = { append: { input: 'a\n' } }

test('a file that cannot be opened is reported in one line that names it and says what to do, with exit code 1', async (t) => {
  const name = testFolder(t)
  const missing = name('missing')
  const text = name('text')
  fs.writeFileSync(text, 'no log at all\n'.repeat(50))
  const words = fs.readFileSync(text)
  const run = (command, file) => flumelog([command, file, ...(REST[command] ?? [])], INPUT[command])

  await inTurns(COMMANDS, async (command) => {
    if (command !== 'append') {
      refuses(t, await run(command, missing), 1, /missing: no such file; check the name$/m, `${command} missing`)
      t.notOk(fs.existsSync(missing), 'it was not created')
    }
    refuses(t, await run(command, text), 1, /text: not a log: neither a valid block nor enough whole records were found; check the name, or import it if another program has written it/m, `${command} text`)
    t.ok(fs.readFileSync(text).equals(words), 'the text is as it was')
  })
  await inTurns(['dump', 'append'], async (command) => {
    refuses(t, await run(command, name('.')), 1, /: (is a directory|not a regular file)/, `${command} folder`)
    refuses(t, await run(command, name('text/log')), 1, /text\/log: a part of this path is not a directory; check the name$/m, `${command} text/log`)
  })
  t.deepEqual(filesIn(name('.')), ['text'], 'no file was left behind')
})

test('an error at the recovery point names that file, not the log', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['a'])
  // what cannot be opened for writing, whoever runs this
  fs.mkdirSync(name('log.meta.new'))
  const { code, stderr } = await flumelog(['append', name('log')], { input: 'b\n' })
  t.equal(code, 1)
  t.match(stderr, /log\.meta\.new: is a directory/)
})

test('a file of random bytes is not a log', async (t) => {
  const name = testFolder(t)
  const file = name('random')
  const bytes = Buffer.from(Array.from({ length: 200000 }, (_, i) => (i * i * 31 + i * 7) >>> 3 & 255))
  fs.writeFileSync(file, bytes)
  await inTurns(['dump', 'append', 'repair'], async (command) => {
    const ended = await flumelog([command, file, ...(REST[command] ?? [])], INPUT[command])
    refuses(t, ended, 1, /random: .*not a log/, command)
    t.ok(fs.readFileSync(file).equals(bytes), 'it is as it was')
  })
})

test('a full disk behind standard output is an error, not a crash', async (t) => {
  if (!fs.existsSync('/dev/full')) return t.comment('there is no /dev/full here')
  const name = testFolder(t)
  await makeLog(name('log'), ['a'])
  const full = fs.openSync('/dev/full', 'w')
  t.teardown(() => fs.closeSync(full))
  for (const command of ['dump', 'stat']) {
    const { code, stderr } = await flumelog([command, name('log')], { stdout: full })
    t.equal(code, 1, command)
    t.match(stderr, /^flumelog: standard output: the disk is full/)
  }
})

test('every command exits silently when its reader closes the pipe', async (t) => {
  const name = testFolder(t)
  const file = name('log')
  await makeLog(file, Array.from({ length: 20000 }, (_, i) => `record ${i} `.padEnd(100, 'x')))
  const running = start(t, ['dump', file])
  await running.printed(({ stdout }) => stdout.startsWith('record 0 '))
  running.child.stdout.destroy()
  const { code, signal, stderr } = await running.ended
  t.equal(code, 0)
  t.equal(signal, null)
  t.equal(stderr, '')

  for (const args of [['stat', file], ['verify', file], ['get', file, '0'], ['dump', '--help']]) {
    const running = start(t, args)
    running.child.stdout.destroy()
    const { code, stderr } = await running.ended
    t.equal(code, 0, args[0])
    t.equal(stderr, '', 'not a word')
  }
})

test('colours are used on terminals only, and not with NO_COLOR', async (t) => {
  const name = testFolder(t)
  const args = ['dump', name('missing')]
  const plain = await flumelog(args)
  const coloured = await flumelog(args, { columns: 80 })
  const refused = await flumelog(args, { columns: 80, env: { NO_COLOR: '1' } })
  t.doesNotMatch(plain.stderr, /\x1b/, 'none in a file or a pipe') // eslint-disable-line no-control-regex
  t.match(coloured.stderr, /^\x1b\[31mflumelog:\x1b\[0m/, 'on a terminal') // eslint-disable-line no-control-regex
  t.equal(refused.stderr, plain.stderr, 'none with NO_COLOR')
})

test('a new file in a folder that does not exist is refused, and no folder is created', async (t) => {
  const name = testFolder(t)
  await flumelog(['append', 'log'], { cwd: name('.'), input: 'one\n' })
  for (const args of [['append', 'typo/x/new'], ['serve', 'typo/x/new'], ['backup', 'log', 'typo/x/new'], ['restore', 'log', 'typo/x/new'], ['import', 'log', 'typo/x/new'], ['export', 'log', 'typo/x/new', '--to', 'ndjson'], ['pull', 'nats://127.0.0.1:1/s', 'typo/x/new']]) {
    refuses(t, await flumelog(args, { cwd: name('.') }), 2, /must be in a folder that exists \(mkdir -p typo\/x\), not 'typo\/x\/new'/, args[0])
    t.notOk(fs.existsSync(name('typo')))
  }
})

test('the help lists all commands in groups', async (t) => {
  const { stdout } = await flumelog(['--help'])
  const headings = [...stdout.matchAll(/^(\w.*):$/gm)].map(([, heading]) => heading)
  t.deepEqual(headings, ['Options', 'Read and write', 'Free space', 'Check and repair', 'Copy and convert', 'Several programs', 'Other', 'Examples'])
  t.match(stdout, /^Other:\n {2}completion .*\n {2}help /m)
})
