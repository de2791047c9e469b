'use strict'

// Deletions through the interface of async-append-only-log, and what it counts of them.

const fs = require('fs')

// before the log is loaded, which keeps the function
const { fdatasync } = fs
/** While there is one, calls of fdatasync wait in it. */
let held = null
fs.fdatasync = (fd, cb) => {
  if (held === null) fdatasync(fd, cb)
  else held.push((err) => err === null ? fdatasync(fd, cb) : cb(err))
}

const tape = require('tape')
const { openLog } = require('./helpers/open')
const { promisify } = require('util')
const { testFolder } = require('../../../test/helpers/folder')
const { machine, pathOf } = require('../../../test/helpers/simulator/machine')

const record = (i) => Buffer.alloc(6, i)

tape('what is deleted is gone for readers when `del` calls back, and for good when `onDeletesFlushed` does', async (t) => {
  const file = testFolder(t)('log')
  const { log, store, collect, del, onDeletesFlushed, close } = openLog(file)
  await store(record(1), record(2), record(3))
  const read = new Promise((resolve) => log.del(10, (err) => log.get(10, (err2) => resolve([err ?? null, err2.code]))))
  t.deepEqual(await read, [null, 'ERR_AAOL_DELETED_RECORD'])
  t.deepEqual(await collect({ offsets: false }), [record(1), null, record(3)])
  await del(10)
  await onDeletesFlushed()
  t.ok(fs.existsSync(file + '.meta'), 'the log is open')
  const copy = testFolder(t)('copy')
  for (const suffix of ['', '.meta']) fs.copyFileSync(file + suffix, copy + suffix)
  const other = openLog(copy)
  t.deepEqual(await other.collect({ offsets: false }), [record(1), null, record(3)], 'a crash keeps it')
  await other.close()
  await close()
})

tape('what is not stored yet is deleted once it is', async (t) => {
  const { log, append, del, collect, close } = openLog(testFolder(t)('log'), { writeTimeout: 20 })
  await append([record(1), record(2)])
  const deleted = del(0)
  t.equal(log.since.value, -1)
  await deleted
  t.equal(log.since.value, 10)
  t.deepEqual(await collect({ offsets: false }), [null, record(2)])
  await close()
})

tape('`onDeletesFlushed` calls back at once if nothing was deleted, and `del` says what is wrong with an offset', async (t) => {
  const { log, store, del, close } = openLog(testFolder(t)('log'))
  await store(record(1))
  let isCalled = false
  log.onDeletesFlushed(() => { isCalled = true })
  t.ok(isCalled)
  for (const offset of [NaN, -1, 5, 10]) t.match(await del(offset).then(() => 'done', err => err.code), /^ERR_AAOL_/, String(offset))
  await close()
})

tape('`del` can be called many times at once, by itself', async (t) => {
  const { log: { del }, store, collect, onDeletesFlushed, close } = openLog(testFolder(t)('log'), { blockSize: 64 })
  const offsets = await store(...Array.from({ length: 100 }, (_, i) => record(i + 1)))
  await Promise.all(offsets.filter((_, i) => i % 2 === 0).map(offset => new Promise((resolve, reject) => del(offset, (err) => err ? reject(err) : resolve()))))
  await onDeletesFlushed()
  t.deepEqual((await collect()).map(({ value }) => value === null), offsets.map((_, i) => i % 2 === 0))
  await close()
})

for (const next of ['close', 'onDeletesFlushed', 'compact']) {
  tape(`\`${next}\` waits for a deletion whose record is still being read`, async (t) => {
    const { world, settled, values } = machine()
    const process = world.start()
    const open = () => process.require('./packages/async-append-only-log')('/log', { blockSize: 512 })
    const call = (log, name, ...args) => promisify(log[name])(...args)
    let log = open()
    await settled(call(log, 'append', Array.from({ length: 100 }, (_, i) => record(i + 1))))
    await settled(call(log, 'close'))
    log = open()
    await settled(call(log, 'onDrain'))
    // what cannot be read at once is read by the thread pool
    let failures = 0
    world.fault = (caller, name) => /^readv?$/.test(name) && failures++ === 0 ? 'EIO' : null
    let deleted
    log.del(0, (err) => { deleted = err })
    t.equal(deleted, undefined)
    await settled(call(log, next))
    t.equal(deleted, null)
    world.kill(process)
    const other = await settled(world.start().require('./promises').open('/log'))
    t.equal((await values(other))[0], String(record(2)), 'it is deleted')
    world.end()
  })
}

for (const next of ['close', 'onDeletesFlushed']) {
  tape(`\`${next}\` waits for a deletion whose record is still being stored when another one is appended`, async (t) => {
    const { world, settled, until, values } = machine()
    const process = world.start()
    const log = process.require('./packages/async-append-only-log')('/log', { blockSize: 512 })
    const call = (name, ...args) => promisify(log[name])(...args)
    let isSyncing = false
    world.fault = (caller, name, [fd]) => {
      isSyncing ||= name === 'fdatasync' && pathOf(process, fd) === '/log'
      return null
    }
    const offset = await settled(call('append', record(1)))
    await until(() => isSyncing)
    const deleted = call('del', offset)
    const appended = call('append', record(2))
    await settled(call(next))
    await settled(Promise.all([deleted, appended]))
    world.kill(process)
    const other = await settled(world.start().require('./promises').open('/log'))
    t.notOk((await values(other)).includes(String(record(1))), 'it is deleted')
    world.end()
  })
}

tape('`stats` has the offset of the last record, and the bytes of deleted ones', async (t) => {
  const file = testFolder(t)('log')
  const first = openLog(file)
  t.deepEqual(await first.stats(), { totalBytes: 0, deletedBytes: 0 })
  await first.store(record(1), record(2), record(3))
  await first.del(0)
  await first.del(10)
  await first.del(0)
  t.deepEqual(await first.stats(), { totalBytes: 20, deletedBytes: 20 })
  await first.close()
  const second = openLog(file)
  t.deepEqual(await second.stats(), { totalBytes: 20, deletedBytes: 20 })
  await second.del(20)
  t.deepEqual(await second.stats(), { totalBytes: 20, deletedBytes: 30 })
  await second.close()
})

tape('whoever asks while deletions are being fsynced is called back after that, with its error', async (t) => {
  for (const fails of [false, true]) {
    const { log, store, del, compact, close } = openLog(testFolder(t)('log'))
    const offsets = await store(record(1), record(2), record(3))
    const holding = held = []
    const problems = []
    const note = (err) => { problems.push(err ?? null) }
    await del(offsets[0])
    log.onDeletesFlushed(note)
    while (holding.length === 0) await new Promise(resolve => setImmediate(resolve))
    log.onDeletesFlushed(note)
    log.compact(note)
    const closed = fails ? null : compact().then(() => close())
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
    t.deepEqual(problems, [])
    held = null
    for (const release of holding) release(fails ? new Error('fails') : null)
    while (problems.length < 3) await new Promise(resolve => setImmediate(resolve))
    t.deepEqual(problems.map(err => err === null), [!fails, !fails, !fails])
    await (closed ?? close().catch(() => {}))
  }
})

tape('after a compaction that leaves nothing but one deleted record, `stats` has its bytes', async (t) => {
  const file = testFolder(t)('log')
  const { store, del, compact, stats, collect, close } = openLog(file, { blockSize: 64 })
  for (const offset of await store(record(1), record(2))) await del(offset)
  await compact()
  const [{ value, size }, ...others] = await collect({ sizes: true })
  t.deepEqual([value, others], [null, []])
  t.deepEqual(await stats(), { totalBytes: 0, deletedBytes: size })
  await close()
  const again = openLog(file, { blockSize: 64 })
  t.deepEqual(await again.stats(), { totalBytes: 0, deletedBytes: size })
  await again.close()
})
