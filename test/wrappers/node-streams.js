'use strict'

// The log as Node.js streams: what they pass, and backpressure in both directions.

const assert = require('assert/strict')
const { once } = require('events')
const { Readable, Writable } = require('stream')
const { pipeline } = require('stream/promises')
const tape = require('tape')
const fc = require('fast-check')
const { open, wrap } = require('../../promises')
const { ControlledFile } = require('../helpers/controlled-file')
const { newFile, testFolder } = require('../helpers/folder')
const { openHeld } = require('../helpers/hooked-file')
const { collect, codeOf, event } = require('../helpers/reading')
const { uncaughtDuring } = require('../helpers/uncaught')

const json = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

tape('records piped into a write stream are stored in order, all of them at finish', async (t) => {
  const log = await open(newFile(), { codec: json, blockSize: 1024 })
  const writing = log.createWriteStream()
  t.equal(writing.stored, null)
  await pipeline(Readable.from(numbers(0, 5000)), writing)
  const records = await collect(log.flumelog)
  t.deepEqual(records.map(({ value }) => value), numbers(0, 5000))
  t.deepEqual(writing.stored, { records: 5000, bytes: String(numbers(0, 5000)).length - 4999, seq: records[4999].seq })
  t.equal(log.flumelog.since.value, writing.stored.seq)

  const nothing = log.createWriteStream()
  await pipeline(Readable.from([]), nothing)
  t.deepEqual(nothing.stored, { records: 0, bytes: 0, seq: -1 }, 'also when it is nothing')

  const synced = log.createWriteStream({ sync: true })
  synced.end('the last')
  await once(synced, 'finish')
  t.equal(log.flumelog.stats().unsynced, 0, 'with sync, all of it is on the disk')
  await log.close()
})

tape('a write stream accepts records while the log is being opened', async (t) => {
  const file = testFolder(t)('log')
  const log = wrap(require('../..')(file, { codec: json }))
  const writing = log.createWriteStream()
  for (const value of [1, 2, 3]) writing.write(value)
  writing.end()
  await once(writing, 'finish')
  t.deepEqual(await collect(log.flumelog, { seqs: false }), [1, 2, 3])
  await log.close()
})

tape('a read stream yields the same as the pull-stream', async (t) => {
  const log = await logOf(300)
  const { seq } = (await collect(log.flumelog))[100]
  for (const options of [undefined, { reverse: true }, { gt: seq, limit: 50 }, { values: false }, { seqs: false, lte: seq }, { gt: Infinity }]) {
    t.deepEqual(await log.createReadStream(options).toArray(), await collect(log.flumelog, options), JSON.stringify(options))
  }
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('a write stream accepts no more than highWaterMark of the log permits, and continues when there is room', async (t) => {
  const { log, release } = await heldLog({ highWaterMark: 10000 })
  let made = 0
  const source = new Readable({ objectMode: true, read () { this.push(made === 1000 ? null : Buffer.alloc(100, ++made % 255 + 1)) } })
  const writing = log.createWriteStream()
  const stored = pipeline(source, writing)
  while (!writing.writableNeedDrain) await event(setImmediate)
  const { inFlight } = log.flumelog.stats()
  t.equal(inFlight.bytes, 10000, 'as many bytes are in flight')
  t.ok(made <= 100 + writing.writableHighWaterMark + source.readableHighWaterMark + 1, `${made} records were made; the rest is in the two streams`)
  release()
  await stored
  t.equal(made, 1000)
  t.deepEqual((await collect(log.flumelog, { seqs: false })).map(value => value[0]), numbers(1, 1001).map(n => n % 255 + 1))
  await log.close()
})

tape('records written to a write stream are stored in batches', async (t) => {
  const log = await open(newFile(), {})
  await pipeline(Readable.from(Array.from({ length: 20000 }, () => Buffer.alloc(100, 1))), log.createWriteStream())
  const { writes, written } = log.flumelog.stats()
  t.equal(written.records, 20000)
  t.ok(writes < 200, `${writes} writes to the file for 20000 to the stream`)
  await log.close()
})

tape('a read stream reads no further than its consumer', async (t) => {
  let decoded = 0
  const log = await open(newFile(), { codec: { ...json, decode: (text) => { decoded++; return JSON.parse(text) } } })
  await log.append(numbers(0, 5000))
  decoded = 0
  let taken = 0
  const held = []
  const slow = new Writable({
    objectMode: true,
    highWaterMark: 1,
    write (_, __, cb) {
      if (++taken === 100) held.push(cb)
      else cb()
    }
  })
  const reading = log.createReadStream()
  const done = pipeline(reading, slow)
  while (held.length === 0 || reading.readableLength < reading.readableHighWaterMark) await event(setImmediate)
  t.ok(decoded <= 100 + reading.readableHighWaterMark + 2, `${decoded} records were read when 100 were taken`)
  held[0]()
  await done
  t.equal(taken, 5000)
  await log.close()
})

tape('a read stream waits for live records', async (t) => {
  const log = await logOf(3)
  const reading = log.createReadStream({ live: true, seqs: false })
  const given = []
  for await (const value of reading) {
    given.push(value)
    if (value >= 2 && value < 5) log.append(value + 1)
    if (value === 5) break
  }
  t.deepEqual(given, [0, 1, 2, 3, 4, 5])
  t.equal(log.flumelog.stats().streams, 0, 'to leave the loop ended it')
  await log.close()
})

tape('an AbortSignal ends a pipeline out of the log', async (t) => {
  const log = await logOf(10)
  const controller = new AbortController()
  let count = 0
  const copying = pipeline(log.createReadStream({ live: true }), new Writable({
    objectMode: true,
    write (_, __, cb) {
      if (++count === 10) controller.abort()
      cb()
    }
  }), { signal: controller.signal })
  t.equal(await codeOf(copying), 'ABORT_ERR')
  t.equal(log.flumelog.stats().streams, 0)

  const own = new AbortController()
  const reading = log.createReadStream({ live: true, signal: own.signal })
  reading.resume()
  own.abort()
  const [err] = await once(reading, 'error')
  t.equal(err.code, 'ABORT_ERR', 'also one that was given to the stream')
  t.equal(log.flumelog.stats().streams, 0)
  for (const create of ['createReadStream', 'createWriteStream']) {
    const [err] = await once(log[create]({ signal: own.signal }), 'error')
    t.equal(err.code, 'ABORT_ERR', `also one that came before ${create}`)
  }
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('an AbortSignal ends a pipeline into the log, and accepted records are stored', async (t) => {
  const { log, release } = await heldLog({ highWaterMark: 5000, codec: json })
  const controller = new AbortController()
  const writing = log.createWriteStream()
  const copying = pipeline(Readable.from(numbers(1000, 100000)), writing, { signal: controller.signal })
  while (!writing.writableNeedDrain) await event(setImmediate)
  const { records } = log.flumelog.stats().inFlight
  t.ok(records > 0)
  controller.abort()
  release()
  t.equal(await codeOf(copying), 'ABORT_ERR')
  if (!writing.closed) await once(writing, 'close')
  t.equal(writing.stored.records, records)
  t.deepEqual(await collect(log.flumelog, { seqs: false }), numbers(1000, 1000 + records), 'without a gap')
  t.equal(typeof await log.append('one more'), 'number', 'the log goes on')
  await log.close()
})

tape('a record that cannot be stored ends the pipeline, and those before it are stored', async (t) => {
  const log = await open(newFile(), { codec: json })
  const cyclic = {}
  cyclic.self = cyclic
  const writing = log.createWriteStream()
  t.equal(await codeOf(pipeline(Readable.from([1, 2, 3, cyclic, 5, 6]), writing)), 'flumelog:invalid')
  if (!writing.closed) await once(writing, 'close')
  t.deepEqual(await collect(log.flumelog, { seqs: false }), [1, 2, 3])
  t.equal(await codeOf(pipeline(Readable.from(['x'.repeat(70000)]), log.createWriteStream())), 'flumelog:too-large')
  await log.close()
})

tape('a failed write ends the pipeline, and the log remains usable', async (t) => {
  const file = new ControlledFile()
  const log = wrap(file.open({ codec: json }).log)
  await log.append('before')
  file.code = 'ENOSPC'
  file.fail('write')
  const writing = log.createWriteStream()
  t.equal(await codeOf(pipeline(Readable.from(numbers(0, 100)), writing)), 'ENOSPC')
  if (!writing.closed) await once(writing, 'close')
  const { records } = writing.stored
  await log.append('after')
  t.equal((await collect(log.flumelog)).length, records + 2)
  await log.close()
})

tape('a write stream of a closed or read-only log fails with that error', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { codec: json })
  const idle = log.createWriteStream()
  idle.write('one')
  await log.sync()
  await log.close()
  idle.on('error', () => {})
  t.equal((await event(resolve => idle.write('two', resolve))).code, 'flumelog:closed', 'while it was idle')
  t.equal(await codeOf(pipeline(Readable.from([1]), log.createWriteStream())), 'flumelog:closed')
  t.equal(await codeOf(log.createReadStream().toArray()), 'flumelog:closed')
  const reader = await open(file, { codec: json, readOnly: true })
  t.equal(await codeOf(pipeline(Readable.from([1]), reader.createWriteStream())), 'flumelog:read-only')
  t.deepEqual(await reader.createReadStream({ seqs: false }).toArray(), ['one'])
  await reader.close()
})

tape('a read stream that is destroyed closes its pull-stream, in any state', async (t) => {
  const log = await logOf(1000)
  const streams = () => log.flumelog.stats().streams
  const reason = new Error('enough')
  const moments = {
    'before it was read': async () => {},
    'in the middle': async (reading) => { for (let n = 0; n < 100; n++) if (reading.read() === null) await once(reading, 'readable') },
    'while it waits for live records': async (reading) => {
      const seen = []
      reading.on('data', item => seen.push(item))
      while (seen.length < 1000) await event(setImmediate)
    }
  }
  for (const [moment, reach] of Object.entries(moments)) {
    for (const err of [undefined, reason]) {
      const reading = log.createReadStream({ live: true })
      const ended = new Promise(resolve => reading.on('error', resolve).on('close', () => resolve(undefined)))
      await reach(reading)
      t.equal(streams(), moment === 'before it was read' ? 0 : 1)
      reading.destroy(err)
      t.equal(await ended, err, `${moment}, ${err === undefined ? 'without' : 'with'} an error`)
      t.equal(streams(), 0)
    }
  }
  const unopened = wrap(require('../..')(newFile()))
  const reading = unopened.createReadStream({ live: true })
  reading.resume()
  await event(process.nextTick)
  reading.destroy()
  await unopened.append('one')
  t.equal(unopened.flumelog.stats().streams, 0, 'while the log is being opened')
  await unopened.close()
  await log.close()
})

tape('closing the log during a pipeline ends it with flumelog:closed, in both directions', async (t) => {
  const from = await logOf(10000)
  let taken = 0
  const slow = new Writable({
    objectMode: true,
    write (_, __, cb) {
      if (++taken === 100) from.close().then(() => cb())
      else setImmediate(cb)
    }
  })
  t.equal(await codeOf(pipeline(from.createReadStream(), slow)), 'flumelog:closed')
  t.ok(taken < 10000)

  const storage = newFile()
  const to = await open(storage, { codec: json })
  let closed
  const writing = to.createWriteStream()
  async function * endless () {
    for (let n = 0; ; n++) {
      if (n === 1000) closed = to.close()
      yield n
      if (n % 100 === 0) await event(setImmediate)
    }
  }
  t.equal(await codeOf(pipeline(endless, writing)), 'flumelog:closed')
  await closed
  const again = await open(storage, { codec: json })
  t.deepEqual(await collect(again.flumelog, { seqs: false }), numbers(0, writing.stored.records), 'what it says is stored is there')
  await again.close()
})

tape('however a write stream is used and ended, exactly the accepted records are stored', async (t) => {
  const steps = fc.array(fc.constantFrom('write', 'write', 'write', 'cork', 'uncork', 'turn', 'turn'), { maxLength: 50 })
  const ends = fc.constantFrom('end', 'destroy', 'destroy with an error')
  const marks = fc.record({ bytes: fc.constantFrom(1, 20, 300, 1e6), records: fc.constantFrom(1, 4, 16) })
  await fc.assert(fc.asyncProperty(steps, ends, marks, async (steps, end, { bytes, records }) => {
    const log = await open(newFile(), { codec: json, highWaterMark: bytes })
    const writing = log.createWriteStream({ highWaterMark: records })
    const closed = event(resolve => writing.on('close', resolve).on('error', () => {}))
    const outcomes = []
    for (const step of steps) {
      if (step === 'write') outcomes.push(event(resolve => writing.write(outcomes.length, resolve)))
      else if (step === 'turn') await event(setImmediate)
      else writing[step]()
    }
    if (end === 'end') writing.end()
    else writing.destroy(end === 'destroy' ? undefined : new Error('enough'))
    await closed
    const taken = (await Promise.all(outcomes)).flatMap((err, n) => err ? [] : [n])
    const stored = await collect(log.flumelog, { seqs: false })
    await log.close()
    if (end === 'end') assert.equal(stored.length, outcomes.length)
    assert.deepEqual(stored, taken)
    assert.equal(writing.stored.records, stored.length)
  }), { numRuns: 60 })
  t.pass('in 60 ways')
})

tape('a read stream passes on errors of the log', async (t) => {
  const log = await open(newFile(), { codec: { ...json, decode: (text) => text === '1' ? JSON.parse('{') : JSON.parse(text) }, validate: () => true })
  await log.append([0, 1, 2])
  t.equal(await codeOf(log.createReadStream().toArray()), 'flumelog:corrupt')
  t.equal(await codeOf(pipeline(log.createReadStream(), new Writable({ objectMode: true, write: (_, __, cb) => cb() }))), 'flumelog:corrupt', 'to a pipeline too')
  t.equal(await codeOf(log.createReadStream({ gt: 'now' }).toArray()), 'flumelog:invalid')
  t.equal(log.flumelog.stats().streams, 0)
  await log.append(null)
  t.deepEqual((await log.createReadStream({ reverse: true, limit: 1 }).toArray())[0].value, null)
  t.equal(await codeOf(log.createReadStream({ reverse: true, seqs: false }).toArray()), 'flumelog:invalid', 'null by itself would look like the end')
  await log.close()
})

async function logOf (count) {
  const log = await open(newFile(), { codec: json })
  await log.append(numbers(0, count))
  return log
}

/** A log whose writes wait until they are released. */
async function heldLog (options) {
  const { log, release } = openHeld(options)
  const wrapped = wrap(log)
  await wrapped.ready()
  return { log: wrapped, release }
}

tape('a read stream whose data listener throws goes on when it is resumed', async (t) => {
  for (const cacheSize of [0, 1 << 20]) {
    const file = testFolder(t)('log')
    const first = await open(file, { codec: json, blockSize: 64 })
    await first.append(numbers(0, 200))
    await first.close()
    const log = await open(file, { codec: json, cacheSize })
    const given = []
    const thrown = await uncaughtDuring(async () => {
      const reading = log.createReadStream({ seqs: false })
      reading.on('data', (value) => {
        given.push(value)
        if (value % 10 !== 3) return
        // Node.js itself may stop the flow of a stream whose listener throws
        setImmediate(() => reading.pause().resume())
        throw new Error(`thrown at ${value}`)
      })
      await once(reading, 'end')
    })
    t.deepEqual(given, numbers(0, 200))
    t.equal(thrown.length, 20)
    await log.close()
  }
})

function numbers (from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i)
}
