'use strict'

// What `onProgress` is told.

const test = require('tape')
const { importLog, exportLog } = require('..')
const { open } = require('flumelog-random-access-file/promises')
const { testFolder } = require('../../../test/helpers/folder')

test('the progress of an import and an export ends with all bytes of what they read', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'), { blockSize: 1024 })
  await log.append(Array.from({ length: 1000 }, (_, i) => `record number ${i}`))
  await log.del({ lt: 9000 })
  await log.compact()
  const { size, start } = log.stats()
  await log.close()
  const told = {}
  const onProgress = ({ step, bytes, total }) => (told[step] ??= []).push({ bytes, total })
  await importLog(name('log'), name('imported'), { onProgress })
  await exportLog(name('log'), name('exported'), { to: 'flumelog-offset', onProgress })
  t.deepEqual(Object.keys(told), ['import', 'check', 'export'])
  for (const [step, progress] of Object.entries(told)) {
    const { bytes, total } = progress.at(-1)
    // a block that is not full may be done without a word
    t.ok(progress.every(({ bytes, total }) => bytes >= 0 && bytes <= total) && total - bytes < 1024, `${step}: ${bytes} of ${total}`)
    t.ok(total <= size - start, step)
  }
})
