'use strict'

// Files that get their names when they are complete.

const fs = require('fs')
const tape = require('tape')
const { newFile } = require('../../blocks')
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
  await newFile.placeFile(file, name('target'), { given: 'target', like })
  t.equal(fs.readFileSync(name('target'), 'utf8'), 'complete')
  t.equal(fs.statSync(name('target')).mode & 0o777, 0o640)
  t.notOk(fs.existsSync(file))
})

tape('a file that is there already is not replaced, nor one beside an earlier log put in its place', async (t) => {
  const name = testFolder(t)
  const { unfinished: file, like } = unfinished(name)
  for (const there of ['target', 'target.meta']) {
    fs.writeFileSync(name(there), 'earlier')
    const placed = newFile.placeFile(file, name('target'), { given: 'target', like })
    t.equal(await codeOf(placed), 'EEXIST', there)
    t.throws(() => newFile.assertAbsent(name('target'), 'target'), /target/)
    t.equal(fs.readFileSync(name(there), 'utf8'), 'earlier')
    t.ok(fs.existsSync(file), 'the complete one stays where it was')
    fs.rmSync(name(there))
  }
})

tape('one process at a time has the lock of a file', async (t) => {
  const file = testFolder(t)('log')
  const lock = await newFile.lockFile(file)
  t.equal(await codeOf(newFile.lockFile(file)), 'flumelog:locked')
  await lock.close()
  await (await newFile.lockFile(file)).close()
})

tape('what was not completed is removed with what is beside it', (t) => {
  const name = testFolder(t)
  for (const file of ['x', 'x.meta', 'x.other']) fs.writeFileSync(name(file), '')
  newFile.removeFile(name('x'))
  t.deepEqual(fs.readdirSync(name('.')), ['x.other'])
  t.end()
})
