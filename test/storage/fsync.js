'use strict'

// Fsyncs of a log's file.

const fs = require('fs')
const tape = require('tape')
const { pathFile } = require('../../lib/storage/path-file')
const { testFolder } = require('../helpers/folder')

tape('fsyncs of a log follow each other, and none succeeds after one that has failed', async (t) => {
  const { file, calls } = await heldFile(t)
  const syncs = [1, 2, 3].map(() => file.io.sync().then(() => 'done', ({ code }) => code))
  t.equal(calls.length, 1, 'the others wait for the first one')
  calls.shift()(null)
  t.equal(await syncs[0], 'done')
  t.equal(calls.length, 1)
  calls.shift()(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }))
  t.deepEqual(await Promise.all(syncs), ['done', 'EIO', 'EIO'])
  t.equal(await file.io.sync().catch(({ code }) => code), 'EIO')
  t.equal(calls.length, 0, 'the system is not asked again')
})

/** A file whose fsyncs end when their callbacks in `calls` are called. */
async function heldFile (t) {
  const file = pathFile(testFolder(t)('log'), { readOnly: false, lock: false })
  await file.io.open()
  const { fdatasync } = fs
  const calls = []
  fs.fdatasync = (fd, cb) => { calls.push(cb) }
  t.teardown(async () => {
    fs.fdatasync = fdatasync
    await file.io.close()
  })
  return { file, calls }
}
