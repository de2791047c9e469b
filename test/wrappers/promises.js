'use strict'

// The log with promises and async iterators: it returns what the log with callbacks returns,
// and leaving a loop in any way closes its stream.

const fs = require('fs')
const { getEventListeners } = require('events')
const Flume = require('flumedb')
const tape = require('tape')
const { open, wrap } = require('../../promises')
const FlumeLog = require('../..')
const { newFile, testFolder } = require('../helpers/folder')
const { collect, codeOf, isSame } = require('../helpers/reading')
const { strictSource } = require('../helpers/strict-source')

const json = {
  encode: value => JSON.stringify(value),
  decode: text => JSON.parse(text),
  buffer: false
}

tape('open resolves to an open log, and rejects if the log cannot be opened', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { codec: json })
  t.equal(log.flumelog.since.value, -1)
  t.equal(log.filename, file)
  t.equal(await codeOf(open(file)), 'flumelog:locked', 'it is locked')
  await log.close()
  t.equal(await codeOf(open(file + '-missing', { readOnly: true })), 'ENOENT')
  t.equal(await codeOf(open(file, { codec: json, blockSize: 32, sync: 'sometimes' })), 'flumelog:invalid', 'options that make no sense')
  t.equal(await codeOf(open()), 'flumelog:invalid')
  const again = await open(file, { codec: json })
  await again.close()
})

tape('wrap refuses what is no log with callbacks', async (t) => {
  const log = await open(newFile())
  const db = Flume(log.flumelog)
  for (const wrong of [undefined, null, 5, 'log', {}, log, db]) t.throws(() => wrap(wrong), { code: 'flumelog:invalid', message: /^wrap takes a log with callbacks/ })
  t.equal(await wrap(log.flumelog).ready(), null, 'one under flumedb is')
  await log.close()
})

tape('each call resolves to what its callback receives', async (t) => {
  const log = await open(newFile(), { codec: json, blockSize: 128 })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await log.append({ i }))
  t.equal(await log.get(seqs[7]).then(({ i }) => i), 7)
  t.deepEqual(await log.getPrevious(seqs[7]), { seq: seqs[6], value: { i: 6 } })
  t.deepEqual(await log.search(({ i }) => i - 13), { seq: seqs[13], value: { i: 13 } })
  const last = await log.append([{ i: 20 }, { i: 21 }])
  t.deepEqual(await log.get(last), { i: 21 }, 'of several records, the last one\'s seq')
  const batch = await log.append([{ i: 22 }, { i: 23 }], { atomic: true })
  t.deepEqual(await Promise.all(batch.map(seq => log.get(seq))), [{ i: 22 }, { i: 23 }], 'of an atomic batch, all seqs')
  await log.append({ i: 24 }, { sync: true })
  t.equal(await log.del([seqs[3], seqs[4]]), undefined)
  await log.sync()
  t.equal(log.flumelog.stats().unsynced, 0)

  t.equal(await codeOf(log.get(seqs[3])), 'flumelog:deleted')
  t.equal(await codeOf(log.get(seqs[7] + 1)), 'flumelog:not-found')
  t.equal(await codeOf(log.getPrevious(0)), 'flumelog:not-found')
  t.equal(await codeOf(log.search(() => -1)), 'flumelog:not-found')
  t.equal(await codeOf(log.del(-1)), 'flumelog:invalid')
  t.equal(await codeOf(log.append({ toJSON () { throw new Error('not to be stored') } })), 'flumelog:invalid')
  await log.close()
  t.equal(await codeOf(log.append({ i: 25 })), 'flumelog:closed')
  t.equal(await codeOf(log.sync()), 'flumelog:closed')
  t.equal(await codeOf(log.close()), 'no error, but undefined', 'to close twice is no error')
})

tape('get rejects with what the codec throws, also if the record is in memory', async (t) => {
  const file = testFolder(t)('log')
  const plain = await open(file)
  const seqs = [await plain.append('{"whole":true}'), await plain.append('{"whole":')]
  await plain.close()
  const log = await open(file, { codec: json })
  for (const when of ['from the file', 'from memory']) {
    t.deepEqual(await log.get(seqs[0]), { whole: true }, when)
    t.equal(await codeOf(log.get(seqs[1])), 'flumelog:corrupt', when)
  }
  await log.close()
})

tape('ready, drained and scan are what onReady, onDrain and scan of the log with callbacks are', async (t) => {
  const file = testFolder(t)('log')
  const log = wrap(FlumeLog(file))
  t.equal(await log.ready(), null)
  const appending = log.append(['one', 'two', 'three'])
  await log.drained()
  t.equal(log.stats().inFlight.records, 0)
  await appending
  const found = []
  const onRecord = (block, start, end, seq) => { found.push([seq, block.toString('utf8', start, end)]) }
  t.equal(await log.scan({ gt: 0, reverse: true }, onRecord), undefined)
  t.deepEqual(found, [[14, 'three'], [7, 'two']])
  const thrown = new Error('from onRecord')
  t.equal(await log.scan({}, () => { throw thrown }).catch(err => err), thrown)
  t.equal(await codeOf(log.scan({})), 'flumelog:invalid', 'a missing onRecord rejects')
  t.equal(await codeOf(log.scan({ gt: 'x' }, onRecord)), 'flumelog:invalid')
  t.deepEqual([log.blockSize, log.highWaterMark], [65536, 16 * 1024 * 1024])
  t.equal(log.codec, log.flumelog.codec)
  await log.close()
  t.deepEqual([await codeOf(log.ready()), await codeOf(log.drained()), await codeOf(log.scan({}, onRecord))], Array(3).fill('flumelog:closed'))

  fs.appendFileSync(file, 'torn')
  const again = wrap(FlumeLog(file))
  t.deepEqual(await again.ready(), again.stats().cut)
  await again.close()
  t.equal(await codeOf(wrap(FlumeLog(`${file}/missing/log`, { readOnly: true })).ready()), 'ENOTDIR')
})

tape('wrap adds promises to a log that was opened with callbacks', async (t) => {
  const flumelog = FlumeLog(newFile(), { codec: json })
  const log = wrap(flumelog)
  t.equal(log.flumelog, flumelog)
  t.equal(await log.append('one'), 0, 'also while it is being opened')
  t.deepEqual(await all(log.stream()), [{ seq: 0, value: 'one' }])
  await log.close()
})

tape('Symbol.asyncDispose closes the log', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file)
  await log.append('one')
  await log[Symbol.asyncDispose]()
  t.equal(await codeOf(log.append('two')), 'flumelog:closed')
  const again = await open(file)
  t.equal(String(await again.get(0)), 'one')
  await again.close()
})

tape('a loop over stream yields the same as the pull-stream, with its options', async (t) => {
  const log = await logOf(60)
  const { seq } = (await collect(log.flumelog))[30]
  for (const options of [undefined, { reverse: true }, { gt: seq, limit: 20 }, { values: false }, { seqs: false, lte: seq, cache: false }, { gt: Infinity }]) {
    t.deepEqual(await all(log.stream(options)), await collect(log.flumelog, options), JSON.stringify(options))
  }
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('concurrent calls of next are answered in order', async (t) => {
  const log = await open(newFile(), { codec: json, blockSize: 64 })
  await log.append(numbers(0, 50))
  const walk = log.stream({ seqs: false, live: true })
  const early = Array.from({ length: 60 }, () => walk.next())
  await log.append(numbers(50, 70))
  const late = Array.from({ length: 10 }, () => walk.next())
  const given = await Promise.all([...early, ...late])
  t.deepEqual(given.map(({ value }) => value), numbers(0, 70))
  const waiting = [walk.next(), walk.next()]
  t.deepEqual(await walk.return(), { value: undefined, done: true })
  t.deepEqual(await Promise.all(waiting), Array(2).fill({ value: undefined, done: true }), 'return answers those that wait')
  t.deepEqual(await walk.next(), { value: undefined, done: true })
  await log.close()
})

tape('a stream is closed however the loop is left: before the first record, in the middle, or while waiting', async (t) => {
  const log = await logOf(10)
  const reason = new Error('enough')
  const endings = {
    return: (walk) => walk.return(),
    throw: (walk) => walk.throw(reason),
    dispose: (walk) => walk[Symbol.asyncDispose](),
    signal: (_, controller) => controller.abort(reason)
  }
  const results = {
    return: { status: 'fulfilled', value: { value: undefined, done: true } },
    throw: { status: 'rejected', reason },
    dispose: { status: 'fulfilled', value: undefined },
    signal: { status: 'fulfilled', value: undefined }
  }
  const over = { status: 'fulfilled', value: { value: undefined, done: true } }
  for (const [name, end] of Object.entries(endings)) {
    for (const [moment, taken] of [['before its first record', 0], ['in the middle', 5], ['while it waits', 10]]) {
      const controller = new AbortController()
      const walk = log.stream({ live: true, signal: controller.signal })
      for (let n = 0; n < taken; n++) await walk.next()
      const waiting = taken === 10 ? [walk.next()] : []
      t.equal(log.flumelog.stats().streams, taken === 0 ? 0 : 1)
      const [ended] = await Promise.allSettled([end(walk, controller)])
      t.deepEqual(ended, results[name], `${name}, ${moment}`)
      t.equal(log.flumelog.stats().streams, 0, 'the walk is freed')
      t.equal(getEventListeners(controller.signal, 'abort').length, 0, 'and the signal')
      const [first, second] = await Promise.allSettled([...waiting, walk.next(), walk.next()])
      t.deepEqual(first, name === 'signal' ? { status: 'rejected', reason } : over)
      t.deepEqual(second, over)
    }
  }
  await log.close()
})

tape('a signal aborted while the log is being opened ends the loop', async (t) => {
  const log = wrap(FlumeLog(newFile()))
  const controller = new AbortController()
  const asked = log.stream({ live: true, signal: controller.signal }).next()
  controller.abort()
  await asked.then(() => t.fail('it was given a record'), (err) => t.equal(err.name, 'AbortError'))
  await log.append('one')
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('two loops over one iterator share its records, and leaving one of them ends both', async (t) => {
  const log = await logOf(10)
  const walk = log.stream({ seqs: false })
  const given = [[], []]
  await Promise.all(given.map(async (mine) => { for await (const value of walk) mine.push(value) }))
  t.deepEqual(given.flat().sort((a, b) => a - b), numbers(0, 10), 'each comes once')
  const again = log.stream({ seqs: false })
  for await (const value of again) if (value === 3) break
  t.deepEqual(await all(again), [])
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('an exception from a function in the options is thrown in the loop, and closes the stream', async (t) => {
  const decode = (text) => { if (text === '5') throw new Error('no such number'); return JSON.parse(text) }
  const log = await open(newFile(), { codec: { ...json, decode }, validate: () => true })
  await log.append(numbers(0, 10))
  const thrown = new Error('thrown by onSkip')
  const given = []
  try {
    for await (const value of log.stream({ seqs: false, skipCorrupt: true, onSkip () { throw thrown } })) given.push(value)
    t.fail('it was not thrown')
  } catch (err) {
    t.equal(err, thrown)
  }
  t.deepEqual(given, numbers(0, 5))
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('options may be null, and a signal may be of another realm, but anything else is an error', async (t) => {
  const log = await logOf(2)
  t.equal((await all(log.stream(null))).length, 2)
  t.equal((await all(log.batches(null))).flat().length, 2)
  const foreign = Object.assign(new EventTarget(), { aborted: false, reason: new Error('enough') })
  const walk = log.stream({ live: true, signal: foreign })
  const given = await walk.next()
  foreign.dispatchEvent(new Event('abort'))
  t.equal(given.done, false)
  t.equal(await walk.next().catch(err => err), foreign.reason)
  for (const create of ['stream', 'batches']) {
    for (const signal of [null, 'soon', {}]) t.throws(() => log[create]({ signal }), (err) => err.code === 'flumelog:invalid', `${create} with ${signal}`)
  }
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('a stream reads nothing before the first record is requested', async (t) => {
  const log = await logOf(10)
  const controller = new AbortController()
  log.stream({ live: true, signal: controller.signal })
  t.equal(log.flumelog.stats().streams, 0)
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  await log.close()
})

tape('a signal ends the loop with its reason, and has no listeners when the loop has ended', async (t) => {
  const log = await logOf(100)
  const { flumelog } = log
  const reason = new Error('enough')

  const controller = new AbortController()
  const { signal } = controller
  let seen = 0
  try {
    for await (const { value } of log.stream({ live: true, signal })) {
      seen++
      if (value === 49) controller.abort(reason)
    }
    t.fail('the loop ended without an error')
  } catch (err) {
    t.equal(err, reason)
  }
  t.equal(seen, 50, 'no record was given after the signal')
  t.equal(flumelog.stats().streams, 0)
  t.equal(getEventListeners(signal, 'abort').length, 0)

  const before = log.stream({ signal })
  await before.next().then(() => t.fail('it was given a record'), (err) => t.equal(err, reason, 'a signal that came before'))
  t.deepEqual(await before.next(), { value: undefined, done: true }, 'an error is given once')
  t.equal(flumelog.stats().streams, 0)

  const other = new AbortController()
  const waiting = log.stream({ old: false, signal: other.signal })
  const pending = [waiting.next(), waiting.next()]
  await log.append('a live one')
  t.equal((await pending[0]).value.value, 'a live one')
  other.abort()
  await pending[1].then(() => t.fail('it was given a record'), (err) => t.equal(err.name, 'AbortError', 'a walk that waits'))
  t.equal(flumelog.stats().streams, 0)

  const unused = new AbortController()
  for await (const { value } of log.stream({ signal: unused.signal, limit: 2 })) {
    t.equal(getEventListeners(unused.signal, 'abort').length, 1, `in the loop, at record ${value}`)
  }
  t.equal(getEventListeners(unused.signal, 'abort').length, 0, 'after the end')
  for await (const { value } of log.stream({ signal: unused.signal })) if (value === 1) break
  t.equal(getEventListeners(unused.signal, 'abort').length, 0, 'after break')
  t.throws(() => log.stream({ signal: 'soon' }), /signal must be an AbortSignal; it is 'soon'/)
  await log.close()
})

tape('a signal aborted while a record is decoded ends the loop', async (t) => {
  const controller = new AbortController()
  const decode = (text) => {
    if (text === '"30"') controller.abort()
    return JSON.parse(text)
  }
  const log = await open(newFile(), { codec: { ...json, decode }, validate: () => true })
  await log.append(numbers(0, 60).map(String))
  const walk = log.stream({ seqs: false, signal: controller.signal })
  const given = await Promise.allSettled(Array.from({ length: 60 }, () => walk.next()))
  t.deepEqual(given.slice(0, 30).map(({ value }) => value.value), numbers(0, 30).map(String))
  t.equal(given[30].reason.name, 'AbortError')
  t.ok(given.slice(31).every(({ value }) => value.done), 'the rest is told that it is over')
  t.equal(log.flumelog.stats().streams, 0)
  await log.close()
})

tape('a signal aborted while a record is decoded answers all pending calls of next', async (t) => {
  const controller = new AbortController()
  const decode = (text) => {
    if (text === '3') controller.abort()
    return JSON.parse(text)
  }
  const log = await open(newFile(), { codec: { ...json, decode } })
  const walk = log.stream({ live: true, seqs: false, signal: controller.signal })
  const waiting = Promise.allSettled(Array.from({ length: 6 }, () => walk.next()))
  await log.append(numbers(0, 6))
  const given = await waiting
  t.deepEqual(given.slice(0, 3).map(({ value }) => value.value), [0, 1, 2])
  t.equal(given[3].reason.name, 'AbortError')
  t.ok(given.slice(4).every(({ value }) => value.done))
  await log.close()
})

tape('a loop never reads its pull-stream concurrently, or after its end', async (t) => {
  const log = await open(newFile(), { codec: json })
  const strict = wrap({ ...log.flumelog, stream: (options) => strictSource(t, log.flumelog.stream(options)) })
  const walk = strict.stream({ live: true, seqs: false })
  const waiting = Array.from({ length: 10 }, () => walk.next())
  for (const value of numbers(0, 10)) await log.append(value)
  t.deepEqual((await Promise.all(waiting)).map(({ value }) => value), numbers(0, 10))
  await walk.return()
  await walk.return()
  await walk.next()
  t.equal((await all(strict.stream())).length, 10)
  await log.close()
})

tape('deletions, appends and close in a loop body are reflected in what it receives next', async (t) => {
  const log = await logOf(20)
  const records = await collect(log.flumelog)
  const given = []
  for await (const { value } of log.stream({ live: true })) {
    given.push(value)
    if (value === 3) await log.del([records[4].seq, records[6].seq])
    if (value === 10) await log.append(20)
    if (value === 20) log.flumelog.close()
  }
  t.deepEqual(given, numbers(0, 21).filter(n => n !== 4 && n !== 6), 'a live loop that has seen all ends well when the log is closed')
  const closed = log.stream()
  t.equal(await codeOf(closed.next()), 'flumelog:closed')
})

tape('an error of the stream is thrown in the loop, after the records before it', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { blockSize: 64 })
  for (let i = 0; i < 40; i++) await log.append(`record ${i}`)
  const damaged = { ...json, decode: (text) => text.endsWith('20') ? JSON.parse(text) : text, encode: text => text }
  await log.close()
  const again = await open(file, { codec: damaged, readOnly: true })
  const given = []
  let code
  try {
    for await (const { value } of again.stream()) given.push(value)
  } catch (err) {
    code = err.code
  }
  t.equal(code, 'flumelog:corrupt')
  t.deepEqual(given, numbers(0, 20).map(i => `record ${i}`))
  t.equal(again.flumelog.stats().streams, 0)
  for (const [options, walk] of [[{ gt: 0.5 }, again.stream({ gt: 0.5 })], [{ limit: -0.5 }, again.stream({ limit: -0.5 })]]) {
    t.equal(await codeOf(walk.next()), 'flumelog:invalid', `options that make no sense: ${JSON.stringify(options)}`)
  }
  await again.close()
})

tape('more records than the stack has room for calls are yielded with a flat stack', async (t) => {
  const count = 30000
  const log = await logOf(count)
  let sum = 0
  for await (const value of log.stream({ seqs: false })) sum += value
  t.equal(sum, count * (count - 1) / 2)
  const walk = log.stream({ seqs: false })
  const given = await Promise.all(Array.from({ length: count + 1 }, () => walk.next()))
  t.ok(given.every(({ value, done }, i) => i === count ? done : value === i), 'also when they are all asked for at once')
  await log.close()
})

tape('a loop over batches yields the same as the pull-stream, and leaving it in any way closes the stream', async (t) => {
  const log = await logOf(100000)
  const open = () => log.flumelog.stats().streams
  for (const options of [{}, { reverse: true, limit: 70000 }, { seqs: false, gt: 1000 }, { values: false, lt: 5000 }]) {
    const batches = await all(log.batches(options))
    t.ok(batches.every(batch => batch.length > 0))
    t.ok(isSame(batches.flat(), await collect(log.flumelog, options)), JSON.stringify(options))
  }
  t.equal(open(), 0, 'after the end')
  for await (const batch of log.batches({ live: true, seqs: false })) {
    t.equal(open(), 1)
    if (batch.length > 0) break
  }
  t.equal(open(), 0, 'after break')
  const thrown = new Error('thrown in the loop')
  await (async () => { for await (const batch of log.batches()) if (batch.length > 0) throw thrown })()
    .then(() => t.fail('it was not thrown'), (err) => t.equal(err, thrown))
  t.equal(open(), 0, 'after throw')
  const controller = new AbortController()
  const { signal } = controller
  const read = []
  try {
    for await (const batch of log.batches({ live: true, seqs: false, signal })) {
      read.push(...batch)
      if (read.length === 100000) await log.append('the last')
      if (batch.includes('the last')) setImmediate(() => controller.abort())
    }
    t.fail('the loop ended without an error')
  } catch (err) {
    t.equal(err.name, 'AbortError')
  }
  t.ok(isSame(read, [...numbers(0, 100000), 'the last']), 'all records before the signal')
  t.equal(open(), 0, 'after the signal')
  t.equal(getEventListeners(signal, 'abort').length, 0)
  await log.close()
  t.equal(await codeOf(log.batches().next()), 'flumelog:closed')
})

async function logOf (count) {
  const log = await open(newFile(), { codec: json })
  await log.append(numbers(0, count))
  return log
}

async function all (iterable) {
  const items = []
  for await (const item of iterable) items.push(item)
  return items
}

function numbers (from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

tape('with old: false, iterators start where the log ended when they were made', async (t) => {
  const log = await open(newFile())
  await log.append('before')
  const iterator = log.stream({ old: false, seqs: false })
  const batches = log.batches({ old: false, seqs: false })
  await log.append('after')
  t.equal(String((await iterator.next()).value), 'after')
  t.deepEqual((await batches.next()).value.map(String), ['after'])
  await iterator.return()
  await batches.return()
  await log.close()
})
