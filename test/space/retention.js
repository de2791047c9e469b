'use strict'

// The option `retain`.

const tape = require('tape')
const fs = require('fs')
const { inspect } = require('util')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { open: openPath } = require('../../promises')
const { Disk } = require('../helpers/disk')
const { until } = require('../helpers/followers')
const { testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { promises } = require('../helpers/promises')
const { codeOf, collect, event } = require('../helpers/reading')
const { Simulation } = require('../helpers/simulation')

const BLOCK_SIZE = 512
const data = (i) => Buffer.from(`${String(i).padStart(6, '0')}${'x'.repeat(94)}`)
const numbers = async (log) => (await collect(log.log, { seqs: false })).map(value => Number(value.toString('latin1', 0, 6)))
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i)

function open (disk, { trimBatch = undefined, ...options }) {
  return promises(createLog(disk.file('log'), { ...settingsOf({ blockSize: BLOCK_SIZE, ...options }), trimBatch }))
}

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
      const log = open(new Disk(), { sync, checksum, retain: { bytes: 5000 }, syncInterval: 0 })
      for (let i = 0; i < 600; i++) {
        await log.append(data(i))
        if (i % 20 === 0) await rest()
        const { size, start } = log.log.stats()
        if (size > 5000 && size - start < 5000) return t.fail(`${size - start} bytes are left of ${size}`)
      }
      if (sync === 'interval') await log.sync()
      await rest()
      const { size, start } = log.log.stats()
      t.ok(size - start <= 5000 + 3 * BLOCK_SIZE, `${size - start} bytes`)
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
  const simulation = new Simulation(1)
  await simulation.run((async () => {
    const disk = new Disk({ clock: simulation.clock, delay: () => 0 })
    const codec = { encode: (value) => JSON.stringify(value), decode: (text) => JSON.parse(text) }
    const retain = { age: 1000, time: ({ at }) => at }
    const settings = settingsOf({ blockSize: BLOCK_SIZE, codec, retain, syncInterval: 10 })
    const log = promises(createLog(disk.file('log'), settings, simulation.clock))
    for (let i = 0; i < 300; i++) {
      await log.append({ at: simulation.clock.date(), i, text: 'x'.repeat(80) })
      await simulation.pause(50)
      const [oldest] = await collect(log.log, { limit: 1, seqs: false })
      const age = simulation.clock.date() - oldest.at
      if (i > 40 && (age < 1000 || age > 1000 + 50 * 15)) return t.fail(`the oldest is ${age} ms old`)
    }
    t.ok(log.log.start > 0)
    await log.close()
  })())
})

tape('a time in seconds removes nothing, and a warning asks for milliseconds', async (t) => {
  const warnings = warningsOf(t)
  const log = open(new Disk(), { retain: { age: 1000, time: () => Math.floor(Date.now() / 1000) - 3600 }, sync: 'always' })
  for (let i = 0; i < 60; i++) await log.append(data(i))
  await rest()
  t.equal(log.log.start, 0)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /must return a Date or milliseconds.*at offset \d+, it returned \d{10}$/)
  await log.close()
})

tape('blocks without a time go with the next one that has one', async (t) => {
  const disk = new Disk()
  const time = (value) => {
    const number = Number(value.toString('latin1', 0, 6))
    if (number % 100 < 30) throw new Error('none')
    return number % 100 < 60 ? NaN : new Date(0)
  }
  const log = open(disk, { retain: { age: 1, time }, sync: 'always' })
  const seqs = []
  for (let i = 0; i < 190; i++) seqs.push(await log.append(data(i)))
  await rest()
  await event(resolve => setTimeout(resolve, 5))
  for (let i = 200; i < 220; i++) seqs.push(await log.append(data(i)))
  await rest()
  t.ok(log.log.start >= seqs[184] && log.log.start <= seqs[192], `all have gone up to the last one with a time: ${log.log.start} of ${seqs.at(-1)}`)
  await log.close()
})

tape('records without a time stay, however long the log is open, until a later one has a time', async (t) => {
  for (const large of [false, true]) {
    for (const none of large ? [undefined, null] : [undefined, null, '', new Date(NaN), [], -Infinity]) {
      const simulation = new Simulation(1)
      await simulation.run((async () => {
        let told = none
        const disk = new Disk({ clock: simulation.clock, delay: () => 0 })
        const settings = settingsOf({ blockSize: BLOCK_SIZE, large, retain: { age: 1000, time: (value) => value[0] === 0x21 ? told : none }, syncInterval: 10 })
        const log = promises(createLog(disk.file('log'), settings, simulation.clock))
        const timed = Buffer.from(`!${'x'.repeat(99)}`)
        for (let i = 0; i < 60; i++) {
          await log.append(data(i))
          await simulation.pause(100)
        }
        if (log.log.start !== 0) return t.fail(`${String(none)}: ${log.log.start} bytes have gone`)
        told = simulation.clock.date()
        for (let i = 0; i < 8; i++) await log.append(timed)
        await simulation.pause(900)
        for (let i = 0; i < 8; i++) await log.append(data(i))
        await simulation.pause(50)
        if (log.log.start !== 0) return t.fail(`${String(none)}: they are as old as the first that has a time`)
        await simulation.pause(500)
        for (let i = 0; i < 20; i++) await log.append(data(i))
        await simulation.pause(50)
        t.ok(log.log.start > 50 * 104, `${String(none)}, ${large ? 'with' : 'without'} large: all of them have gone with it`)
        await log.close()
      })())
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
      const log = open(new Disk(), { retain: { age: 1, time }, sync: 'always', large })
      for (let i = 0; i < 100; i++) await log.append(data(i))
      await rest()
      t.equal((await numbers(log)).length, 100, 'nothing is trimmed')
      await log.close()
      await event(setImmediate)
      const found = warnings.splice(0)
      t.equal(found.length, 1)
      t.ok(found[0]?.includes(expected), found[0])
    }
  }
})

tape('nothing is reported of records without a time if others have one', async (t) => {
  const warnings = warningsOf(t)
  const log = open(new Disk(), { retain: { age: 1e9, time: (value) => value[5] === 0x30 ? Date.now() : undefined }, sync: 'always' })
  for (let i = 0; i < 100; i++) await log.append(data(i))
  await rest()
  await log.close()
  await event(setImmediate)
  t.deepEqual(warnings, [])
})

tape('with several limits, a block goes as soon as one of them lets it', async (t) => {
  const log = open(new Disk(), { retain: { bytes: 2000, age: 1e9, time: () => Date.now() }, sync: 'always' })
  for (let i = 0; i < 200; i++) await log.append(data(i))
  await rest()
  const left = (await numbers(log)).length
  t.ok(left >= 20 && left < 40, `${left} records`)
  await log.close()
})

tape('a log that is opened with a smaller limit is trimmed as its next blocks fill', async (t) => {
  const disk = new Disk()
  const before = open(disk, { sync: 'always' })
  for (let i = 0; i < 3000; i++) await before.append(data(i))
  await before.close()
  const log = open(disk, { sync: 'always', retain: { bytes: 2000 } })
  for (let i = 3000; i < 3010; i++) await log.append(data(i))
  for (let i = 0; i < 10; i++) await rest()
  const left = await numbers(log)
  t.deepEqual(left, range(left[0], 3010))
  const { size, start } = log.log.stats()
  t.ok(size - start >= 2000)
  t.ok(left.length < 40, `${left.length} records`)
  await log.close()
})

tape('what is trimmed is freed in large parts, and the rest when the log is closed', async (t) => {
  const disk = new Disk()
  const kinds = []
  disk.note = (line) => kinds.push(line.trim())
  const log = open(disk, { retain: { bytes: 2000 }, sync: 'interval', syncInterval: 1, trimBatch: 20 * BLOCK_SIZE })
  for (let i = 0; i < 1000; i++) {
    await log.append(data(i))
    if (i % 10 === 0) await rest()
  }
  const punches = kinds.filter(kind => kind === 'punch').length
  t.ok(punches > 3 && punches < 15, `${punches} times`)
  const { start } = log.log
  await log.close()
  t.ok(disk.get('log').bytes.subarray(BLOCK_SIZE, start).every(byte => byte === 0))
  const again = open(disk, {})
  await again.onReady()
  t.ok(again.log.start >= start, 'closing may trim what has become durable last')
  await again.close()
})

tape('a record that del calls trimmed does not come back after a crash', async (t) => {
  for (const large of [false, true]) {
    for (const what of ['a record', 'an array', 'a range']) {
      for (const after of ['afterKill', 'afterPowerLoss']) {
        const disk = new Disk()
        const log = open(disk, { retain: { bytes: 3000 }, sync: 'never', large })
        const seqs = []
        for (let i = 0; i < 100; i++) seqs.push(await log.append(data(i)))
        await rest()
        const { start } = log.log
        t.ok(start > 0)
        const deleted = { 'a record': seqs[0], 'an array': [seqs[99], seqs[0]], 'a range': { lte: seqs[0] } }[what]
        t.match(await codeOf(log.del(deleted)), what === 'a range' ? /^no error/ : /^flumelog:trimmed$/)
        await log.sync()
        const crashed = open(disk[after](), {})
        t.notOk((await numbers(crashed)).includes(0), `${what}, ${after}, ${large ? 'with' : 'without'} large records`)
        t.equal(crashed.log.start, start)
        await crashed.close()
      }
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
