'use strict'

// The pull-stream protocol, callbacks that call the log, live streams with concurrent
// appends, and concurrent streams.

const test = require('tape')
const fc = require('fast-check')
const pull = require('pull-stream')
const Spec = require('pull-spec')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { ControlledFile } = require('../helpers/controlled-file')
const { promises } = require('../helpers/promises')
const { modelOf } = require('../helpers/model')
const { collect, collectSource, codeOf, event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 60 : 25))

/**
 * A log with a number of records in blocks of 64 bytes, read from its storage.
 * @param {number} count
 * @param {object} [options] of the log
 */
async function logOf (count, options = {}) {
  const settings = { blockSize: 64, checksum: true, ...options }
  const storage = newFile()
  const model = modelOf(settings)
  const values = Array.from({ length: count }, (_, i) => model.make(3 + i * 7 % 20))
  const first = promises(FlumeLog(storage, settings))
  await first.append(values)
  model.append(values)
  await first.close()
  const log = promises(FlumeLog(storage, settings))
  await log.onReady()
  return { ...log, model }
}

/** Reads once from a source. */
const pulled = (source, abort = null) => new Promise(resolve => source(abort, (end, item) => resolve({ end, item })))
const immediate = () => new Promise(resolve => setImmediate(resolve))

/** Reads until the end, always from within the callback. */
function drain (source, onItem) {
  return event(resolve => source(null, function next (end, item) {
    if (end) return resolve(end)
    onItem(item)
    source(null, next)
  }))
}

// The protocol

test('a source conforms to pull-spec with all options', async (t) => {
  for (const options of [{}, { reverse: true }, { limit: 7 }, { values: false }, { seqs: false }, { cache: false }, { gt: 100, lt: 500 }, { reverse: true, limit: 3, lt: 300 }, { limit: 1 }, { gt: 1e6 }, { old: false, limit: 1, lt: 0 }]) {
    for (const cacheSize of [0, 1 << 20]) {
      const log = await logOf(60, { cacheSize })
      const expected = options.old === false ? [] : log.model.stream(options)
      t.deepEqual(await collectSource(Spec(log.log.stream(options))), expected, JSON.stringify(options))
      await log.close()
    }
  }
})

test('a source that has ended answers further reads with the end', async (t) => {
  const log = await logOf(3)
  for (const options of [{}, { limit: 2 }, { reverse: true }]) {
    const source = log.log.stream(options)
    t.equal(await drain(source, () => {}), true)
    for (let i = 0; i < 3; i++) t.deepEqual(await pulled(source), { end: true, item: undefined })
    t.deepEqual(await pulled(source, true), { end: true, item: undefined })
  }
  await log.close()
})

test('an aborted source answers with the reason, then and afterwards', async (t) => {
  const log = await logOf(30)
  const reason = new Error('enough')
  for (const abort of [true, reason]) {
    for (const before of [0, 1, 10, 30]) {
      const source = log.log.stream({ live: true })
      for (let i = 0; i < before; i++) await pulled(source)
      t.deepEqual(await pulled(source, abort), { end: abort, item: undefined })
      t.deepEqual(await pulled(source), { end: abort, item: undefined })
    }
  }
  const source = log.log.stream()
  await pulled(source)
  source(true)
  t.equal((await pulled(source)).end, true, 'nobody has to be told')
  t.equal(log.log.stats().streams, 0)
  await log.close()
})

test('a pending read is answered when the source is aborted', async (t) => {
  const log = await logOf(30, { cacheSize: 0 })
  const seen = []
  // for more to be appended
  const live = log.log.stream({ live: true, old: false })
  live(null, end => seen.push(['live', end]))
  live(true, end => seen.push(['abort live', end]))
  t.deepEqual(seen.splice(0), [['live', true], ['abort live', true]])
  // for a block
  const stored = log.log.stream({})
  stored(null, end => seen.push(['stored', end]))
  stored(true, end => seen.push(['abort stored', end]))
  t.deepEqual(seen.splice(0), [['stored', true], ['abort stored', true]])
  // for the log to be opened
  const early = FlumeLog(newFile())
  const source = early.stream({ live: true })
  source(null, end => seen.push(['early', end]))
  source(true, end => seen.push(['abort early', end]))
  t.deepEqual(seen.splice(0), [['early', true], ['abort early', true]])

  await log.append('more')
  await promises(early).append('more')
  await promises(early).close()
  await log.close()
  t.deepEqual(seen, [], 'and with nothing else later')
})

test('streams are counted while they are open', async (t) => {
  const log = await logOf(30)
  const count = () => log.log.stats().streams
  const sources = [{}, { live: true }, { reverse: true }, { limit: 3 }].map(options => log.log.stream(options))
  t.equal(count(), 0, 'none has begun')
  for (const source of sources) await pulled(source)
  t.equal(count(), 4)
  await pulled(sources[3])
  await pulled(sources[3])
  t.equal(count(), 3, 'one has come to its limit')
  await drain(sources[0], () => {})
  await drain(sources[2], () => {})
  t.equal(count(), 1, 'two have come to the end')
  await pulled(sources[1], true)
  t.equal(count(), 0)
  const failing = log.log.stream({ gt: 'x' })
  await pulled(failing)
  t.equal(count(), 0)
  await log.close()
})

// Stacks

test('a call from within its own callback does not overflow the stack', async (t) => {
  const log = await logOf(20000)
  const back = []
  await event(resolve => (function previous (seq) {
    log.log.getPrevious(seq, (err, value, seq) => {
      if (err) return resolve(err.code)
      back.push(seq)
      previous(seq)
    })
  })(log.model.end))
  t.equal(back.length, 20000)

  let searches = 0
  await event(resolve => (function next () {
    log.log.search((_, seq) => seq - 64, (err) => {
      if (err) t.fail(err)
      if (++searches < 5000) next()
      else resolve()
    })
  })())
  t.equal(searches, 5000)

  let scans = 0
  await event(resolve => (function next () {
    log.log.scan({ gt: log.log.since.value }, () => {}, (err) => {
      if (err) t.fail(err)
      if (++scans < 5000) next()
      else resolve()
    })
  })())
  t.equal(scans, 5000)

  let others = 0
  await event(resolve => (function next () {
    const call = [log.log.onReady, log.log.onDrain, log.log.sync, cb => log.log.del([], cb), cb => log.log.append([], cb)][others % 5]
    call((err) => {
      if (err) t.fail(err)
      if (++others < 20000) next()
      else resolve()
    })
  })())
  t.equal(others, 20000)
  await log.close()
})

test('waking thousands of live streams and skipping thousands of deleted records take little stack', async (t) => {
  const log = await logOf(3000)
  const seqs = await collect(log.log, { values: false })
  await log.del(seqs.slice(1, -1))
  t.deepEqual(await collect(log.log, { values: false }), [seqs[0], seqs.at(-1)])
  const sources = Array.from({ length: 2000 }, () => log.log.stream({ live: true, old: false, values: false }))
  const answers = Promise.all(sources.map(source => pulled(source)))
  const seq = await log.append('new')
  t.ok((await answers).every(({ end, item }) => end === null && item === seq))
  await log.close()
})

// Calls from within callbacks

test('a reader that pauses at any time gets all records', async (t) => {
  const log = await logOf(200, { cacheSize: 100 })
  const pauses = [cb => cb(), cb => process.nextTick(cb), cb => setImmediate(cb), cb => Promise.resolve().then(cb), cb => setTimeout(cb, 1)]
  for (const options of [{}, { reverse: true }, { cache: false }]) {
    const got = []
    const source = log.log.stream(options)
    let n = 0
    await event(resolve => source(null, function next (end, item) {
      if (end) return resolve()
      got.push(item)
      pauses[(n = (n * 13 + 5) % 97) % pauses.length](() => source(null, next))
    }))
    t.deepEqual(got, log.model.stream(options))
  }
  await log.close()
})

test('a reader may abort at any record, from within its callback', async (t) => {
  const log = await logOf(40)
  const wrong = []
  for (let most = 1; most <= 40; most++) {
    for (const options of [{}, { reverse: true }, { live: true }]) {
      const got = []
      const source = log.log.stream(options)
      const end = await event(resolve => source(null, function next (end, item) {
        if (end) return resolve(end)
        got.push(item)
        if (got.length === most) source(true, resolve)
        else source(null, next)
      }))
      if (end !== true || JSON.stringify(got) !== JSON.stringify(log.model.stream({ ...options, limit: most }))) wrong.push({ most, options })
    }
  }
  t.deepEqual(wrong, [])
  t.equal(log.log.stats().streams, 0)
  await log.close()
})

test('a reader may append from within its callback: a stream that is not live ends at the end of the log as of reaching it', async (t) => {
  const log = await logOf(10)
  let appended = 0
  const got = []
  await drain(log.log.stream({ live: true, limit: 60 }), (item) => {
    got.push(item)
    if (appended < 50) {
      const value = log.model.make(10)
      log.model.append([value])
      log.log.append(value)
      appended++
    }
  })
  t.deepEqual(got, log.model.stream({}))
  await log.close()
})

test('a reader may delete from within its callback: records deleted before it reaches them are skipped', async (t) => {
  for (const cacheSize of [0, 1 << 20]) {
    for (const options of [{}, { reverse: true }, { cache: false }, { live: true }]) {
      const log = await logOf(60, { cacheSize })
      const order = log.model.stream({ ...options, values: false })
      const got = []
      const source = log.log.stream({ ...options, limit: 30 })
      // each record deletes the next one
      await event(resolve => source(null, function next (end, item) {
        if (end) return resolve()
        got.push(item.seq)
        log.log.del(order[order.indexOf(item.seq) + 1], (err) => {
          if (err) t.fail(err)
          source(null, next)
        })
      }))
      t.deepEqual(got, order.filter((_, i) => i % 2 === 0), JSON.stringify({ cacheSize, ...options }))
      t.deepEqual(await collect(log.log, { values: false }), got.toSorted((a, b) => a - b))
      await log.close()
    }
  }
})

test('a reader may delete the record it has just got, and keeps its value', async (t) => {
  const log = await logOf(60, { cacheSize: 0 })
  const source = log.log.stream()
  const got = []
  await event(resolve => source(null, function next (end, item) {
    if (end) return resolve()
    got.push(item)
    log.log.del(item.seq, () => source(null, next))
  }))
  t.deepEqual(got, log.model.stream({}))
  t.deepEqual(await collect(log.log), [])
  await log.close()
})

test('a reader may close the log from within its callback', async (t) => {
  for (const options of [{}, { reverse: true }, { live: true }]) {
    for (const at of [1, 5, 59, 60]) {
      const log = await logOf(60, { cacheSize: 0 })
      const got = []
      let closed = null
      const end = await event(resolve => {
        const source = log.log.stream(options)
        source(null, function next (end, item) {
          if (end) return resolve(end)
          got.push(item)
          if (got.length === at) closed = log.close()
          source(null, next)
        })
      })
      await closed
      const expected = log.model.stream(options)
      t.deepEqual(got, expected.slice(0, got.length), `${JSON.stringify(options)} at ${at}`)
      // it either got all records, or an error
      if (end === true) t.equal(got.length, 60)
      else t.equal(end.code, 'flumelog:closed')
      t.ok(got.length >= at)
      t.equal(log.log.stats().streams, 0)
    }
  }
})

test('close ends a live stream that has read everything, and is an error for one that has not', async (t) => {
  const log = await logOf(60)
  const behind = log.log.stream({ live: true })
  await pulled(behind)
  const atEnd = log.log.stream({ live: true })
  const got = []
  let ended
  await new Promise((resolve) => { ended = drain(atEnd, item => got.push(item) === 60 && resolve()) })
  const idle = log.log.stream({ live: true })
  await log.close()
  t.equal(await ended, true)
  t.equal(got.length, 60)
  t.equal((await pulled(behind)).end.code, 'flumelog:closed')
  t.equal((await pulled(idle)).end.code, 'flumelog:closed')
  t.equal(await codeOf(collect(log.log)), 'flumelog:closed')
})

test('a reader that pauses after the last record while the log is closed gets the end', async (t) => {
  for (const options of [{}, { live: true }, { reverse: true }, { reverse: true, live: true }, { lt: 300 }, { lt: 300, live: true }, { gt: 300, limit: 70 }, { values: false, cache: false }]) {
    const log = await logOf(60)
    const expected = log.model.stream(options)
    const read = async (source, count) => {
      for (let i = 0; i < count; i++) t.equal((await pulled(source)).end, null)
      return source
    }
    const hasAll = await read(log.log.stream(options), expected.length)
    const lacksOne = await read(log.log.stream(options), expected.length - 1)
    await log.close()
    const how = JSON.stringify(options)
    t.equal((await pulled(hasAll)).end, true, `${how}: after all ${expected.length}`)
    t.equal((await pulled(lacksOne)).end.code, 'flumelog:closed', `${how}: before the last one`)
    t.equal(log.log.stats().streams, 0)
  }
})

test('a live reader that pauses while records are appended gets flumelog:closed, unless they are deleted', async (t) => {
  for (const options of [{ live: true }, { reverse: true, live: true }]) {
    for (const isDeleted of [false, true]) {
      const log = await logOf(3)
      const source = log.log.stream(options)
      for (let i = 0; i < 3; i++) await pulled(source)
      const seq = await log.append('appended while it pauses')
      if (isDeleted) await log.del(seq)
      await log.close()
      const { end } = await pulled(source)
      t.equal(end === true ? 'end' : end.code, isDeleted ? 'end' : 'flumelog:closed', JSON.stringify(options))
    }
  }
})

test('a stream whose reader has thrown many times answers synchronously again after at most one asynchronous answer', async (t) => {
  const log = await logOf(200)
  const source = log.log.stream()
  await pulled(source)
  for (let i = 0; i < 100; i++) {
    try {
      source(null, () => { throw new Error('thrown by the reader') })
    } catch {}
  }
  await pulled(source)
  let isAnswered = false
  source(null, () => { isAnswered = true })
  t.ok(isAnswered)
  await log.close()
})

// Live streams

test('live streams neither skip nor repeat records, with random appends, deletions and pauses', async (t) => {
  const reader = fc.record({
    begin: fc.nat(40),
    gt: fc.oneof(fc.constant(undefined), fc.integer({ min: -1, max: 2500 })),
    reverse: fc.boolean(),
    cache: fc.boolean(),
    old: fc.boolean(),
    limit: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 60 }) }),
    pauses: fc.array(fc.nat(3), { minLength: 1, maxLength: 20 })
  })
  const life = fc.record({
    old: fc.nat(40),
    cacheSize: fc.constantFrom(0, 200, 1 << 20),
    steps: fc.array(fc.record({ batch: fc.integer({ min: 1, max: 6 }), size: fc.integer({ min: 3, max: 40 }), pause: fc.nat(2), awaited: fc.boolean(), deleted: fc.array(fc.nat(), { maxLength: 2 }) }), { minLength: 10, maxLength: 40 }),
    readers: fc.array(reader, { minLength: 1, maxLength: 5 })
  })
  await fc.assert(fc.asyncProperty(life, async ({ old, cacheSize, steps, readers }) => {
    const log = await logOf(old, { cacheSize })
    const reading = []
    for (let i = 0; i < steps.length; i++) {
      for (const reader of readers) if (reader.begin % steps.length === i) reading.push(follow(log, reader))
      const { batch, size, pause, awaited, deleted } = steps[i]
      for (const at of deleted) deleteOne(log, at)
      const values = Array.from({ length: batch }, () => log.model.make(size))
      log.model.append(values)
      const appended = batch === 1 ? log.append(values[0]) : log.append(values)
      if (awaited) await appended
      for (let j = 0; j < pause; j++) await immediate()
    }
    await log.onDrain()
    // each has to reach the end independently
    for (const reader of reading) await reader.reached(log.model)
    await log.close()
    for (const reader of reading) await reader.check(log.model)
  }), { numRuns: RUNS })
  t.pass(`${RUNS} of them`)
})

/** Deletes one of the stored records, which readers may or may not have read. */
function deleteOne (log, at) {
  const stored = log.model.records.filter(({ seq }) => seq <= log.log.since.value)
  if (stored.length === 0) return
  const record = stored[at % stored.length]
  record.deleted = true
  log.log.del(record.seq)
}

/** Reads with these pauses; knows the expected records once all are appended. */
function follow (log, { gt, reverse, cache, old, limit, pauses }) {
  const begunAt = log.log.stats().size
  const got = []
  let onitem = () => {}
  let end = null
  let n = 0
  const source = Spec(log.log.stream({ gt, reverse, cache, old, limit, live: true, values: false }))
  const pause = [cb => cb(), cb => process.nextTick(cb), cb => setImmediate(cb), cb => setImmediate(() => setImmediate(cb))]
  source(null, function next (ended, seq) {
    if (ended) end = ended
    else got.push(seq)
    onitem()
    if (!ended) pause[pauses[n++ % pauses.length]](() => source(null, next))
  })

  /** The expected records if nothing is deleted. */
  function order (model) {
    const all = model.records.filter(({ seq }) => gt === undefined || seq > gt).map(({ seq }) => seq)
    const before = all.filter(seq => old && seq < begunAt)
    return [...(reverse ? before.reverse() : before), ...all.filter(seq => seq >= begunAt)]
  }

  return {
    reached: (model) => event(resolve => {
      const wanted = order(model).filter(seq => isThere(model, seq))
      // the last one to come, if there is one, comes behind all others
      onitem = () => {
        if (end || wanted.length === 0 || (limit > 0 && got.length === limit) || got.includes(wanted.at(-1))) resolve()
      }
      onitem()
    }),
    check: (model) => {
      const all = order(model)
      const places = got.map(seq => all.indexOf(seq))
      if (places.some((place, i) => place === -1 || (i > 0 && place <= places[i - 1]))) throw new Error(`got ${got.join()} of ${all.join()}`)
      const upTo = limit > 0 && got.length === limit ? places.at(-1) : all.length
      const missing = all.slice(0, upTo).filter(seq => isThere(model, seq) && !got.includes(seq))
      if (missing.length > 0) throw new Error(`did not get ${missing.join()}, but ${got.join()}`)
    }
  }
}

const isThere = (model, seq) => !model.records.find(record => record.seq === seq).deleted

test('a live stream skips a record that is deleted while the stream waits or lags behind', async (t) => {
  const log = await logOf(3)
  const seqs = await collect(log.log, { values: false })
  const source = log.log.stream({ live: true, values: false })
  t.deepEqual(await pulled(source), { end: null, item: seqs[0] })
  await log.del(seqs[1])
  t.deepEqual(await pulled(source), { end: null, item: seqs[2] })
  const waiting = pulled(source)
  await log.del(seqs[2])
  const more = await log.append('more')
  t.deepEqual(await waiting, { end: null, item: more })
  const [a, b] = [await log.append('a'), await log.append('b')]
  await log.del(a)
  t.deepEqual(await pulled(source), { end: null, item: b })
  await log.close()
})

test('a live stream yields a record only after it is written', async (t) => {
  const file = new ControlledFile()
  const log = file.open()
  await log.append('first')
  const got = []
  const source = log.log.stream({ live: true, values: false })
  drain(source, seq => got.push(seq))
  file.held.add('write')
  const appended = log.append('second')
  for (let i = 0; i < 5; i++) await immediate()
  t.deepEqual(got, [0])
  t.equal(log.log.since.value, 0)
  t.deepEqual(await collect(log.log, { values: false }), [0], 'nor does any other')
  t.equal(await codeOf(log.get(9)), 'flumelog:not-found')
  file.release('write')
  await appended
  t.deepEqual(got, [0, 9])
  await log.close()
})

test('since and live streams are updated before append calls back', async (t) => {
  const log = await logOf(1)
  const got = []
  drain(log.log.stream({ live: true, old: false, values: false }), seq => got.push(seq))
  const seen = []
  for (let i = 0; i < 20; i++) {
    await event(resolve => log.log.append('x', (err, seq) => {
      seen.push([err, log.log.since.value === seq, got.at(-1) === seq])
      resolve()
    }))
  }
  t.deepEqual(seen, new Array(20).fill([null, true, true]))
  await log.close()
})

test('a live stream yields each of a hundred thousand concurrent appends once, in order', async (t) => {
  const log = promises(FlumeLog(newFile()))
  const count = 100000
  let seen = 0
  let isRight = true
  const done = drain(log.log.stream({ live: true, limit: count, seqs: false }), value => {
    isRight &&= value.readUInt32BE() === ++seen
  })
  for (let i = 1; i <= count; i++) {
    const value = Buffer.alloc(8)
    value.writeUInt32BE(i)
    log.log.append(value)
    if (i % 5000 === 0) await immediate()
  }
  t.equal(await done, true)
  t.ok(isRight && seen === count)
  await log.close()
})

// Concurrent streams

test('a source works with pull-stream, including takes that end early', async (t) => {
  const log = await logOf(100)
  t.deepEqual(await collectSource(pull(log.log.stream(), pull.take(5))), log.model.stream({ limit: 5 }))
  t.deepEqual(await collectSource(pull(log.log.stream({ live: true }), pull.take(100))), log.model.stream({}))
  t.deepEqual(await collectSource(pull(log.log.stream({ values: false }), pull.asyncMap((seq, cb) => log.log.get(seq, cb)))), log.model.stream({ seqs: false }))
  t.equal(log.log.stats().streams, 0)
  await log.close()
})
