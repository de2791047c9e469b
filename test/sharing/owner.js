'use strict'

// What an owner of a shared log leaves behind when it cannot go on, or cannot clean up.

const fs = require('fs')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { inTime, numbersIn, shared } = require('../helpers/sharing')

tape('an owner closes though its socket cannot be removed, and the next one replaces that', { skip: process.platform === 'win32' }, async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file)
  await owner.number(1)[0]
  const { unlink } = fs.promises
  t.teardown(() => { fs.promises.unlink = unlink })
  fs.promises.unlink = async (name) => {
    if (String(name).endsWith('.socket')) throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })
    return await unlink(name)
  }
  await inTime(owner.close(), 'closing')
  fs.promises.unlink = unlink
  const next = shared(file)
  await next.number(2)[0]
  await next.close()
  t.deepEqual(await numbersIn(file), [1, 2])
})
