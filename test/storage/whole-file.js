'use strict'

// Small files beside a log.

const fs = require('fs')
const test = require('tape')
const { replaceFile, writeFile } = require('../../parts')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

test('a file that is replaced has all of the new contents, and the mode of the log', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('log'), '')
  fs.chmodSync(name('log'), 0o640)
  const log = fs.statSync(name('log'))
  for (const text of ['first', 'second, and longer', '']) {
    await replaceFile(name('log.x'), log, Buffer.from(text))
    t.equal(fs.readFileSync(name('log.x'), 'utf8'), text)
    t.equal(fs.statSync(name('log.x')).mode & 0o777, 0o640)
  }
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'log.x'])
})

test('a file that cannot be replaced stays as it is, and nothing else is left', async (t) => {
  const name = testFolder(t)
  fs.writeFileSync(name('log'), '')
  const log = fs.statSync(name('log'))
  await replaceFile(name('log.x'), log, Buffer.from('first'))
  const { writev } = fs
  t.teardown(() => { fs.writev = writev })
  fs.writev = (fd, buffers, offset, cb) => process.nextTick(cb, Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
  t.equal(await codeOf(replaceFile(name('log.x'), log, Buffer.from('second'))), 'ENOSPC')
  t.equal(await codeOf(writeFile(name('log.y'), log, Buffer.from('second'))), 'ENOSPC')
  t.equal(fs.readFileSync(name('log.x'), 'utf8'), 'first')
  t.deepEqual(fs.readdirSync(name('.')).sort(), ['log', 'log.x'])
})
