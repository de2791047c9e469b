'use strict'

// flumelog append: lines become records, and lines that cannot be stored are reported.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { compact } = require('../../lib/json/text')
const { Lines } = require('../../bin/lines')
const { filesIn, testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { makeLog, readLog, textsOf } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { flumelog } = require('../helpers/warm-flumelog')

const summary = (records, bytes) => new RegExp(`^.*log: appended ${records}, ${bytes}, in \\d+\\.\\d\\d s, [\\d,]+ records/s\n$`)

test('append stores one record per line, including a last line without a newline', async (t) => {
  const file = testFolder(t)('log')
  const first = await flumelog(['append', file], { input: 'one\ntwo\n' })
  t.equal(first.code, 0)
  t.equal(first.stderr, '')
  t.match(first.stdout, summary('2 records', '6 bytes'))
  const second = await flumelog(['append', file], { input: 'drei, größer\r\nfour' })
  t.match(second.stdout, summary('2 records', '19 bytes'))
  t.deepEqual(await textsOf(file), ['one', 'two', 'drei, größer\r', 'four'])
  const { stdout, stderr } = await flumelog(['append', file, '--quiet'], { input: 'x' })
  t.equal(stdout + stderr, '', '--quiet says nothing')
})

test('append creates the log, with the block size that is given', async (t) => {
  const file = testFolder(t)('log')
  t.equal((await flumelog(['append', file, '--block-size', '128'], { input: 'x\n'.repeat(100) })).code, 0)
  const log = promises(FlumeLog(file, { readOnly: true }))
  await log.onReady()
  t.equal(log.log.blockSize, 128)
  await log.close()
  t.deepEqual(filesIn(path.dirname(file)), ['log'], 'it was closed: no recovery point is left')
})

test('append creates no log if nothing can be stored', async (t) => {
  const name = testFolder(t)
  const folder = path.dirname(name('log'))
  fs.symlinkSync('target', name('link'))
  for (const file of [name('log'), name('link')]) {
    const { code, stderr } = await flumelog(['append', file, '-e', 'json'], { input: '{no JSON\n' })
    t.equal(code, 1)
    t.match(stderr, /stopped at line 1: not JSON/)
    t.deepEqual(fs.readdirSync(folder).sort(), ['link'])
  }
  await flumelog(['append', name('log')], { input: '' })
  t.deepEqual(fs.readdirSync(folder).sort(), ['link', 'log'], 'without an error, it does')
  t.equal((await flumelog(['append', name('log')], { input: '\n' })).code, 1)
  t.deepEqual(fs.readdirSync(folder).sort(), ['link', 'log'], 'a log that was there stays')
})

test('append reads what dump prints, in hex, base64 and raw', async (t) => {
  const name = testFolder(t)
  const bytes = [Buffer.from([0, 255, 10, 13, 0]), Buffer.from('text\n'), Buffer.alloc(5000, 10)]
  await makeLog(name('log'), bytes)
  const original = fs.readFileSync(name('log'))
  for (const encoding of ['hex', 'base64']) {
    const { bytes } = await flumelog(['dump', name('log'), '-e', encoding])
    await flumelog(['append', name(encoding), '-e', encoding], { input: bytes })
    t.ok(fs.readFileSync(name(encoding)).equals(original), encoding)
  }
  await flumelog(['append', name('raw'), '-e', 'raw'], { input: Buffer.from([255, 0, 128, 10, 254]) })
  t.deepEqual((await readLog(name('raw'))).map(({ value }) => [...value]), [[255, 0, 128], [254]], 'raw takes any bytes')
})

test('hex and base64 accept Windows line ends, and hex accepts both cases', async (t) => {
  const name = testFolder(t)
  await flumelog(['append', name('hex'), '-e', 'hex'], { input: '4a4B\r\n61' })
  t.deepEqual(await textsOf(name('hex')), ['JK', 'a'])
  await flumelog(['append', name('base64'), '-e', 'base64'], { input: 'SksK\r\nSks=' })
  t.deepEqual(await textsOf(name('base64')), ['JK\n', 'JK'])
})

test('json is stored without whitespace between tokens, and otherwise unchanged', async (t) => {
  const file = testFolder(t)('log')
  const { code } = await flumelog(['append', file, '-e', 'json'], {
    input: '{ "b" : [ 1.50, 12345678901234567890 ],\t"10": "a  \\" b" , "9":{ } }\r\n "text" \n12'
  })
  t.equal(code, 0)
  t.deepEqual(await textsOf(file), ['{"b":[1.50,12345678901234567890],"10":"a  \\" b","9":{}}', '"text"', '12'])
})

test('compacting JSON does not change its value', (t) => {
  fc.assert(fc.property(fc.json(), fc.constantFrom(0, 1, 7, '\t'), (json, indent) => {
    const value = JSON.parse(json)
    return compact(Buffer.from(JSON.stringify(value, null, indent))).toString() === JSON.stringify(value)
  }), { numRuns: 500 })
  t.pass('for 500 values')
  t.end()
})

test('append stops at a line that cannot be stored and prints its number, and keeps the lines before it', async (t) => {
  const name = testFolder(t)
  const most = 'm'.repeat(65522)
  const cases = {
    empty: [[], 'a\nb\n\nc\n', 3, /: empty records cannot be stored \(use --skip-empty\); the lines before it were appended$/],
    first: [[], '\na\n', 1, /: empty records cannot be stored \(use --skip-empty\)$/],
    zeros: [[], 'a\n\0\0\0\nc\n', 2, /records of zeros cannot be stored/],
    large: [[], `a\n${most}\n${most}m\nc\n`, 3, /records of more than 65,522 bytes cannot be stored in blocks of 65,536 bytes;/],
    endless: [[], 'a\n' + 'm'.repeat(300000), 2, /records of more than 65,522 bytes cannot be stored in blocks of 65,536 bytes;/],
    small: [['--block-size', '64'], `a\n${'m'.repeat(50)}\n${'m'.repeat(51)}\n`, 3, /records of more than 50 bytes cannot be stored in blocks of 64 bytes;/],
    latin1: [[], Buffer.from('a\ngr\xfcn\n', 'latin1'), 2, /: not UTF-8 \(--encoding raw accepts any bytes\);/],
    hex: [['-e', 'hex'], '61\n6\n', 2, /: not hex: /],
    hexMore: [['-e', 'hex'], '61\n61 61\n', 2, /: not hex: /],
    base64: [['-e', 'base64'], 'YQ==\nYQ=\n', 2, /: not base64: /],
    base64Bits: [['-e', 'base64'], 'YQ==\nYR==\n', 2, /: not base64: /],
    json: [['-e', 'json'], '1\n\n', 2, /: not JSON: /],
    jsonBroken: [['-e', 'json'], '1\n{"a":}\n', 2, /: not JSON: /]
  }
  for (const [what, [args, input, line, reason]] of Object.entries(cases)) {
    const file = name(what + 'log')
    const { code, stdout: summary, stderr } = await flumelog(['append', file, ...args], { input })
    const [error, ...more] = stderr.trimEnd().split('\n')
    t.equal(code, 1, what)
    t.equal(error.slice(0, error.indexOf(': ', error.indexOf(file))), `flumelog: ${file}`, 'names the file')
    t.match(error, new RegExp(`: stopped at line ${line}: `), 'names the line')
    t.match(error, reason, error)
    t.match(summary, new RegExp(`appended ${line - 1} records?, `), 'tells what was stored')
    t.deepEqual(more, [], 'and nothing else')
    if (line === 1) continue
    t.equal((await readLog(file)).length, line - 1, 'which is all before that line')
    t.ok(isClosed(file), 'and the log was closed')
  }
})

test('--skip-empty skips empty lines', async (t) => {
  const file = testFolder(t)('log')
  const { code, stdout } = await flumelog(['append', file, '--skip-empty'], { input: '\na\n\n\nb\n\n' })
  t.equal(code, 0)
  t.match(stdout, summary('2 records', '2 bytes'))
  t.deepEqual(await textsOf(file), ['a', 'b'])
  for (const encoding of ['hex', 'base64', 'json']) {
    const { code, stderr } = await flumelog(['append', `${file}.${encoding}`, '--skip-empty', '--quiet', '-e', encoding], { input: '1234\r\n\r\n5678\r\n' })
    t.deepEqual({ code, stderr }, { code: 0, stderr: '' }, `empty lines of ${encoding} from Windows`)
    t.equal((await textsOf(`${file}.${encoding}`)).length, 2)
  }
})

test('a --block-size that differs from that of an existing log is an error', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, Array.from({ length: 20 }, (_, i) => `record ${i}`), { blockSize: 64 })
  const { code, stderr } = await flumelog(['append', file, '--block-size', '128'], { input: 'x' })
  t.equal(code, 1)
  t.match(stderr, /^flumelog: .*log: --block-size is 128, but the file has blocks of 64 bytes; omit --block-size for an existing log\n$/)
})

test('an unreadable standard input is an error that names it', async (t) => {
  const name = testFolder(t)
  const folder = fs.openSync(name('.'), 'r')
  t.teardown(() => fs.closeSync(folder))
  const { code, stderr } = await flumelog(['append', name('log')], { stdin: folder })
  t.equal(code, 1)
  t.equal(stderr, 'flumelog: standard input is a directory; give a file, or the output of a program\n')
  t.notOk(fs.existsSync(name('log')))
})

test('a terminal shows a bar if the input is a file, and a rate if it is a pipe', async (t) => {
  const name = testFolder(t)
  const lines = 'a line of some length\n'.repeat(20000)
  const piped = await flumelog(['append', name('log')], { input: lines, columns: 80 })
  t.match(piped.stderr, /append [\d,]+ records {2}[\d,]+ records\/s {2}\d+ s/, 'records, and how many a second')
  t.match(piped.stdout, /log: appended 20,000 records, 420 kB,\s+in \d+\.\d\d s,\s+[\d,]+ records\/s\n$/, 'and the summary')

  fs.writeFileSync(name('lines'), lines)
  const stdin = fs.openSync(name('lines'), 'r')
  t.teardown(() => fs.closeSync(stdin))
  const { stderr } = await flumelog(['append', name('log')], { stdin, columns: 80 })
  t.match(stderr, /append █+░* +\d+% {2}\d+(\.\d+)? kB of 440 kB {2}\d+ s left/, 'bytes of those of the file')

  const quiet = await flumelog(['append', name('log'), '--quiet'], { input: lines, columns: 80 })
  t.equal(quiet.stderr, '', 'nothing with --quiet')
})

test('lines do not depend on how the input is split into chunks', (t) => {
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 6, max: 12, min: 9 }), { maxLength: 8 }), (chunks) => {
    const lines = new Lines(1000)
    const found = [...chunks.flatMap(chunk => lines.push(Buffer.from(chunk))), ...lines.end()]
    const expected = Buffer.concat(chunks).toString('latin1').split('\n')
    if (expected.at(-1) === '') expected.pop()
    return JSON.stringify(found.map(line => line.toString('latin1'))) === JSON.stringify(expected)
  }), { numRuns: 500 })
  t.pass('for 500 inputs')
  t.end()
})
