'use strict'

// Callers that append faster than the log can write: bounded buffers, sinks, counters.

const tape = require('tape')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { ControlledFile } = require('../helpers/controlled-file')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')

const MIB = 1024 * 1024
const RECORDS = Number(process.env.RECORDS ?? 1e6)

tape('what is appended beyond highWaterMark is stored, and counted until it is', async (t) => {
  const log = await open({ highWaterMark: 1000 })
  const appends = Array.from({ length: 15 }, (_, i) => log.append(Buffer.alloc(100, i + 1)))
  t.deepEqual(log.log.stats().inFlight, { records: 15, bytes: 1500 })
  await Promise.all(appends)
  t.deepEqual((await all(log)).map(value => value[0]), Array.from({ length: 15 }, (_, i) => i + 1))
  const { appended, written, inFlight } = log.log.stats()
  t.deepEqual({ appended, written, inFlight }, {
    appended: { records: 15, bytes: 1500 },
    written: { records: 15, bytes: 1500 },
    inFlight: { records: 0, bytes: 0 }
  })
  await log.close()
})

tape('highWaterMark can be changed while the log is open', async (t) => {
  const log = await open({ highWaterMark: 100 })
  log.log.highWaterMark = 200
  t.equal(log.log.highWaterMark, 200)
  for (const wrong of [0, -1, NaN, '5', undefined]) {
    t.throws(() => { log.log.highWaterMark = wrong }, (err) => err.code === 'flumelog:invalid', `${wrong} is refused`)
  }
  await log.close()
})

tape('after a failed write, nothing is in flight', async (t) => {
  const file = new ControlledFile()
  const log = file.open()
  await log.append('one')
  file.fail('write')
  t.deepEqual(await Promise.all([codeOf(log.append('two')), codeOf(log.append('three'))]), ['EIO', 'EIO'])
  t.deepEqual(log.log.stats().inFlight, { records: 0, bytes: 0 })
  await log.close()
})

tape(`a sink stores ${RECORDS} records in order, with constant memory use`, (t) => {
  const log = FlumeLog(newFile(), { highWaterMark: 2 * MIB, cacheSize: MIB })
  let made = 0
  let most = 0
  let heap = 0
  const value = Buffer.alloc(100, 1)
  const source = (abort, cb) => {
    if (abort || made === RECORDS) return cb(abort || true)
    if (++made % 20000 === 0) {
      most = Math.max(most, log.stats().inFlight.bytes)
      heap = Math.max(heap, process.memoryUsage().heapUsed)
    }
    value.writeUInt32LE(made)
    cb(null, value)
  }
  const before = process.memoryUsage().heapUsed
  pull(source, log.sink((err, stored) => {
    t.error(err)
    t.equal(stored.records, RECORDS)
    t.equal(stored.bytes, RECORDS * 100)
    t.equal(stored.seq, log.since.value)
    t.ok(most <= 2 * MIB + 100, `at most ${most} bytes were in flight`)
    t.ok(heap - before < 64 * MIB, `the heap grew by ${((heap - before) / MIB).toFixed(0)} MiB at most`)
    log.close(t.end)
  }))
})

tape('a sink accepts asynchronous records, and keeps those received before its source fails', async (t) => {
  const log = await open({})
  const sunk = (source) => new Promise(resolve => pull(source, log.log.sink((err, stored) => resolve({ err, stored }))))
  const later = (n, end) => (abort, cb) => setImmediate(() => abort || n-- === 0 ? cb(abort || end) : cb(null, `record ${n}`))
  t.deepEqual(await sunk(later(3, true)), { err: null, stored: { records: 3, bytes: 24, seq: 24 } })
  const failure = new Error('no more')
  t.deepEqual(await sunk(later(2, failure)), { err: failure, stored: { records: 2, bytes: 16, seq: 48 } })
  t.deepEqual(await sunk(pull.empty()), { err: null, stored: { records: 0, bytes: 0, seq: -1 } })
  const { err, stored } = await sunk(pull.values(['good', '', 'not reached']))
  t.equal(err.code, 'flumelog:invalid')
  t.deepEqual(stored, { records: 1, bytes: 4, seq: 60 })
  t.equal((await all(log)).length, 6)
  await log.close()
  t.equal((await sunk(pull.values(['late']))).err.code, 'flumelog:closed')
})

tape('a sink fills the buffer up to highWaterMark, then waits until half of it is written', async (t) => {
  const file = new ControlledFile()
  file.held.add('write')
  const log = file.open({ highWaterMark: 1000 })
  await log.onReady()
  let made = 0
  /** Bytes in flight whenever it resumed. */
  const resumedAt = []
  let isFull = false
  const source = (abort, cb) => {
    if (abort || made === 200) return cb(abort || true)
    if (isFull) resumedAt.push(log.log.stats().inFlight.bytes)
    made++
    cb(null, Buffer.alloc(100, 1))
    isFull = log.log.stats().inFlight.bytes >= 1000
  }
  const sunk = new Promise(resolve => pull(source, log.log.sink((err, stored) => resolve({ err, stored }))))
  await new Promise(setImmediate)
  t.equal(made, 10, 'no more is read than the mark allows')
  t.equal(log.log.stats().inFlight.bytes, 1000)
  file.release('write')
  t.equal((await sunk).stored.records, 200)
  t.ok(resumedAt.length > 0 && resumedAt.every(bytes => bytes <= 500), `it went on ${resumedAt.length} times, with at most ${Math.max(...resumedAt)} bytes in flight`)
  await log.close()
})

tape('two concurrent sinks each store their records in order', async (t) => {
  const log = await open({ highWaterMark: 1000 })
  const records = (name) => Array.from({ length: 2000 }, (_, i) => `${name}${i}`)
  const sunk = (name) => new Promise((resolve, reject) => {
    pull(pull.values(records(name)), log.log.sink((err, stored) => err ? reject(err) : resolve(stored.records)))
  })
  t.deepEqual(await Promise.all([sunk('a'), sunk('b')]), [2000, 2000])
  const stored = (await all(log)).map(String)
  for (const name of ['a', 'b']) t.deepEqual(stored.filter(value => value.startsWith(name)), records(name))
  await log.close()
})

tape('a failed sink accepts nothing more from its source', async (t) => {
  const file = new ControlledFile()
  const log = file.open()
  await log.append('before')
  file.fail('write')
  let answer
  const aborts = []
  const source = (abort, cb) => {
    if (abort) aborts.push(abort.code)
    else answer = cb
  }
  const sunk = new Promise(resolve => pull(source, log.log.sink((err, stored) => resolve({ err, stored }))))
  answer(null, 'its write fails')
  const { err, stored } = await sunk
  t.equal(err.code, 'EIO')
  t.deepEqual(stored, { records: 0, bytes: 0, seq: -1 })
  t.deepEqual(aborts, ['EIO'], 'the source is told')
  answer(null, 'it was on its way')
  await log.append('after')
  t.deepEqual((await all(log)).map(String), ['before', 'after'])
  await log.close()
})

tape('a sink fails when the log is closed, and the records it has stored are kept', async (t) => {
  const storage = newFile()
  const log = promises(FlumeLog(storage))
  let given = 0
  let closed
  const endless = (abort, cb) => {
    if (abort) return cb(abort)
    if (++given === 100) closed = log.close()
    setImmediate(cb, null, `record ${given}`)
  }
  const sunk = new Promise(resolve => pull(endless, log.log.sink((err, stored) => resolve({ err, stored }))))
  const { err, stored } = await sunk
  await closed
  t.equal(err.code, 'flumelog:closed')
  const again = promises(FlumeLog(storage))
  t.equal((await all(again)).length, stored.records)
  await again.close()
})

tape('no write is larger than 1 MiB, and appends are acknowledged in order', async (t) => {
  const file = new ControlledFile()
  const log = file.open()
  await log.onReady()
  const order = []
  await Promise.all(Array.from({ length: 10000 }, (_, i) => log.append(Buffer.alloc(500, 1)).then(() => order.push(i))))
  t.ok(Math.max(...file.writes) <= MIB, `the largest had ${Math.max(...file.writes)} bytes, of ${file.writes.length} writes`)
  t.ok(order.every((n, i) => n === i))
  await log.close()
})

tape('counters only grow, and add up', async (t) => {
  const log = await open({ blockSize: 1024, sync: 'never', cacheSize: 8192 })
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await log.append(Buffer.alloc(200, 1)))
  let stats = log.log.stats()
  t.equal(stats.written.records, 100)
  t.equal(stats.unsynced, stats.size)
  t.equal(stats.blocks, 25)
  t.equal(stats.cache.evictions, 0)
  await log.sync()
  stats = log.log.stats()
  t.equal(stats.unsynced, 0)
  await all(log)
  const { cache } = log.log.stats()
  t.ok(cache.misses > stats.cache.misses && cache.hits > stats.cache.hits)
  for (const seq of seqs) await log.get(seq)
  t.ok(log.log.stats().cache.evictions > 0)
  await log.close()
})

async function open (options) {
  const log = promises(FlumeLog(newFile(), options))
  await log.onReady()
  return log
}

function all ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream({ seqs: false }), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}

const codeOf = (promise) => promise.then(() => null, err => err.code)
