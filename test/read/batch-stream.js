'use strict'

// Batches: put together, they are what a stream gives with the same options (log/model.js), with the same end and in the same order
// as what onSkip is told.

const fs = require('fs')
const tape = require('tape')
const fc = require('fast-check')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { CHECK_INTERVAL, MAX_TURN_TIME } = require('../../lib/read/turn-budget')
const { newFile, testFolder } = require('../helpers/folder')
const { overwrite } = require('../helpers/logs')
const { part } = require('../helpers/part')
const { promises } = require('../helpers/promises')
const { collect, collectSource, event, isSame } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const json = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

/** Bounds as fractions of the log, and the other options of a stream. */
const someOptions = fc.record({
  gt: part(-0.1, 1.1),
  gte: part(-0.1, 1.1),
  lt: part(-0.1, 1.1),
  lte: part(-0.1, 1.1),
  reverse: fc.boolean(),
  limit: fc.integer({ min: 0, max: 60 }),
  seqs: fc.boolean(),
  values: fc.boolean(),
  cache: fc.boolean()
}, { requiredKeys: [] })

function within (end, options) {
  const scaled = { ...options }
  for (const bound of ['gt', 'gte', 'lt', 'lte']) if (bound in options) scaled[bound] = Math.round(options[bound] * end)
  return scaled
}

/** @returns {Promise<{ items: any[], error: Error | null }>} what a source gives before it ends, and how it ends */
function drained (source, items = []) {
  return event(resolve => source(null, function next (end, item) {
    if (end) return resolve({ items, error: end === true ? null : end })
    items.push(item)
    source(null, next)
  }))
}

/** @returns {Promise<{ items: any[], error: object | null, skipped: object[] }>} the same of a stream, or of batches put together */
async function readAll (log, name, options, given = []) {
  const skipped = []
  const plain = ({ code, offset, message }) => ({ code, offset, message })
  const onSkip = ({ start, end, error }) => skipped.push({ start, end, error: plain(error) })
  const { items, error } = await drained(log[name]({ ...options, onSkip }), given)
  if (name === 'batches' && items.some(batch => batch.length === 0)) throw new Error('a batch is empty')
  return { items: items.flat(), error: error && plain(error), skipped }
}

tape('a batch is what a block holds', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
  await log.append(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'])
  const blockOf = (seq) => Math.floor(seq / 64)
  const batches = await collectSource(log.log.batches({ values: false }))
  t.ok(batches.every(batch => blockOf(batch[0]) === blockOf(batch.at(-1))), 'all of one')
  t.deepEqual(batches.map(([seq]) => blockOf(seq)), batches.map((_, i) => i), 'one for each')
  const reverse = await collectSource(log.log.batches({ values: false, reverse: true }))
  t.deepEqual(reverse, batches.map(batch => batch.reverse()).reverse())
  t.equal(log.log.stats().streams, 0)
  await log.close()
})

tape('corrupt blocks and records that cannot be decoded end batches as they end a stream, or are skipped', async (t) => {
  const file = testFolder(t)('log')
  const decode = (text) => {
    if (text.includes('bad')) throw new Error('a bad record')
    return text
  }
  const records = fc.array(fc.constantFrom('good', 'good too', 'quite good', 'bad'), { minLength: 1, maxLength: 60 })
  let runs = 0
  await fc.assert(fc.asyncProperty(records, fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 3 }), someOptions, fc.boolean(), async (records, corrupt, some, skipCorrupt) => {
    const name = `${file}${++runs}`
    const writing = promises(FlumeLog(name, { blockSize: 64 }))
    await writing.append(records)
    await writing.close()
    const { size } = fs.statSync(name)
    for (const offset of corrupt) if (offset < size - 64) overwrite(name, offset, '\xff')
    const log = promises(FlumeLog(name, { codec: { encode: text => text, decode, buffer: false }, readOnly: true }))
    const options = { ...within(size, some), skipCorrupt }
    const [streamed, batched] = [await readAll(log.log, 'stream', options), await readAll(log.log, 'batches', options)]
    const open = log.log.stats().streams
    await log.close()
    fs.unlinkSync(name)
    return isSame(batched, streamed) && open === 0
  }), { numRuns: thorough ? 200 : 40 })
  t.pass('after the records before them')
})

tape('live batches have each record once, in order, as it is acknowledged', async (t) => {
  const step = fc.oneof(fc.record({ append: fc.integer({ min: 1, max: 9 }) }), fc.record({ turns: fc.integer({ min: 1, max: 3 }) }), fc.record({ waits: fc.constant(true) }))
  const options = fc.record({ old: fc.boolean(), reverse: fc.boolean(), limit: fc.integer({ min: 0, max: 40 }) }, { requiredKeys: [] })
  await fc.assert(fc.asyncProperty(fc.nat(30), fc.array(step, { maxLength: 20 }), options, fc.constantFrom(64, 65536), async (old, steps, options, blockSize) => {
    const log = promises(FlumeLog(newFile(), { codec: json, blockSize }))
    const state = { made: 0 }
    const some = (count) => Array.from({ length: count }, () => state.made++)
    if (old > 0) await log.append(some(old))
    await log.onReady()
    const before = Array.from({ length: old }, (_, i) => i)
    const given = []
    const ended = readAll(log.log, 'batches', { ...options, live: true, seqs: false }, given)
    for (const { append, turns, waits } of steps) {
      if (append) log.append(some(append))
      if (waits) await log.onDrain()
      for (let i = 0; i < turns; i++) await event(setImmediate)
    }
    await log.onDrain()
    const after = Array.from({ length: state.made - old }, (_, i) => old + i)
    const all = [...(options.old === false ? [] : options.reverse ? before.reverse() : before), ...after]
    const wanted = all.slice(0, options.limit || undefined)
    // one that is closed before it is there ends with an error
    while (given.flat().length < wanted.length) await event(setImmediate)
    await log.close()
    const { items, error } = await ended
    return error === null && isSame(items, wanted)
  }), { numRuns: 100 })
  t.pass('until the log is closed')
})

tape('a live reader that waits is given what one write has stored, at once', async (t) => {
  const log = promises(FlumeLog(newFile(), { codec: json }))
  await log.append(1)
  const read = log.log.batches({ live: true, seqs: false })
  const next = () => event(resolve => read(null, (end, batch) => resolve(end ?? batch)))
  t.deepEqual(await next(), [1])
  const waiting = next()
  log.append(2)
  log.append([3, 4])
  t.deepEqual(await waiting, [2, 3, 4])
  const closed = next()
  await log.close()
  t.equal(await closed, true, 'and a normal end when the log is closed')
})

tape('batches can be aborted at any point: before the first, between two, while the reader waits, by onSkip and by the codec', async (t) => {
  const decode = (text) => {
    if (text === 'abort') abort()
    if (text === 'bad') throw new Error('a bad record')
    return text
  }
  let abort = () => {}
  const log = promises(FlumeLog(newFile(), { blockSize: 64, codec: { encode: text => text, decode, buffer: false } }))
  await log.append(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'])
  for (const taken of [0, 1, 2]) {
    const read = log.log.batches()
    for (let i = 0; i < taken; i++) await event(resolve => read(null, resolve))
    t.equal(await event(resolve => read(true, resolve)), true, `after ${taken}`)
    t.equal(await event(resolve => read(null, resolve)), true, 'it has ended')
  }
  const live = log.log.batches({ old: false })
  const waiting = event(resolve => live(null, resolve))
  t.equal(await event(resolve => live(true, resolve)), true)
  t.equal(await waiting, true, 'a reader that waits')

  await log.append(['bad', 'eleven'])
  const skipping = log.log.batches({ skipCorrupt: true, onSkip: () => skipping(true, () => {}) })
  t.deepEqual((await drained(skipping)).items.flat().length, 10, 'by onSkip, after the records before')
  for (const name of ['stream', 'batches']) {
    const read = log.log[name]({ gt: log.log.since.value, live: true, skipCorrupt: true })
    const given = drained(read)
    abort = () => {
      read(true, () => {})
      abort = () => {}
    }
    await log.append(['abort', 'twelve'])
    t.equal((await given).error, null, `${name}: by the codec`)
    await log.del(log.log.since.value)
  }
  t.equal(log.log.stats().streams, 0)
  await log.close()
})

for (const name of ['stream', 'batches']) {
  tape(`a read of ${name} is answered if the codec aborts it and then throws`, async (t) => {
    let read
    const decode = () => {
      read(true, () => {})
      throw new Error('and throws')
    }
    const log = promises(FlumeLog(newFile(), { codec: { encode: text => text, decode } }))
    await log.append(['one', 'two'])
    for (const skipCorrupt of [false, true]) {
      read = log.log[name]({ skipCorrupt })
      t.ok(await event(resolve => read(null, resolve)), `it has ended, with skipCorrupt: ${skipCorrupt}`)
    }
    await log.close()
  })
}

tape('a batch ends when the time of the turn is spent, and the next one comes in another turn', async (t) => {
  const clock = { time: 0, now: () => clock.time, setImmediate, setTimeout, clearTimeout }
  const decode = (text) => {
    clock.time += MAX_TURN_TIME / CHECK_INTERVAL / 2
    return Number(text)
  }
  const settings = settingsOf({ codec: { ...json, decode } })
  const log = promises(createLog(pathFile(newFile(), settings), settings, clock))
  await log.append(Array.from({ length: 2000 }, (_, i) => i))
  let turns = 0
  const timer = setImmediate(function count () {
    turns++
    timer.next = setImmediate(count)
  })
  const seen = []
  const { items } = await event(resolve => {
    const read = log.log.batches({ seqs: false })
    const items = []
    read(null, function next (end, batch) {
      if (end) return resolve({ items })
      items.push(...batch)
      seen.push({ turns, length: batch.length })
      read(null, next)
    })
  })
  clearImmediate(timer)
  clearImmediate(timer.next)
  t.deepEqual(items, Array.from({ length: 2000 }, (_, i) => i))
  t.ok(seen.every(({ length }) => length <= 4 * CHECK_INTERVAL), `batches of ${seen.map(({ length }) => length)}`)
  t.ok(turns > 2, `${turns} turns`)
  await log.close()
})

tape('batches of text are read with a few MiB of buffers', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { cacheSize: 0, codec: { encode: text => text, decode: text => text, buffer: false } }))
  for (let i = 0; i < 10; i++) await log.append(Array.from({ length: 5000 }, () => 'x'.repeat(200)))
  const { allocUnsafeSlow } = Buffer
  let bytes = 0
  Buffer.allocUnsafeSlow = (size) => {
    bytes += size
    return allocUnsafeSlow(size)
  }
  t.equal((await collect(log.log)).length, 50000)
  const streamed = bytes
  bytes = 0
  const { items } = await drained(log.log.batches())
  Buffer.allocUnsafeSlow = allocUnsafeSlow
  t.equal(items.flat().length, 50000)
  t.ok(streamed < 4 * 1024 * 1024 && bytes < 4 * 1024 * 1024, `${bytes} bytes, as a stream, which takes ${streamed}`)
  await log.close()
})
