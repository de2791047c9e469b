'use strict'

// The option `retain`.

const tape = require('tape')
const fs = require('fs')
const { inspect } = require('util')
const FlumeLog = require('../..')
const { open: openPath } = require('../../promises')
const { ControlledFile } = require('../helpers/controlled-file')
const { until } = require('../helpers/followers')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { promises } = require('../helpers/promises')
const { codeOf, collect, event } = require('../helpers/reading')
const { ShiftedClock } = require('../helpers/shifted-clock')

const BLOCK_SIZE = 512
const data = (i) => Buffer.from(`${String(i).padStart(6, '0')}${'x'.repeat(94)}`)
const numbers = async (log) => (await collect(log.log, { seqs: false })).map(value => Number(value.toString('latin1', 0, 6)))
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i)

const open = (file, options, clock = undefined) => file.open({ blockSize: BLOCK_SIZE, ...options }, clock)

/** What is reported of retention from now on. */
function warningsOf (t) {
  const warnings = []
  const listen = (warning) => { if (warning.code === 'FLUMELOG_RETAIN') warnings.push(warning.message) }
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  return warnings
}

/** Until nothing is done any more. */
async function rest () {
  for (let i = 0; i < 200; i++) await event(setImmediate)
}

for (const sync of ['always', 'interval', 'never']) {
  for (const checksum of [true, false]) {
    tape(`a log keeps as many bytes as it is to, and at most a few blocks more: sync '${sync}', ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      const log = open(new ControlledFile(), { sync, checksum, retain: { bytes: 5000 }, syncInterval: 0 })
      for (let i = 0; i < 600; i++) {
        await log.append(data(i))
        if (i % 20 === 0) await rest()
        const { size, start } = log.log.stats()
        if (size > 5000 && size - start < 5000) return t.fail(`${size - start} bytes are left of ${size}`)
      }
      if (sync === 'interval') await log.sync()
      await until(() => {
        const { size, start } = log.log.stats()
        return size - start <= 5000 + 3 * BLOCK_SIZE
      })
      const left = await numbers(log)
      t.deepEqual(left, range(left[0], 600))
      await log.close()
    })
  }
}

tape('blocks are trimmed while large records are appended without pause', async (t) => {
  const log = await openPath(testFolder(t)('log'), { large: true, sync: 'never', retain: { bytes: 8 * 1024 * 1024 } })
  const data = Buffer.alloc(1.5 * 1024 * 1024 + 7, 'x')
  let count = 0
  const keepAppending = async () => { while (log.flumelog.start === 0 && ++count < 60) await log.append(data) }
  // there is always one of which a part is written
  await Promise.all([keepAppending(), keepAppending(), keepAppending(), keepAppending()])
  t.ok(log.flumelog.start > 0, `after ${count} records`)
  await log.close()
})

tape('the deletion of a range that starts in trimmed blocks ends while large records are appended without pause', async (t) => {
  const log = await openPath(testFolder(t)('log'), { large: true, sync: 'never', retain: { bytes: 4 * 1024 * 1024 } })
  // trimmed, but not durably: the deletion has to wait for that
  while (log.flumelog.start === 0) await log.append(Buffer.alloc(60_000, 'x'))
  const data = Buffer.alloc(1.5 * 1024 * 1024 + 7, 'y')
  const state = { count: 0, isOver: false }
  const keepAppending = async () => { while (!state.isOver && ++state.count < 100) await log.append(data) }
  const appending = [keepAppending(), keepAppending(), keepAppending(), keepAppending()]
  while (state.count < 30) await event(setImmediate)
  await log.del({ gte: 0, lt: log.flumelog.start + 100_000 })
  state.isOver = true
  t.ok(state.count < 60, `after ${state.count} records`)
  await Promise.all(appending)
  await log.close()
})

tape('a log keeps records that are young enough', async (t) => {
  const clock = new ShiftedClock()
  clock.stop()
  const codec = { encode: (value) => JSON.stringify(value), decode: (text) => JSON.parse(text) }
  const log = open(new ControlledFile(), { codec, retain: { age: 1000, time: ({ at }) => at }, sync: 'never' }, clock)
  const ageOfOldest = async () => clock.date() - (await collect(log.log, { limit: 1, seqs: false }))[0].at
  for (let i = 0; i < 300; i++) {
    await log.append({ at: clock.date(), i, text: 'x'.repeat(80) })
    clock.advance(50)
    if (i > 40 && await ageOfOldest() < 1000) return t.fail('a record has gone that was young enough')
    if (i % 20 === 19) await until(async () => await ageOfOldest() <= 1000 + 50 * 15)
  }
  t.ok(log.log.start > 0)
  await log.close()
})

tape('a time in seconds removes nothing, and a warning asks for milliseconds', async (t) => {
  const warnings = warningsOf(t)
  const log = open(new ControlledFile(), { retain: { age: 1000, time: () => Math.floor(Date.now() / 1000) - 3600 }, sync: 'always' })
  for (let i = 0; i < 60; i++) await log.append(data(i))
  await until(() => warnings.length > 0)
  await rest()
  t.equal(log.log.start, 0)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /must return a Date or milliseconds.*at offset \d+, it returned \d{10}$/)
  await log.close()
})

tape('blocks without a time go with the next one that has one', async (t) => {
  const time = (value) => {
    const number = Number(value.toString('latin1', 0, 6))
    if (number % 100 < 30) throw new Error('none')
    return number % 100 < 60 ? NaN : new Date(0)
  }
  const log = open(new ControlledFile(), { retain: { age: 1, time }, sync: 'never' })
  const seqs = []
  for (let i = 0; i < 190; i++) seqs.push(await log.append(data(i)))
  await rest()
  await event(resolve => setTimeout(resolve, 5))
  for (let i = 200; i < 220; i++) seqs.push(await log.append(data(i)))
  await until(() => log.log.start >= seqs[184])
  t.ok(log.log.start <= seqs[192], `all have gone up to the last one with a time: ${log.log.start} of ${seqs.at(-1)}`)
  await log.close()
})

tape('records without a time stay, however long the log is open, until a later one has a time', async (t) => {
  for (const large of [false, true]) {
    for (const none of large ? [undefined, null] : [undefined, null, '', new Date(NaN), [], -Infinity]) {
      const clock = new ShiftedClock()
      clock.stop()
      let told = none
      const log = open(new ControlledFile(), { large, retain: { age: 1000, time: (value) => value[0] === 0x21 ? told : none }, sync: 'never' }, clock)
      const timed = Buffer.from(`!${'x'.repeat(99)}`)
      for (let i = 0; i < 60; i++) {
        await log.append(data(i))
        clock.advance(100)
      }
      await rest()
      if (log.log.start !== 0) return t.fail(`${String(none)}: ${log.log.start} bytes have gone`)
      told = clock.date()
      for (let i = 0; i < 8; i++) await log.append(timed)
      clock.advance(900)
      for (let i = 0; i < 8; i++) await log.append(data(i))
      await rest()
      if (log.log.start !== 0) return t.fail(`${String(none)}: they are as old as the first that has a time`)
      clock.advance(550)
      for (let i = 0; i < 20; i++) await log.append(data(i))
      await until(() => log.log.start > 50 * 104)
      t.pass(`${String(none)}, ${large ? 'with' : 'without'} large: all of them have gone with it`)
      await log.close()
    }
  }
})

tape('that `time` gives nothing, or throws, is reported once, as a warning of the process that says so', async (t) => {
  const warnings = warningsOf(t)
  const cases = [
    [() => undefined, 'it returned undefined'],
    [() => 'today', "it returned 'today'"],
    [() => Promise.resolve(5), 'it returned '],
    [() => { throw new Error('no time in it') }, 'it failed: no time in it']
  ]
  for (const [time, expected] of cases) {
    for (const large of [false, true]) {
      const log = open(new ControlledFile(), { retain: { age: 1, time }, sync: 'always', large })
      for (let i = 0; i < 100; i++) await log.append(data(i))
      await rest()
      t.equal((await numbers(log)).length, 100, 'nothing is trimmed')
      await log.close()
      await until(() => warnings.length > 0)
      const found = warnings.splice(0)
      t.equal(found.length, 1)
      t.ok(found[0]?.includes(expected), found[0])
    }
  }
})

tape('nothing is reported of records without a time if others have one', async (t) => {
  const warnings = warningsOf(t)
  const log = open(new ControlledFile(), { retain: { age: 1e9, time: (value) => value[5] === 0x30 ? Date.now() : undefined }, sync: 'always' })
  for (let i = 0; i < 100; i++) await log.append(data(i))
  await rest()
  await log.close()
  await event(setImmediate)
  t.deepEqual(warnings, [])
})

tape('with several limits, a block goes as soon as one of them lets it', async (t) => {
  const log = open(new ControlledFile(), { retain: { bytes: 2000, age: 1e9, time: () => Date.now() }, sync: 'always' })
  for (let i = 0; i < 200; i++) await log.append(data(i))
  await until(async () => (await numbers(log)).length < 40)
  t.ok((await numbers(log)).length >= 20)
  await log.close()
})

tape('a log that is opened with a smaller limit is trimmed as its next blocks fill', async (t) => {
  const file = new ControlledFile()
  const before = open(file, {})
  await before.append(range(0, 3000).map(data))
  await before.close()
  const log = open(file, { sync: 'always', retain: { bytes: 2000 } })
  for (let i = 3000; i < 3010; i++) await log.append(data(i))
  await until(async () => (await numbers(log)).length < 40)
  const left = await numbers(log)
  t.deepEqual(left, range(left[0], 3010))
  const { size, start } = log.log.stats()
  t.ok(size - start >= 2000)
  await log.close()
})

tape('what is trimmed is freed in large parts, and the rest when the log is closed', async (t) => {
  const file = new ControlledFile()
  const log = open(file, { retain: { bytes: 2000 }, sync: 'never' })
  const parts = 50
  for (let i = 0; i < parts; i++) {
    const { start } = log.log
    await log.append(range(0, 1000).map(data))
    await until(() => log.log.start > start)
  }
  const { punch } = file.counts
  t.ok(punch > 2 && punch < 15, `${punch} times, for ${parts} trims`)
  const { start } = log.log
  await log.close()
  t.ok(file.bytes.subarray(BLOCK_SIZE, start).every(byte => byte === 0))
  const again = open(file, {})
  await again.onReady()
  t.ok(again.log.start >= start, 'closing may trim what has become durable last')
  await again.close()
})

tape('a record that del calls trimmed does not come back after a crash', async (t) => {
  for (const large of [false, true]) {
    for (const what of ['a record', 'an array', 'a range']) {
      const file = new ControlledFile()
      const log = open(file, { retain: { bytes: 3000 }, sync: 'never', large })
      const seqs = []
      for (let i = 0; i < 100; i++) seqs.push(await log.append(data(i)))
      await until(() => log.log.start > seqs[40])
      const deleted = { 'a record': seqs[0], 'an array': [seqs[99], seqs[0]], 'a range': { lte: seqs[0] } }[what]
      t.match(await codeOf(log.del(deleted)), what === 'a range' ? /^no error/ : /^flumelog:trimmed$/)
      await log.sync()
      const crashed = open(file.afterKill(), {})
      t.notOk((await numbers(crashed)).includes(0), `${what}, ${large ? 'with' : 'without'} large records`)
      t.ok(crashed.log.start > seqs[40])
      await crashed.close()
    }
  }
})

tape('wrong limits are refused', async (t) => {
  const file = testFolder(t)('log')
  for (const retain of [5, 'a', [], {}, { bytes: 0 }, { bytes: -1 }, { bytes: 1.5 }, { bytes: '5' }, { records: 0 }, { age: 5 }, { time: () => 1 }, { bytes: 1, time: () => 1 }, { age: 1, time: 5 }, { age: 1, time: async () => 5 }, { size: 5 }]) {
    t.throws(() => FlumeLog(file, { retain }), { code: 'flumelog:invalid' }, inspect(retain))
  }
  t.notOk(fs.existsSync(file))
})

tape('limits count also if they are inherited, not enumerable or computed, and are read once', async (t) => {
  let reads = 0
  class Limits {
    get bytes () {
      return ++reads === 1 ? 3000 : 1
    }
  }
  for (const retain of [Object.create({ bytes: 3000 }), Object.defineProperty({}, 'bytes', { value: 3000 }), new Limits()]) {
    const log = open(new ControlledFile(), { retain, sync: 'always' })
    for (let i = 0; i < 200; i++) await log.append(data(i))
    await until(() => log.log.since.value - log.log.start < 60 * 104)
    t.ok(log.log.since.value - log.log.start >= 3000 - 104, inspect(retain))
    await log.close()
  }
  t.equal(reads, 1)
})

tape('the owner of a shared log trims it for all', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, shared: true, sync: 'always', retain: { bytes: 3000 } }))
  await owner.onReady()
  const client = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, shared: true, retain: { bytes: 1 } }))
  for (let i = 0; i < 200; i++) await client.append(data(i))
  await until(() => owner.log.since.value - owner.log.start < 60 * 104)
  // others get to know when space is freed, of which there is little yet
  await owner.trim({ lt: 0 })
  const left = await numbers(owner)
  t.ok(left.length * 104 >= 3000 - 104 && left.length < 60, `${left.length} records`)
  t.deepEqual(await numbers(client), left)
  t.equal(await codeOf(client.get(0)), 'flumelog:trimmed')
  await Promise.all([owner.close(), client.close()])
})

tape('on a full disk, an append that fails frees what retention lets go, so that appends succeed again', { skip: noSmallDisk ?? false }, async (t) => {
  const disk = smallDisk(t, '4m')
  const file = disk.file('log')
  let log = promises(FlumeLog(file))
  for (let i = 0; i < 500; i++) await log.append(Buffer.alloc(5000, i % 250 + 1))
  // less than what is freed at a time while there is room
  for (const bytes of [1e6, 8e5]) {
    await log.close()
    disk.leave(0)
    log = promises(FlumeLog(file, { retain: { bytes } }))
    t.equal(await codeOf(log.append(Buffer.alloc(60_000, 251))), 'ENOSPC')
    if (log.log.stats().holes === false) return t.comment('there are no holes here')
    while (disk.free() === 0) await event(setImmediate)
    await log.append(Buffer.alloc(60_000, 251))
    const { size, start } = log.log.stats()
    t.ok(size - start >= bytes && size - start < bytes + 3 * 65536, `${size - start} bytes`)
  }
  await log.close()
})
