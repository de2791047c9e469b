'use strict'

// What the command line shows on a terminal: whole screens, drawn by a terminal emulator.

const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const tape = require('tape')
const { open } = require('../../promises')
const { restore } = require('../../maintenance')
const { count, size } = require('../../bin/numbers')
const { testFolder } = require('../helpers/folder')
const { PROGRAM, inTurns, start } = require('../helpers/command-line')
const { openScreen, noTerminal, ROWS } = require('../helpers/pseudo-terminal')
const { deleteFrom, makeLog, readLog, textsOf } = require('../helpers/logs')

const helper = (name) => path.join(__dirname, '..', 'helpers', name)
const test = (name, run) => tape(name, { skip: noTerminal }, run)
const CTRL_C = '\x03'
const CTRL_D = '\x04'
const COLUMNS = [60, 120]
/** The last one scrolls with each line. */
const ROWS_OF_CURSOR = [Math.floor(ROWS / 2), ROWS - 1]

/**
 * Runs flumelog in a shell, which prints the command first, as if it had been typed.
 * @param {import('tape').Test} t
 * @param {string} command arguments of flumelog, and perhaps redirections
 * @param {import('../helpers/pseudo-terminal').ScreenOptions} options
 * @param {string[]} [preload] modules
 */
function run (t, command, options, preload = []) {
  const program = [process.execPath, ...preload.flatMap(name => ['-r', helper(name)]), PROGRAM].map(word => `'${word}'`).join(' ')
  return openScreen(t, '/bin/sh', ['-c', `echo '$ flumelog' "$1"; exec ${program} ${command}`, 'sh', command], options)
}

/**
 * @param {import('tape').Test} t
 * @param {string} command
 * @param {import('../helpers/pseudo-terminal').ScreenOptions} options
 * @returns {Promise<string>} the screen in the end, without the command
 */
async function screenOf (t, command, options) {
  const screen = run(t, command, options)
  await screen.ended
  return screen.lines.slice(1).join('\n')
}

test('Ctrl-C during append leaves the summary on the screen, and nothing of the progress', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('lines'), ('x'.repeat(999) + '\n').repeat(20000))
  const cases = COLUMNS.flatMap(columns => ROWS_OF_CURSOR.map(row => ({ columns, row, cwd: name('.') })))
  await inTurns(cases, async (options) => {
    const log = `${options.columns}-${options.row}`
    // the disk hangs, so there is progress to be shown for as long as it takes
    const screen = run(t, `append ${log} < lines`, options, ['slow-clock.js', 'stuck-disk.js'])
    await screen.shows(/^append [█░]+ +\d+% {2}[\d.]+ [kM]B of 20.0 MB/m)
    screen.type(CTRL_C)
    process.kill(screen.pty.pid, 'SIGUSR2')
    t.equal(await screen.ended, 130)
    const records = (await readLog(name(log))).length
    const summary = new RegExp(`^\\$ flumelog append ${log} < lines\n${log}: appended ${count(records)} records, ${size(records * 999)}, in [\\d.]+ s,\\s+[\\d,]+ records/s$`)
    t.match(screen.text, summary, `${options.columns} columns, row ${options.row}`)
  })
})

test('Ctrl-C, or SIGTERM, during a command that it ends at once clears the progress', async (t) => {
  const script = `const { byteProgress } = require(${JSON.stringify(path.join(path.dirname(PROGRAM), 'progress.js'))})
    const { update } = byteProgress('verify')
    setInterval(() => update(1, 10), 10)`
  const cases = [...ROWS_OF_CURSOR.map(row => ({ row, code: 130, end: (screen) => screen.type(CTRL_C) })), { code: 143, end: ({ pty }) => process.kill(pty.pid, 'SIGTERM') }]
  for (const { row, code, end } of cases) {
    const screen = openScreen(t, process.execPath, ['-r', helper('slow-clock.js'), '-e', script], { row })
    await screen.shows(/verify █+░+ {2}10%/)
    end(screen)
    t.equal(await screen.ended, code, 'ended by the signal')
    t.equal(screen.text, '', `row ${row}`)
  }
})

test('progress is drawn as a whole: each frame is one write, which starts at the start of the line and does not wrap', async (t) => {
  const script = `const { byteProgress } = require(${JSON.stringify(path.join(path.dirname(PROGRAM), 'progress.js'))})
    process.stderr.isTTY = true
    const writes = []
    process.stderr.write = (text) => writes.push(text)
    const { update, stop } = byteProgress('verify')
    for (let i = 1; i < 10; i++) update(i, 10)
    stop()
    console.log(JSON.stringify(writes))`
  const { stdout } = spawnSync(process.execPath, ['-r', helper('slow-clock.js'), '-e', script], { encoding: 'utf8' })
  const writes = JSON.parse(stdout)
  t.ok(writes.length > 5)
  for (const text of writes.slice(0, -1)) t.match(text.replaceAll('\x1b', 'ESC'), /^ESC\[\?7l(ESC7)?ESC\[1Gverify [█░%\w. /]*ESC\[0KESC\[\?7h$/)
})

test('Ctrl-C while serve or dump --live waits ends the line of ^C, and serve leaves its summary', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['a'])
  for (const row of ROWS_OF_CURSOR) {
    const serving = run(t, 'serve log', { row, cwd: name('.') }, ['slow-clock.js'])
    await serving.shows(/serving 0 clients {2}0 records\/s/)
    serving.type(CTRL_C)
    t.equal(await serving.ended, 0)
    t.match(serving.text, /^\$ flumelog serve log\nlog: serving; other processes can append\nlog: stopped after .*: 0 records, 0 bytes appended$/, `serve, row ${row}`)
  }
  const following = run(t, 'dump log --live', { cwd: name('.') })
  await following.shows(/^a$/m)
  following.type(CTRL_C)
  t.equal(await following.ended, 0)
  t.equal(following.text, '$ flumelog dump log --live\na\n^C')
})

test('lines that are typed are appended at Ctrl-D, and the summary fits the terminal', async (t) => {
  const name = testFolder(t)
  const screen = run(t, 'append log', { columns: 40, cwd: name('.') })
  await screen.shows(/Ctrl-D/)
  screen.type(`one\rtwo\r${CTRL_D}`)
  t.equal(await screen.ended, 0)
  t.match(screen.text, /^\$ flumelog append log\nEach line becomes a record; Ctrl-D on an\n empty line to finish\.\none\ntwo\nlog: appended 2 records, 6 bytes,\n {2}in [\d.]+ s$/)
})

test('the summary of append fits 80 columns, also through the process that owns the log', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('lines'), ('x'.repeat(99) + '\n').repeat(1000))
  const owner = start(t, ['serve', name('posts.log')])
  await owner.printed(({ stderr }) => stderr.includes('serving'))
  for (const [log, rest] of [['my.log', ''], ['posts.log', ',\n  through the process that owns the log']]) {
    const shown = await screenOf(t, `append ${log} < lines`, { cwd: name('.') })
    t.match(shown, new RegExp(`^${log}: appended 1,000 records, 99\\.0 kB, in [\\d.]+ s, [\\d,]+ records/s${rest}$`))
    t.ok(shown.split('\n').every(line => line.length <= 80))
  }
})

test('the help is as wide as the terminal, and no word of it is broken', async (t) => {
  const widths = {}
  await inTurns(COLUMNS, async (columns) => {
    const screen = run(t, 'dump --help', { columns })
    await screen.ended
    const { active } = screen.terminal.buffer
    const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i))
    t.notOk(lines.some(line => line.isWrapped), `${columns} columns: the terminal does not wrap a line`)
    t.match(screen.text, /\n\nExamples:\n {2}flumelog dump my\.log \| jq \.timestamp\n/)
    widths[columns] = Math.max(...screen.text.split(/^Examples:$/m)[1].split('\n').map(line => line.length))
  })
  for (const columns of COLUMNS) t.ok(widths[columns] <= columns && widths[columns] > columns - 15, `${columns} columns: the text after the options has ${widths[columns]}`)
})

test('what a record does to a terminal is shown, not done', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['first', '\x1b[2J\x1b[1;1Hsecond\rx\u202ey\u2028', Buffer.from([0x9b, 0x33, 0x6d])])
  t.equal(await screenOf(t, 'dump log', { cwd: name('.') }), 'first\n\\u001b[2J\\u001b[1;1Hsecond\\u000dx\\u202ey\\u2028\n\\x9b3m')
  t.equal(await screenOf(t, 'dump log -e raw --lt end', { cwd: name('.') }), 'first\\u001b[2J\\u001b[1;1Hsecond\\u000dx\\u202ey\\u2028')
})

test('a name of a file does nothing to a terminal either, and a dumb terminal gets no escape sequences', async (t) => {
  const name = testFolder(t)
  await makeLog(name('l\x1b[31mg'), ['a'])
  fs.writeFileSync(name('lines'), ('x'.repeat(999) + '\n').repeat(2000))
  for (const command of ['verify', 'stat', 'repair']) {
    t.match(await screenOf(t, `${command} l*g`, { cwd: name('.') }), /(^|file +)l\\u001b\[31mg/, command)
  }
  const append = `TERM=dumb exec '${process.execPath}' -r '${helper('slow-clock.js')}' '${PROGRAM}' append log < lines`
  const dumb = openScreen(t, '/bin/sh', ['-c', append], { cwd: name('.') })
  t.equal(await dumb.ended, 0)
  t.notOk(dumb.output.includes('\x1b'), 'append')
})

test('search says on the screen how it understood a date, and errors are one line each', async (t) => {
  const name = testFolder(t)
  await makeLog(name('log'), ['{"at":1514764800}', '{"at":1514851200}'])
  const options = { cwd: name('.') }
  t.equal(await screenOf(t, 'search log -p at -v 2018-01-02', options), 'log: `at` is in seconds since 1970, so 2018-01-02 means 1514851200\n{"at":1514851200}')
  t.equal(await screenOf(t, 'search log -p at -v soon', { ...options, columns: 60 }), [
    'flumelog: log: --value must be a number, or an ISO date if t',
    "he numbers are times, not 'soon': `at` is 1514851200 at offs",
    'et 21'
  ].join('\n'))
  t.equal(await screenOf(t, 'get log abc', { ...options, columns: 120 }), "flumelog: <seq> must be an offset (0 or more), start or end, not 'abc'; see flumelog get --help")
})

test('del shows the records and asks: only y and yes delete them', async (t) => {
  const name = testFolder(t)
  const long = `{"text":"${'long '.repeat(30)}"}`
  const question = [
    '$ flumelog del log 0 end',
    '0  a\\u001b[2J b',
    '19  {"text":"long long long long long long long long long …',
    'Delete 2 records (168 bytes) from log? [y/N]'
  ].join('\n')
  const answers = [
    ['n\r', 1, ' n\nlog: nothing deleted', 3],
    ['\r', 1, '\nlog: nothing deleted', 3],
    ['yo\r', 1, ' yo\nlog: nothing deleted', 3],
    [CTRL_D, 1, '\nlog: nothing deleted', 3],
    [CTRL_C, 130, '\nlog: nothing deleted', 3],
    ['y\r', 0, ' y\nlog: deleted 2 records (168 bytes) at offsets 0, 19', 1]
  ]
  await makeLog(name('log'), ['a\x1b[2J\nb', 'kept', long])
  for (const [i, [keys, code, rest, left]] of answers.entries()) {
    const screen = run(t, 'del log 0 end', { columns: 60, row: ROWS_OF_CURSOR[i % 2], cwd: name('.') })
    await screen.shows(/\[y\/N\]/)
    t.equal(screen.text, question)
    screen.type(keys)
    t.equal(await screen.ended, code, JSON.stringify(keys))
    t.equal(screen.text, question + rest)
    t.equal((await readLog(name('log'))).length, left)
  }
})

for (const [command, otherwise] of [['del log 5', 'nothing deleted'], ['del log --gte 5', 'nothing deleted'], ['trim log --lt end', 'nothing trimmed']]) {
  test(`${command} changes nothing in a log that is restored while it asks`, async (t) => {
    const name = testFolder(t)
    const texts = (letter) => [1, 1, 65000, 65000, 65000, 1].map(length => letter.repeat(length))
    await makeLog(name('other'), texts('b'))
    const other = await open(name('other'))
    await other.backup(name('backup'))
    await other.close()
    await makeLog(name('log'), texts('a'))
    const screen = run(t, command, { columns: 120, cwd: name('.') })
    await screen.shows(/\[y\/N\]/)
    await restore(name('backup'), name('log'), { force: true })
    screen.type('y\r')
    t.equal(await screen.ended, 1)
    t.equal(screen.lines.at(-1), `flumelog: log: another file has taken its place meanwhile, as by a restore or a compaction; ${otherwise}`)
    t.equal((await textsOf(name('log'))).join(), texts('b').join(), 'all is there')
  })
}

test('compact says how much is deleted and asks, unless nothing is', async (t) => {
  const name = testFolder(t)
  const seqs = await makeLog(name('log'), Array.from({ length: 300 }, () => 'x'.repeat(996)))
  await deleteFrom(name('log'), [...seqs.filter(seq => seq < 65536), seqs.at(-1)])
  const question = [
    '$ flumelog compact log',
    'log: 1 deleted record and 1 freed block (66.5 kB) go; 234 records (234 kB) stay',
    'Compact log? The offsets of all records change. [y/N]'
  ].join('\n')
  const before = fs.statSync(name('log')).ino
  for (const [keys, code, rest] of [['n\r', 1, ' n\nlog: not compacted'], ['y\r', 0, ' y\nlog: 302 kB became 236 kB: 234 records kept, 2 deleted records or freed blocks dropped; offsets have changed']]) {
    const screen = run(t, 'compact log', { columns: 120, cwd: name('.') })
    await screen.shows(/\[y\/N\]/)
    t.equal(screen.text, question)
    screen.type(keys)
    t.equal(await screen.ended, code)
    t.equal(screen.text, question + rest)
    t.equal(fs.statSync(name('log')).ino === before, code === 1)
  }
  t.equal(await screenOf(t, 'compact log', { columns: 120, cwd: name('.') }), 'log: nothing to drop: no record is deleted; the log is as it was')
})
