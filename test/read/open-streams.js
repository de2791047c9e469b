'use strict'

// The streams of a log that are open: whom an append visits, what a dropped stream leaves
// behind, and where a stream without old records starts.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { OpenStreams } = require('../../lib/read/open-streams')
const { newFile } = require('../helpers/folder')
const { gc } = require('../helpers/gc')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')

const pulled = (source, abort = null) => new Promise(resolve => source(abort, (end, item) => resolve({ end, item })))

async function logOf (count) {
  const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
  await log.append(Array.from({ length: count }, (_, i) => `record ${i}`))
  return log
}

test('it is told when the first stream waits and when the last one stops', (t) => {
  const told = []
  const streams = new OpenStreams((isWaiting) => told.push(isWaiting))
  const [first, second] = [{}, {}]
  for (const stream of [first, second]) {
    streams.add(stream)
    streams.wait(stream)
  }
  streams.stopWaiting(first)
  t.deepEqual(told, [true])
  streams.delete(second)
  t.deepEqual(told, [true, false])
  t.end()
})

test('streams that were read once and dropped are not visited by appends, and are collected', async (t) => {
  const log = await logOf(3)
  await (async () => {
    for (let i = 0; i < 1000; i++) await pulled(log.log.stream({ live: true }))
  })()
  t.ok(log.log.stats().streams <= 1000)
  while (log.log.stats().streams > 0) {
    gc()
    await event(setImmediate)
  }
  t.pass('none is left')
  await log.append('more')
  await log.close()
})

test('a stream that waits for the next record is kept although nothing else refers to it', async (t) => {
  const log = await logOf(3)
  const answers = []
  ;(() => log.log.stream({ old: false, seqs: false })(null, (end, value) => answers.push(end ?? String(value))))()
  for (let i = 0; i < 5; i++) {
    gc()
    await event(setImmediate)
  }
  await log.append('more')
  t.deepEqual(answers, ['more'])
  await log.close()
})

// Where a stream without old records starts

test('old: false starts where the log ends when stream is called, however late it is read', async (t) => {
  const log = await logOf(3)
  for (const options of [{ old: false }, { old: false, reverse: true }, { old: false, live: true, cache: false }]) {
    const source = log.log.stream({ ...options, values: false })
    const seqs = [await log.append('after the call'), await log.append('another')]
    t.deepEqual([(await pulled(source)).item, (await pulled(source)).item], seqs, JSON.stringify(options))
    await pulled(source, true)
  }
  await log.close()
})

test('old: false gives a record that is in flight when stream is called: it is not in the log yet', async (t) => {
  const log = await logOf(3)
  const appended = log.append('in flight')
  const source = log.log.stream({ old: false, values: false })
  t.equal((await pulled(source)).item, await appended)
  await pulled(source, true)
  await log.close()
})

test('old: false on a log that is being opened starts where the log ended', async (t) => {
  const file = newFile()
  const first = promises(FlumeLog(file, { blockSize: 64 }))
  await first.append(['old', 'older'])
  await first.close()
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  const source = log.log.stream({ old: false, seqs: false })
  await log.append('new')
  t.equal((await collect(log.log)).length, 3)
  t.equal(String((await pulled(source)).item), 'new')
  await pulled(source, true)
  await log.close()
})

// What a caller's function throws

test('what onSkip throws ends the stream with it, whether the block is in memory or comes from the file', async (t) => {
  for (const cacheSize of [0, 1 << 20]) {
    const file = await damagedFile()
    for (const thrown of [new Error('thrown by onSkip'), null]) {
      const log = promises(FlumeLog(file, { blockSize: 64, cacheSize }))
      const source = log.log.stream({ skipCorrupt: true, onSkip () { throw thrown } })
      let end = null
      while (end === null) ({ end } = await pulled(source))
      if (thrown === null) t.equal(end.code, 'flumelog:invalid', 'null is not an error')
      else t.equal(end, thrown)
      t.equal((await pulled(source)).end, end)
      t.equal(log.log.stats().streams, 0)
      await log.close()
    }
  }
})

test('onSkip may abort the stream: its read is answered with the end', async (t) => {
  const file = await damagedFile()
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  let skipped = 0
  const source = log.log.stream({ skipCorrupt: true, onSkip: () => { skipped++; source(true, () => {}) } })
  let end = null
  while (end === null) ({ end } = await pulled(source))
  t.deepEqual([end, skipped], [true, 1])
  await log.close()
})

test('null thrown by onRecord or compare is an error, not a success', async (t) => {
  const log = await logOf(3)
  for (const read of [cb => log.log.scan({}, () => { throw null }, cb), cb => log.log.search(() => { throw null }, cb)]) { // eslint-disable-line no-throw-literal
    t.equal((await event(read)).code, 'flumelog:invalid')
  }
  await log.close()
})

/** A log of several blocks, of which the second is corrupt. */
async function damagedFile () {
  const file = newFile()
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  await log.append(Array.from({ length: 20 }, (_, i) => `record ${i}`))
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[70] ^= 1
  fs.writeFileSync(file, bytes)
  return file
}
