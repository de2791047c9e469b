'use strict'

// Where a log's files are: whatever path leads to the log, and whatever happens to the path
// while it is open.

const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const { promisify } = require('util')
const test = require('tape')
const FlumeLog = require('../..')
const { pathFile } = require('../../lib/storage/path-file')
const { verify } = require('../../lib/maintenance/verify')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { runtime } = require('../helpers/runtime')
const { codeOf } = require('../helpers/reading')

/** Changes the working directory until the test has ended. */
function chdir (t, folder) {
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
}

test('a log opened by a relative path stays where it is when the working directory changes', async (t) => {
  const file = testFolder(t)
  fs.mkdirSync(file('a'))
  fs.mkdirSync(file('b'))
  chdir(t, file('a'))
  const log = promises(FlumeLog('log'))
  process.chdir(file('b'))
  await log.append('one')
  t.deepEqual(fs.readdirSync(file('a')), ['log', 'log.meta'])
  t.equal(log.log.filename, 'log', 'filename stays what was given')
  await log.close()
  t.deepEqual(fs.readdirSync(file('a')), ['log', 'log.meta'])
  t.deepEqual(fs.readdirSync(file('b')), [])
})

test('the files beside a log that is opened through a symbolic link are beside the log itself', async (t) => {
  const file = testFolder(t)
  fs.mkdirSync(file('real'))
  fs.mkdirSync(file('links'))
  fs.symlinkSync('../real/log', file('links/log'))
  const log = promises(FlumeLog(file('links/log')))
  await log.append('one')
  t.deepEqual(fs.readdirSync(file('real')), ['log', 'log.meta'], 'a link to nothing creates its target')
  t.deepEqual(fs.readdirSync(file('links')), ['log'])
  await log.close()
  fs.appendFileSync(file('real/log'), 'torn')
  const again = promises(FlumeLog(file('links/log')))
  t.deepEqual(await again.onReady(), { offset: 7, bytes: 4, filename: file('real/log.cut-7') })
  await again.close()
})

test('a crash of a log that was opened through a symbolic link is seen under its own name', async (t) => {
  const file = testFolder(t)
  fs.symlinkSync('log', file('link'))
  const log = promises(FlumeLog(file('link')))
  await log.append('one')
  const metadata = fs.readFileSync(file('log.meta'))
  await log.close()
  fs.writeFileSync(file('log.meta'), metadata)
  const again = promises(FlumeLog(file('log')))
  await again.onReady()
  t.equal(again.log.stats().recovered, 7)
  await again.close()
})

test('a symbolic link that leads to itself is an error', async (t) => {
  const file = testFolder(t)
  fs.symlinkSync('log', file('log'))
  for (const readOnly of [false, true]) t.equal(await codeOf(promises(FlumeLog(file('log'), { readOnly })).onReady()), 'ELOOP')
})

test('a log in a directory that cannot be created is an error, not a hang', { skip: process.platform !== 'linux' && 'needs /proc' }, async (t) => {
  for (const name of ['/proc/missing/log', '/proc/missing/below/log', '/proc/version/log']) {
    t.match(await codeOf(promises(FlumeLog(name)).onReady()), /^(ENOENT|ENOTDIR|EEXIST)$/, name)
  }
})

test('what recovery truncates is readable only for those who may read the log', async (t) => {
  const file = testFolder(t)
  const before = promises(FlumeLog(file('log')))
  await before.append('one')
  await before.close()
  fs.appendFileSync(file('log'), 'torn')
  fs.chmodSync(file('log'), 0o600)
  const log = promises(FlumeLog(file('log')))
  const { filename } = await log.onReady()
  t.equal(fs.statSync(filename).mode & 0o777, 0o600)
  await log.close()
})

test('each parent directory that is created is fsynced into its own parent', async (t) => {
  const file = testFolder(t)
  const synced = []
  const { open } = fs.promises
  fs.promises.open = async (name, ...rest) => {
    const handle = await open(name, ...rest)
    const sync = handle.sync.bind(handle)
    handle.sync = async () => {
      await sync()
      synced.push(name)
    }
    return handle
  }
  t.teardown(() => { fs.promises.open = open })
  fs.mkdirSync(file('a'))
  const log = promises(FlumeLog(file('a/b/c/log')))
  await log.onReady()
  t.deepEqual(synced.toSorted(), [file('a'), file('a/b')])
  await log.append('one')
  t.ok(synced.includes(file('a/b/c')), 'and the log with the first append')
  await log.close()
})

test('a name that leaves no room for those of the files beside it is refused before anything is created', async (t) => {
  const file = testFolder(t)
  for (const name of ['x'.repeat(234), 'new/' + 'é'.repeat(117)]) {
    for (const readOnly of [false, true]) {
      const err = await promises(FlumeLog(file(name), { readOnly })).onReady().catch(err => err)
      t.equal(err.code, 'ENAMETOOLONG')
      t.match(err.message, /has 234 bytes; the maximum is 233/)
      t.deepEqual(fs.readdirSync(file('.')), [])
    }
  }
  const log = promises(FlumeLog(file('x'.repeat(233))))
  await log.append('one')
  await promisify(log.log.compact)({})
  await log.close()
})

test('a FIFO is refused without opening it', async (t) => {
  if (process.platform === 'win32') return t.comment('there are none on Windows')
  const fifo = testFolder(t)('fifo')
  execFileSync('mkfifo', [fifo])
  for (const readOnly of [true, false]) t.equal(await codeOf(promises(FlumeLog(fifo, { readOnly })).onReady()), 'flumelog:invalid')
  t.equal(await codeOf(verify(pathFile(fifo, { readOnly: true, lock: false }))), 'flumelog:invalid')
})

test('a FIFO beside a log is not waited for, and the error names it', async (t) => {
  if (process.platform === 'win32') return t.comment('there are none on Windows')
  for (const [end, call] of [['.meta', log => log.onReady()], ['.cursor-a', log => promisify(log.log.cursors)()], ['.cursor-a', log => promisify(log.log.cursor('a').onReady)()], ['.cursor-a', log => promisify(log.log.compact)()]]) {
    const file = testFolder(t)('log')
    execFileSync('mkfifo', [file + end])
    const log = promises(FlumeLog(file))
    const err = await call(log).catch(err => err)
    t.equal(err.code, 'ESPIPE')
    t.equal(err.path, file + end)
    await log.close().catch(() => {})
  }
})

test('an error of a file beside the log names that file', async (t) => {
  if (runtime === 'deno') return t.comment('unlink removes an empty directory there')
  const file = testFolder(t)
  fs.mkdirSync(file('log.meta.new'))
  const log = promises(FlumeLog(file('log')))
  const err = await log.append('one').catch(err => err)
  t.equal(err.code, 'EISDIR')
  t.equal(err.path, file('log.meta.new'))
  await log.close().catch(() => {})
})

test('checkPath tells whether the path still leads to the open file', async (t) => {
  const file = testFolder(t)
  const cases = {
    'untouched, or renamed and back': [() => {
      fs.renameSync(file('log'), file('other'))
      fs.renameSync(file('other'), file('log'))
    }, null],
    deleted: [() => fs.unlinkSync(file('log')), /the file was deleted or moved while it was open/],
    'another file renamed over it': [() => {
      fs.writeFileSync(file('other'), 'x')
      fs.renameSync(file('other'), file('log'))
    }, /the file was replaced by another file/],
    'its folder renamed': [() => fs.renameSync(path.dirname(file('log')), path.dirname(file('log')) + '-moved'), /the file was deleted or moved/]
  }
  for (const [what, [change, message]] of Object.entries(cases)) {
    const log = pathFile(file('log'), { readOnly: false, lock: true })
    await log.io.open()
    change()
    const err = await log.io.checkPath().then(() => null, err => err)
    t.equal(err?.code ?? null, message === null ? null : 'flumelog:replaced', what)
    if (message !== null) t.match(err.message, message)
    await log.io.close()
  }
  fs.rmSync(path.dirname(file('log')) + '-moved', { recursive: true })
})
