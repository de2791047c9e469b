'use strict'

// Files that get their names when they are complete, and small files beside a log.

const fs = require('fs')
const tape = require('tape')
const { files } = require('../../blocks')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

function unfinished (name) {
  fs.writeFileSync(name('target.unfinished'), 'complete', { mode: 0o600 })
  fs.writeFileSync(name('like'), '', { mode: 0o640 })
  fs.chmodSync(name('like'), 0o640)
  return { unfinished: name('target.unfinished'), like: fs.statSync(name('like')) }
}

tape('a complete file gets its name, with the mode of another, and has no other name', async (t) => {
  const name = testFolder(t)
  const { unfinished: file, like } = unfinished(name)
  await files.placeFile(file, name('target'), { given: 'target', like })
  t.equal(fs.readFileSync(name('target'), 'utf8'), 'complete')
  t.equal(fs.statSync(name('target')).mode & 0o777, 0o640)
  t.notOk(fs.existsSync(file))
})

tape('a file that is there already is not replaced, nor one beside an earlier log put in its place', async (t) => {
  const name = testFolder(t)
  const { unfinished: file, like } = unfinished(name)
  for (const there of ['target', 'target.meta']) {
    fs.writeFileSync(name(there), 'earlier')
    const placed = files.placeFile(file, name('target'), { given: 'target', like })
    t.equal(await codeOf(placed), 'EEXIST', there)
    t.throws(() => files.assertAbsent(name('target'), 'target'), /target/)
    t.equal(fs.readFileSync(name(there), 'utf8'), 'earlier')
    t.ok(fs.existsSync(file), 'the complete one stays where it was')
    fs.rmSync(name(there))
  }
})

tape('one process at a time has the lock of a file', async (t) => {
  const file = testFolder(t)('log')
  const lock = await files.lockFile(file)
  t.equal(await codeOf(files.lockFile(file)), 'flumelog:locked')
  await lock.close()
  await (await files.lockFile(file)).close()
})

tape('what was not completed is removed with what is beside it', (t) => {
  const name = testFolder(t)
  for (const file of ['x', 'x.meta', 'x.other']) fs.writeFileSync(name(file), '')
  files.removeFile(name('x'))
  t.deepEqual(fs.readdirSync(name('.')), ['x.other'])
  t.end()
})

tape('a file that is replaced has all of the new contents, and the mode of the log', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('log'), '')
  fs.chmodSync(name('log'), 0o640)
  const log = fs.statSync(name('log'))
  for (const text of ['first', 'second, and longer', '']) {
    await files.replaceFile(name('log.x'), log, Buffer.from(text))
    t.equal(fs.readFileSync(name('log.x'), 'utf8'), text)
    t.equal(fs.statSync(name('log.x')).mode & 0o777, 0o640)
  }
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'log.x'])
})

tape('a file that cannot be replaced stays as it is, and nothing else is left', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('log'), '')
  const log = fs.statSync(name('log'))
  await files.replaceFile(name('log.x'), log, Buffer.from('first'))
  const { writev } = fs
  t.teardown(() => { fs.writev = writev })
  fs.writev = (fd, buffers, offset, cb) => process.nextTick(cb, Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
  t.equal(await codeOf(files.replaceFile(name('log.x'), log, Buffer.from('second'))), 'ENOSPC')
  t.equal(await codeOf(files.writeFile(name('log.y'), log, Buffer.from('second'))), 'ENOSPC')
  t.equal(fs.readFileSync(name('log.x'), 'utf8'), 'first')
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'log.x'])
})
