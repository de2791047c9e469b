'use strict'

// What `onProgress` is told.

const test = require('tape')
const { restore, verify } = require('../../maintenance')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')

test('the progress of all that reads a log is that of what is there', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'), { blockSize: 1024 })
  await log.append(Array.from({ length: 1000 }, (_, i) => `record number ${i}`))
  await log.del({ lt: 9000 })
  const told = {}
  const onProgress = (operation) => ({ onProgress: ({ step, bytes, total }) => (told[`${operation} ${step}`] ??= []).push({ bytes, total }) })
  await log.compact(onProgress('compact'))
  await log.backup(name('backup'), onProgress('backup'))
  await log.append('another one')
  await log.backup(name('backup'), onProgress('again'))
  const { size, start } = log.stats()
  await log.close()
  await verify(name('log'), onProgress('verify'))
  await restore(name('backup'), name('restored'), onProgress('restore'))
  const operations = new Set(Object.keys(told).map(name => name.split(' ')[0]))
  t.deepEqual([...operations], ['compact', 'backup', 'again', 'verify', 'restore'])
  for (const [what, progress] of Object.entries(told)) {
    const { bytes, total } = progress.at(-1)
    // a block that is not full may be done without a word
    t.ok(progress.every(({ bytes, total }) => bytes >= 0 && bytes <= total) && total - bytes < 1024, `${what}: ${bytes} of ${total}`)
    t.ok(total <= (what.startsWith('compact') ? 22000 : size - start), what)
  }
})
