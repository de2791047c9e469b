'use strict'

// Cursors of processes that only read the log.

const fs = require('fs')
const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { machine } = require('../helpers/simulator/machine')
const { World } = require('../helpers/simulator/world')

tape('a cursor committed by the writer is valid in a reader that was not told of its record', async (t) => {
  const world = new World(1)
  world.lostEvents = 1
  const [writer, reader] = [world.start(), world.start()].map(process => process.require('./promises'))
  let given = null
  const run = async () => {
    const log = await writer.open('/log', { blockSize: 64 })
    const readOnly = await reader.open('/log', { readOnly: true })
    await log.append(['one', 'two'])
    const cursor = log.cursor('mailer')
    await cursor.commit(log.since.value)
    await cursor.close()
    await log.append('three')
    given = []
    for await (const { value } of readOnly.cursor('mailer').stream()) given.push(String(value))
    await readOnly.close()
    await log.close()
  }
  let isDone = false
  const running = run().catch(err => t.fail(err)).finally(() => { isDone = true })
  await world.run(() => isDone, 10_000)
  await running
  t.deepEqual(given, ['three'])
})

tape('a reader commits no cursor during an fsync of the log that fails, or after it, since another one succeeds without writing anything', async (t) => {
  const filename = testFolder(t)('log')
  const log = await open(filename, { sync: 'never' })
  await log.append('one')
  const reader = await open(filename, { readOnly: true })
  const { fdatasync } = fs
  t.teardown(() => { fs.fdatasync = fdatasync })
  const { ino } = fs.statSync(filename)
  let syncs = 0
  fs.fdatasync = (fd, cb) => {
    if (fs.fstatSync(fd).ino === ino && syncs++ === 0) setTimeout(cb, 50, Object.assign(new Error('the disk fails'), { code: 'EIO' }))
    else fdatasync(fd, cb)
  }
  const commit = (name) => reader.cursor(name).commit(0, { sync: true }).catch(err => err)
  for (const err of [...await Promise.all(['mailer', 'indexer'].map(commit)), await commit('mailer')]) {
    t.deepEqual([err?.code, err?.cause?.code], ['flumelog:failed', 'EIO'])
  }
  t.equal(syncs, 1)
  await reader.close().catch(() => {})
  const again = await open(filename, { readOnly: true })
  t.equal(await again.cursor('mailer').commit(0, { sync: true }), undefined, 'it does when the log is opened again')
  await again.close()
  await log.close()
})

tape('a cursor that is created by a reader which has not heard of a trim starts behind it', async (t) => {
  const { world, open, settled, values } = machine()
  world.lostEvents = 1
  const log = await open(world.start(), '/log', { blockSize: 64 })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await settled(log.append(`record ${i}`)))
  const reader = await open(world.start(), '/log', { readOnly: true, blockSize: 64 })
  await settled(log.trim({ lt: seqs[10] }))
  const cursor = reader.cursor('mailer')
  t.deepEqual(await values(cursor).catch(err => err.code), await values(log))
  world.end()
})
