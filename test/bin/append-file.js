'use strict'

// flumelog append from a file, which is read in larger chunks than a pipe, and ahead.

const fs = require('fs')
const path = require('path')
const test = require('tape')
const fc = require('fast-check')
const { testFolder } = require('../helpers/folder')
const { isClosed } = require('../helpers/left-metadata')
const { start, until } = require('../helpers/command-line')
const { textsOf } = require('../helpers/logs')
const { flumelog } = require('../helpers/warm-flumelog')

const helper = (name) => path.join(__dirname, '..', 'helpers', name)

/**
 * @param {import('tape').Test} t
 * @param {string} name
 * @param {string | Buffer} content
 * @returns {number} the file, open to be read
 */
function inputOf (t, name, content) {
  fs.writeFileSync(name, content)
  const fd = fs.openSync(name, 'r')
  t.teardown(() => fs.closeSync(fd))
  return fd
}

/** @param {number} size bytes, at least */
function linesOf (size) {
  const lines = []
  // three bytes per character, so that reads end within one
  for (let bytes = 0, i = 0; bytes < size; bytes += Buffer.byteLength(lines[i++]) + 1) lines.push(`${i} ${'≈'.repeat(i * 7919 % 211)}`)
  return lines
}

test('append stores every line of a file of many reads, with and without a newline at its end', async (t) => {
  const name = testFolder(t)
  const lines = linesOf(1500000)
  for (const end of ['', '\n']) {
    const log = name(`log${end.length}`)
    const { code } = await flumelog(['append', log, '--quiet'], { stdin: inputOf(t, name('lines'), lines.join('\n') + end) })
    t.equal(code, 0)
    t.deepEqual(await textsOf(log), lines)
  }
  const { stdout } = await flumelog(['append', name('empty')], { stdin: inputOf(t, name('nothing'), '') })
  t.match(stdout, /appended 0 records/, 'an empty file has no lines')
})

test('append starts where the file is, if another program has read some of it', async (t) => {
  const name = testFolder(t)
  const stdin = inputOf(t, name('lines'), 'header\none\ntwo\n')
  fs.readSync(stdin, Buffer.alloc(7))
  await flumelog(['append', name('log')], { stdin })
  t.deepEqual(await textsOf(name('log')), ['one', 'two'])
})

test('append stops at the first line of a file that is not UTF-8, wherever it is', async (t) => {
  const name = testFolder(t)
  const lines = linesOf(600000)
  let runs = 0
  await fc.assert(fc.asyncProperty(fc.nat(lines.length - 1), async (at) => {
    const log = name(`log${runs++}`)
    const bytes = Buffer.from(lines.map((line, i) => i === at ? `${line}#` : line).join('\n'))
    bytes[bytes.indexOf('#')] = 0xff
    const { code, stderr } = await flumelog(['append', log], { stdin: inputOf(t, name('lines'), bytes) })
    // nothing was to be stored before the first line
    if (at === 0) return code === 1 && stderr.includes('stopped at line 1: not UTF-8') && !fs.existsSync(log)
    const stored = await textsOf(log)
    return code === 1 && stderr.includes(`stopped at line ${at + 1}: not UTF-8`) &&
      stored.length === at && stored.every((line, i) => line === lines[i])
  }), { numRuns: 3 })
  t.pass('for 3 lines')
})

test('Ctrl-C while a file is read appends complete lines only, the first of them, and closes the log', async (t) => {
  if (!fs.existsSync('/proc/self/status')) return t.comment('this system does not tell whether a process waits')
  const name = testFolder(t)
  const lines = linesOf(24 * 1024 * 1024)
  const running = start(t, ['append', name('log')], { stdin: inputOf(t, name('lines'), lines.join('\n')), preload: [helper('stuck-disk.js')] })
  // before that, it may only wait for a busy machine
  await until(() => fs.existsSync(name('log')))
  await running.atRest()
  running.child.kill('SIGINT')
  running.child.kill('SIGUSR2')
  const { code, stdout } = await running.ended
  t.equal(code, 130)
  const stored = await textsOf(name('log'))
  t.match(stdout, new RegExp(`appended ${stored.length.toLocaleString('en-US')} records`))
  t.ok(stored.length > 0 && stored.length < lines.length, 'some of the lines')
  t.ok(stored.every((line, i) => line === lines[i]), 'which are the first')
  t.ok(isClosed(name('log')), 'the log was closed')
})
