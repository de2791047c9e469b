'use strict'

// What readers of a stream give, and what they keep, whatever happens between two requests. The server is simulated.

const test = require('tape')
const { scan } = require('../lib/read/scan')
const { search } = require('../lib/read/search')
const { StreamLog } = require('../lib/stream-log')
const { SimulatedStream, read, readAll } = require('./helpers/simulated-stream')
const { uncaughtDuring } = require('../../../test/helpers/uncaught')

const LARGE = Buffer.alloc(256 * 1024)
/** A window, and the last answer to a request for it, in each of two halves. */
const MOST_BYTES = 4.5 * 1024 * 1024
const data = Buffer.from('a')
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const turn = () => new Promise(resolve => setImmediate(resolve))

test('a window of large records has few of them, forward and backward, also where small ones were before', async (t) => {
  for (const reverse of [false, true]) {
    const stream = new SimulatedStream()
    stream.append(data, 300)
    stream.append(LARGE, 300)
    stream.append(data, 300)
    const batches = await readAll(stream.batches({ reverse }))
    t.equal(batches.pop(), true)
    const sizes = batches.map(batch => batch.reduce((sum, { value }) => sum + value.length, 0))
    t.ok(Math.max(...sizes) <= MOST_BYTES, `${Math.max(...sizes)} bytes in a window`)
    const seqs = batches.flat().map(({ seq }) => seq)
    t.deepEqual(reverse ? seqs.reverse() : seqs, numbers(1, 900))
    t.ok(stream.requests < 300, `${stream.requests} requests`)
  }
})

test('a scan gives each record once, and does not look through what is purged', async (t) => {
  for (const reverse of [false, true]) {
    const stream = new SimulatedStream()
    Object.assign(stream, { first: 1_000_001, last: 1_000_000 })
    stream.append(LARGE, 30)
    stream.append(data, 3000)
    const seqs = []
    const range = { min: -Infinity, max: Infinity, reverse }
    await scan(stream.reader, /** @type {any} */ (range), (block, start, end, seq) => { seqs.push(seq) })
    t.deepEqual(reverse ? seqs.reverse() : seqs, numbers(1_000_001, 1_003_030))
    t.ok(stream.requests < 50, `${stream.requests} requests`)
  }
})

test('the record before a position is found in few requests, and few bytes, also behind many that are deleted', async (t) => {
  const stream = new SimulatedStream()
  stream.append(LARGE, 500)
  const kept = stream.from(1)
  stream.last += 1_000_000
  t.equal((await stream.reader.previous(stream.last + 1)).seq, 500)
  t.ok(stream.requests < 100, `${stream.requests} requests`)
  t.ok(stream.given < 50, `${stream.given} records`)
  for (const seq of kept) if (seq % 7 !== 1 && (seq < 100 || seq > 300)) stream.messages.delete(seq)
  for (let seq = 501; seq > 1; seq -= 3) t.equal((await stream.reader.previous(seq)).seq, stream.from(1).filter(n => n < seq).at(-1))
  t.equal(await stream.reader.previous(1), null)
  stream.loseAfter(499)
  for (const seq of stream.from(1)) stream.messages.delete(seq)
  stream.first = 500
  t.equal(await stream.reader.previous(500), null)
})

test('a search of a log of which the last records are deleted takes few requests', async (t) => {
  const stream = new SimulatedStream()
  stream.append(data, 500)
  stream.last += 100_000
  const foundOf = (/** @type {{ seq: number }} */ { seq }) => ({ seq, value: seq })
  t.equal((await search(stream.reader, foundOf, (/** @type {number} */ seq) => seq - 400)).seq, 400)
  t.ok(stream.requests < 50, `${stream.requests} requests`)
})

test('a stream that reads what the server has lost goes on where the stream ends', async (t) => {
  for (const reverse of [false, true]) {
    const stream = new SimulatedStream()
    stream.append(data, 10)
    stream.loseAfter(8)
    // the log learns that over a new connection
    stream.onleader = () => { stream.known = 8 }
    const source = stream.stream({ live: true, values: false, reverse })
    const seqs = []
    while (seqs.length < 8) seqs.push(await read(source))
    t.deepEqual(reverse ? seqs.reverse() : seqs, numbers(1, 8))
    const next = read(source)
    await turn()
    stream.onleader = () => {}
    stream.append(data, 3)
    t.equal(await next, reverse ? 11 : 9)
    if (!reverse) t.deepEqual([await read(source), await read(source)], [10, 11])
    await new Promise(resolve => source(true, resolve))
  }
})

test('a record that is appended while the end of the stream is asked for is not skipped', async (t) => {
  const stream = new SimulatedStream()
  stream.append(data, 10)
  stream.loseAfter(8)
  stream.onleader = () => { stream.known = 8 }
  const { manager } = stream.connection
  const { getMessage } = manager.streams
  manager.streams.getMessage = async (name, query) => {
    const found = await getMessage(name, query)
    if (stream.last === 8) stream.append(data)
    stream.onleader = () => {}
    return found
  }
  const source = stream.stream({ live: true, values: false })
  const seqs = []
  while (seqs.length < 9) seqs.push(await read(source))
  t.deepEqual(seqs, numbers(1, 9))
})

test('a stream with a lower bound after what the server has lost does not give what is before it', async (t) => {
  const stream = new SimulatedStream()
  stream.append(data, 10)
  stream.loseAfter(5)
  stream.onleader = () => { stream.known = 5 }
  const source = stream.stream({ live: true, values: false, gt: 8 })
  const next = read(source)
  for (let i = 0; i < 5; i++) await turn()
  stream.onleader = () => {}
  stream.append(data, 4)
  t.equal(await next, 9)
})

test('a log does not wait, when it is closed, for a reader that has thrown', async (t) => {
  const stream = new SimulatedStream()
  stream.append(data, 2)
  const source = stream.stream({ live: true })
  const thrown = await uncaughtDuring(async () => {
    await new Promise(resolve => source(null, () => {
      resolve(undefined)
      throw new Error('of the reader')
    }))
    await turn()
  })
  t.deepEqual(thrown.map(({ message }) => message), ['of the reader'])
  t.equal(stream.tails.cursors.size, 0)
  const { tails } = stream
  const log = { tails, whenFresh: (/** @type {(err: null) => void} */ cb) => cb(null) }
  t.throws(() => StreamLog.prototype.whenStarted.call(log, () => { throw new Error('of the reader') }), /of the reader/)
  t.equal(tails.cursors.size, 0)
})
