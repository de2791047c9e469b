'use strict'

// Streams through the interface of async-append-only-log, as jitdb and ssb-db2 use them.

const tape = require('tape')
const fc = require('fast-check')
const { openLog, collect } = require('./helpers/open')
const { testFolder } = require('../../../test/helpers/folder')
const { uncaughtDuring } = require('../../../test/helpers/uncaught')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const BLOCK_SIZE = 64
const record = (i) => Buffer.alloc(6, i)

/** Ten records of 10 bytes, five in a block. */
async function filled (t, options) {
  const log = openLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE, ...options })
  const offsets = await log.store(...Array.from({ length: 10 }, (_, i) => record(i + 1)))
  return { ...log, offsets }
}

tape('deleted records are given in their places, with null and their size, and counted by `limit`', async (t) => {
  const { offsets, del, onDeletesFlushed, collect, close } = await filled(t)
  await del(offsets[1])
  await del(offsets[2])
  const expected = offsets.map((offset, i) => ({ offset, value: i === 1 || i === 2 ? null : record(i + 1), size: 10 }))
  t.deepEqual(await collect({ sizes: true }), expected)
  t.deepEqual(await collect({ sizes: true, limit: 3 }), expected.slice(0, 3))
  await onDeletesFlushed()
  t.deepEqual(await collect({ sizes: true }), expected, 'also when they are stored')
  await close()
})

tape('that stays so when all records of a block are deleted, and the log is opened again', async (t) => {
  const file = testFolder(t)('log')
  const log = openLog(file, { blockSize: BLOCK_SIZE })
  const offsets = await log.store(...Array.from({ length: 15 }, (_, i) => record(i + 1)))
  for (const offset of offsets.slice(5, 10)) await log.del(offset)
  await log.close()
  const again = openLog(file, { blockSize: BLOCK_SIZE })
  t.deepEqual((await again.collect()).map(({ offset, value }) => [offset, value === null]), offsets.map((offset, i) => [offset, i >= 5 && i < 10]))
  await again.close()
})

tape('`offsets`, `values` and `sizes` say what is given', async (t) => {
  const { log, close } = await filled(t)
  const first = async (options) => (await collect(log, { ...options, limit: 1 }))[0]
  t.deepEqual(await first({}), { offset: 0, value: record(1) })
  t.deepEqual(await first({ sizes: true }), { offset: 0, value: record(1), size: 10 })
  t.deepEqual(await first({ values: false }), 0)
  t.deepEqual(await first({ values: false, sizes: true }), { offset: 0, size: 10 })
  t.deepEqual(await first({ offsets: false }), record(1))
  t.deepEqual(await first({ offsets: false, sizes: true }), { value: record(1), size: 10 })
  t.deepEqual(await first({ offsets: false, values: false, sizes: true }), 10)
  await close()
})

tape('bounds and limit select the records that a filter of all would', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const { log, offsets, close } = await filled(t)
  const bound = fc.option(fc.oneof(fc.constantFrom(...offsets), fc.integer({ min: -2, max: 140 })), { nil: undefined })
  const options = fc.record({ gt: bound, gte: bound, lt: bound, lte: bound, limit: fc.integer({ min: 0, max: 12 }) })
  await fc.assert(fc.asyncProperty(options, async (options) => {
    const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity, limit } = options
    const expected = offsets.filter(offset => offset > gt && offset >= gte && offset < lt && offset <= lte)
    const given = await collect(log, { ...options, values: false })
    if (given.join() !== expected.slice(0, limit || Infinity).join()) throw new Error(`gave ${given}`)
  }), { numRuns: 200, seed: SEED })
  t.pass('200 random ranges')
  await close()
})

tape('a stream that is not live gives what is not written yet in the block of `since`, but nothing while `since` is -1', async (t) => {
  const { log, store, append, onDrain, close } = openLog(testFolder(t)('log'), { blockSize: BLOCK_SIZE, writeTimeout: 30 })
  await append(record(1))
  t.deepEqual(await collect(log, { offsets: false }), [])
  await onDrain()
  for (let i = 2; i <= 7; i++) await append(record(i))
  t.equal(log.since.value, 0)
  t.deepEqual(await collect(log, { offsets: false }), [1, 2, 3, 4, 5].map(record))
  await onDrain()
  t.equal((await collect(log)).length, 7)
  await store()
  await close()
})

tape('a live stream gives what is stored, then what is appended, as `since` says', async (t) => {
  const { log, offsets, append, onDrain, close } = await filled(t)
  const given = []
  let hasEnded = false
  log.stream({ live: true, values: false, gt: offsets[7] }).pipe({ paused: false, write: (offset) => { given.push(offset) }, end: (err) => { hasEnded = err === null } })
  t.deepEqual(given, offsets.slice(8))
  const next = await append(record(11))
  t.equal(given.length, 2, 'not at once')
  await onDrain()
  t.deepEqual(given, [...offsets.slice(8), next], 'before `onDrain` calls back')
  t.equal(log.streams.size, 1)
  await close()
  t.ok(hasEnded, 'closing the log ends it without an error')
  t.equal(log.streams.size, 0)
})

tape('a live stream of an empty log waits for its first record', async (t) => {
  const { log, store, close } = openLog(testFolder(t)('log'))
  const given = []
  log.stream({ live: true, gt: -1, offsets: false }).pipe({ paused: false, write: (value) => { given.push(value) } })
  await store(record(1))
  t.deepEqual(given, [record(1)])
  await close()
})

tape('a sink that pauses gets nothing until it calls `resume`, and calling that again changes nothing', async (t) => {
  const { log, offsets, close } = await filled(t)
  const given = []
  const ended = new Promise((resolve) => {
    const sink = {
      paused: false,
      write (offset) {
        t.notOk(sink.paused)
        given.push(offset)
        sink.paused = true
        setImmediate(() => {
          sink.paused = false
          sink.source.resume()
          sink.source.resume()
        })
      },
      end: resolve
    }
    const stream = log.stream({ values: false })
    stream.pipe(sink)
    t.equal(stream.sink, sink)
  })
  await ended
  t.deepEqual(given, offsets)
  await close()
})

tape('an aborted stream ends its sink, once, and gives nothing any more', async (t) => {
  const { log, close } = await filled(t)
  const given = []
  let ends = 0
  const stream = log.stream({})
  stream.pipe({ paused: false, write: (item) => { given.push(item); stream.abort() }, end: () => { ends++ } })
  t.equal(given.length, 1)
  t.equal(ends, 1)
  stream.resume()
  stream.abort()
  t.equal(given.length, 1)
  t.equal(ends, 1)
  t.equal(log.streams.size, 0)
  await close()
})

tape('members can be replaced, and called by themselves', async (t) => {
  const { log, close } = await filled(t)
  const { stream, get } = log
  log.stream = (options) => stream({ ...options, limit: 2 })
  log.get = (offset, cb) => get(offset, (err, data) => cb(err, data && data[0]))
  t.equal((await collect(log)).length, 2)
  t.equal(await new Promise((resolve, reject) => log.get(0, (err, data) => err ? reject(err) : resolve(data))), 1)
  await close()
})

tape('what a sink or a listener throws is thrown once, and other streams, `onDrain` and the next appends go on', async (t) => {
  const { log, offsets, store, compact, close } = await filled(t)
  const thrown = []
  const catching = (err) => { thrown.push(err.message) }
  process.on('uncaughtException', catching)
  const given = [[], []]
  log.stream({ live: true, offsets: false, gt: offsets[9] }).pipe({ paused: false, write: ([i]) => { given[0].push(i); if (i === 11) throw new Error('sink') } })
  log.stream({ live: true, offsets: false, gt: offsets[9] }).pipe({ paused: false, write: ([i]) => { given[1].push(i) } })
  log.since((offset) => { if (offset > offsets[9]) throw new Error('since') })
  await store(record(11), record(12))
  await store(record(13))
  // one that is not live goes on, too
  const rest = []
  let hasThrown = false
  const ended = new Promise((resolve) => {
    const sink = { paused: false, write: ([i]) => { if (i === 5) throw new Error('write'); rest.push(i) }, end: resolve }
    try {
      log.stream({ offsets: false }).pipe(sink)
    } catch (err) {
      hasThrown = err.message === 'write'
    }
  })
  await ended
  t.ok(hasThrown)
  t.deepEqual(rest, [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13])
  await compact()
  process.off('uncaughtException', catching)
  t.deepEqual(given, [[11, 12, 13], [11, 12, 13]])
  t.deepEqual([...new Set(thrown)].sort(), ['since', 'sink'])
  t.equal(thrown.filter(message => message === 'sink').length, 1)
  await close()
})

tape('what `end` of a sink throws keeps neither a compaction nor `close` from calling back', async (t) => {
  const { log, offsets, del, close } = await filled(t)
  await del(offsets[1])
  const broken = { paused: true, write () {}, end () { throw new Error('end') } }
  const stream = log.stream({ gt: offsets[8] })
  stream.pipe(broken)
  const ended = []
  const thrown = await uncaughtDuring(async () => {
    const compacted = new Promise(resolve => log.compact(resolve))
    broken.paused = false
    stream.resume()
    t.equal(await compacted, null)
    for (const name of ['first', 'second']) log.stream({ live: true }).pipe({ paused: false, write () {}, end () { ended.push(name); throw new Error('end') } })
    await close()
    await new Promise(setImmediate)
  })
  t.deepEqual(ended, ['first', 'second'])
  t.deepEqual(thrown.map(({ message }) => message), ['end', 'end', 'end'])
})

tape('a sink that throws at the last record of a limit gets no more', async (t) => {
  const { log, close } = await filled(t)
  const given = []
  const stream = log.stream({ limit: 2, offsets: false })
  await new Promise((resolve) => {
    t.throws(() => stream.pipe({ paused: false, write: ([i]) => { given.push(i); if (i === 2) throw new Error('write') }, end: resolve }), /write/)
  })
  t.deepEqual(given, [1, 2])
  await close()
})
