'use strict'

// `appendFrom`: appends what an iterable gives.

const { Readable } = require('stream')
const { pipeline } = require('stream/promises')
const { getEventListeners } = require('events')
const tape = require('tape')
const { open } = require('../../promises')
const { newFile, testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

const RECORDS = ['ada', 'grace', 'mary']

async function values (log) {
  const all = []
  for await (const value of log.stream({ seqs: false })) all.push(String(value))
  return all
}

/** Gives records, then waits for ever; tells what became of it. */
function stuck (records) {
  const source = { closed: 0, asked: 0 }
  source[Symbol.asyncIterator] = () => ({
    next: () => ++source.asked > records.length ? new Promise(() => {}) : Promise.resolve({ value: records[source.asked - 1], done: false }),
    return: () => { source.closed++; return Promise.resolve({ value: undefined, done: true }) }
  })
  return source
}

tape('appendFrom stores the records of any iterable, in order, and resolves to how many there were', async (t) => {
  async function * generator () {
    yield * RECORDS
  }
  const sources = { array: RECORDS, set: new Set(RECORDS), iterator: RECORDS.values(), generator: generator(), stream: Readable.from(RECORDS) }
  for (const [name, source] of Object.entries(sources)) {
    const log = await open(newFile())
    t.deepEqual(await log.appendFrom(source), { records: 3, bytes: 12, seq: 16 }, name)
    t.deepEqual(await values(log), RECORDS)
    await log.close()
  }
  const log = await open(newFile())
  t.deepEqual(await log.appendFrom([]), { records: 0, bytes: 0, seq: -1 })
  await log.close()
})

tape('appendFrom is the end of a pipeline', async (t) => {
  const log = await open(newFile())
  const stored = await pipeline(Readable.from(RECORDS), async function * (names) {
    for await (const name of names) yield name.toUpperCase()
  }, (names) => log.appendFrom(names))
  t.equal(stored.records, 3)
  t.deepEqual(await values(log), RECORDS.map(name => name.toUpperCase()))
  await log.close()
})

tape('with sync, the records are fsynced when appendFrom resolves', async (t) => {
  const log = await open(testFolder(t)('log'), { sync: 'never' })
  await log.appendFrom(RECORDS)
  t.ok(log.stats().unsynced > 0)
  await log.appendFrom(RECORDS, { sync: true })
  t.equal(log.stats().unsynced, 0)
  await log.close()
})

tape('appendFrom reads no further than highWaterMark allows', async (t) => {
  const log = await open(testFolder(t)('log'), { highWaterMark: 1000 })
  let most = 0
  function * many () {
    for (let i = 0; i < 20000; i++) {
      most = Math.max(most, log.stats().inFlight.bytes)
      yield 'x'.repeat(50)
    }
  }
  t.equal((await log.appendFrom(many())).records, 20000)
  t.ok(most <= 1050, `${most} bytes in flight`)
  await log.close()
})

tape('when the iterable fails, the records before are stored, and appendFrom rejects with its error', async (t) => {
  const log = await open(newFile())
  const reason = new Error('no more')
  async function * later () {
    yield 'one'
    throw reason
  }
  function * atOnce () {
    yield 'two'
    throw reason
  }
  t.equal(await log.appendFrom(later()).catch(err => err), reason)
  t.equal(await log.appendFrom(atOnce()).catch(err => err), reason)
  t.equal(await codeOf(log.appendFrom((function * () { throw undefined })())), 'flumelog:invalid') // eslint-disable-line no-throw-literal
  t.deepEqual(await values(log), ['one', 'two'])
  await log.close()
})

tape('when a record cannot be stored, those before are, and the iterable is closed', async (t) => {
  const log = await open(newFile())
  for (const isAsync of [false, true]) {
    let isClosed = false
    function * source () {
      try {
        yield * ['one', '', 'three']
      } finally {
        isClosed = true
      }
    }
    const iterable = isAsync ? Readable.from(source()) : source()
    t.equal(await codeOf(log.appendFrom(iterable)), 'flumelog:invalid')
    await new Promise(resolve => setImmediate(resolve))
    t.ok(isClosed)
  }
  t.deepEqual(await values(log), ['one', 'one'])
  await log.close()
})

tape('a signal ends appendFrom with its reason, also while it waits for the iterable, and closes that', async (t) => {
  const log = await open(newFile())
  const controller = new AbortController()
  const source = stuck(RECORDS)
  const appending = log.appendFrom(source, { signal: controller.signal }).catch(err => err)
  while (source.asked < 4) await new Promise(resolve => setImmediate(resolve))
  controller.abort('enough')
  t.equal(await appending, 'enough')
  t.equal(source.closed, 1)
  t.deepEqual(await values(log), RECORDS, 'what was read is stored')
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  const unread = stuck(RECORDS)
  t.equal(await log.appendFrom(unread, { signal: controller.signal }).catch(err => err), 'enough')
  t.equal(unread.asked, 0, 'one that was aborted before reads nothing')
  await log.close()
})

tape('appendFrom rejects when the log is closed, also while it waits for the iterable, and closes that', async (t) => {
  const log = await open(newFile())
  const { signal } = new AbortController()
  const source = stuck(RECORDS)
  const stream = new Readable({ objectMode: true, read () {} })
  stream.push('a record')
  const appending = [codeOf(log.appendFrom(source, { signal })), codeOf(log.appendFrom(stream))]
  while (source.asked < 4 || log.stats().written.records < 4) await new Promise(resolve => setImmediate(resolve))
  await log.close()
  t.deepEqual(await Promise.all(appending), ['flumelog:closed', 'flumelog:closed'])
  t.equal(source.closed, 1)
  t.ok(stream.destroyed)
  t.equal(getEventListeners(signal, 'abort').length, 0)
  t.equal(await codeOf(log.appendFrom(RECORDS)), 'flumelog:closed')
})

tape('what is no iterable of records is flumelog:invalid', async (t) => {
  const log = await open(newFile())
  for (const wrong of [undefined, null, 5, {}, 'a record', Buffer.from('a record'), () => {}]) {
    t.equal(await codeOf(log.appendFrom(wrong)), 'flumelog:invalid', String(wrong))
  }
  t.equal(await codeOf(log.appendFrom(RECORDS, { signal: true })), 'flumelog:invalid')
  t.equal(await codeOf(log.appendFrom(RECORDS, 5)), 'flumelog:invalid')
  t.equal(log.stats().appended.records, 0)
  await log.close()
})

tape('appendFrom rejects with what is wrong with an iterator', async (t) => {
  const log = await open(newFile())
  const reason = new Error('a getter')
  const results = { nothing: undefined, number: 5, done: { get done () { throw reason } }, value: { done: false, get value () { throw reason } } }
  for (const [name, result] of Object.entries(results)) {
    const expected = typeof result === 'object' ? reason : 'flumelog:invalid'
    const ended = ({ code, ...err }) => code ?? err
    const sync = await log.appendFrom({ [Symbol.iterator]: () => ({ next: () => result }) }).catch(err => err)
    const async = await log.appendFrom({ [Symbol.asyncIterator]: () => ({ next: async () => result }) }).catch(err => err)
    for (const err of [sync, async]) t.ok(err === expected || ended(err) === expected, name)
  }
  await log.close()
})

tape('a generator that aborts its own signal is closed', async (t) => {
  const log = await open(newFile())
  const controller = new AbortController()
  const reason = new Error('enough')
  const seen = []
  function * generator () {
    try {
      yield 'first'
      controller.abort(reason)
      yield 'second'
      yield 'third'
    } finally {
      seen.push('closed')
    }
  }
  t.equal(await log.appendFrom(generator(), { signal: controller.signal }).catch(err => err), reason)
  t.deepEqual(seen, ['closed'])
  t.deepEqual(await values(log), ['first'])
  await log.close()
})

tape('appendFrom of an endless iterable lets timers run, also with a storage that answers at once', async (t) => {
  const reason = new Error('enough')
  function * endless () {
    for (let i = 0; i < 3e6; i++) yield 'x'
  }
  for (const iterable of [endless(), (async function * () { yield * endless() })()]) {
    const log = await open(newFile(), { highWaterMark: 1e9 })
    const controller = new AbortController()
    setImmediate(() => setImmediate(() => controller.abort(reason)))
    t.equal(await log.appendFrom(iterable, { signal: controller.signal }).catch(err => err), reason)
    await log.close()
  }
})
