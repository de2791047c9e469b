'use strict'

// Synchronous I/O: when it is used, and that results do not depend on it.

const fs = require('fs')
const fc = require('fast-check')
const test = require('tape')
const { performance } = require('perf_hooks')
const FlumeLog = require('../..')
const { systemClock } = require('../../lib/clock')
const { PUBLISHED_SIZE } = require('../../lib/storage/metadata-text')
const { SyncIoBudget, MAX_SYNC_BYTES } = require('../../lib/storage/sync-io')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { codeOf } = require('../helpers/reading')

const BLOCK_SIZE = 16384
const RECORDS = Array.from({ length: 300 }, (_, i) => Buffer.alloc(1000, `${i} `))

/** Replaces methods until the test has ended. */
function replace (t, object, methods) {
  for (const [name, method] of Object.entries(methods)) {
    const before = object[name]
    object[name] = method(before)
    t.teardown(() => { object[name] = before })
  }
}

/** A clock that advances only when told to, in milliseconds, and a scheduler that accounts for what it is told. */
function clock (t, schedstat = null) {
  const made = { time: 1000, schedstat, fetched: null }
  replace(t, performance, { now: () => () => made.time })
  replace(t, systemClock, { schedstat: () => () => made.schedstat && { ...made.schedstat }, bytesFetched: () => () => made.fetched })
  return made
}

/** Counts synchronous calls on files other than the standard streams. */
function countCalls (t) {
  const counts = { readSync: 0, writeSync: 0 }
  const counting = (name) => (before) => (fd, data, ...rest) => {
    // the log's: what is published in FILE.meta is written by synchronous I/O always
    if (fd > 2 && typeof data !== 'string' && data.length !== PUBLISHED_SIZE) counts[name]++
    return before(fd, data, ...rest)
  }
  replace(t, fs, { readSync: counting('readSync'), writeSync: counting('writeSync') })
  return counts
}

/** Makes each synchronous read take 10 ms, and counts them. */
function slowReads (t, time, onread = () => {}) {
  const counts = { made: 0 }
  replace(t, fs, {
    readSync: (before) => (fd, ...rest) => {
      counts.made++
      time.time += 10
      onread()
      return before(fd, ...rest)
    }
  })
  return counts
}

/** A log without cached blocks. */
async function openLog (t, options) {
  const file = testFolder(t)('log')
  const writer = promises(FlumeLog(file, { blockSize: BLOCK_SIZE }))
  await writer.append(RECORDS)
  await writer.close()
  const log = promises(FlumeLog(file, { cacheSize: 0, ...options }))
  await log.onReady()
  return { log, seqs: RECORDS.map((_, i) => Math.floor(i / 16) * BLOCK_SIZE + i % 16 * 1004) }
}

async function wrongRecords ({ log, seqs }) {
  let wrong = 0
  for (const [i, seq] of seqs.entries()) if (!RECORDS[i].equals(await log.get(seq))) wrong++
  return wrong
}

test('uncached gets and small appends use synchronous I/O, except with blocking: false', async (t) => {
  for (const blocking of [true, false]) {
    clock(t)
    const opened = await openLog(t, { blocking })
    // the first one notes in FILE.meta that the log is open, always by synchronous I/O
    await opened.log.append('a record')
    const counts = countCalls(t)
    t.equal(await wrongRecords(opened), 0)
    t.equal(counts.readSync > 0, blocking, `${counts.readSync} reads`)
    for (let i = 0; i < 10; i++) await opened.log.append('a record')
    t.equal(counts.writeSync > 0, blocking, `${counts.writeSync} writes`)
    await opened.log.close()
  }
})

test('a synchronous call that is incomplete or fails is repeated asynchronously', async (t) => {
  const opened = await openLog(t)
  // it says in FILE.meta that the log is open, which has to succeed
  await opened.log.append('a record')
  let made = 0
  const faulty = (before) => (fd, buffer, offset, length, position) => {
    if (fd <= 2) return before(fd, buffer, offset, length, position)
    if (++made % 3 === 0) throw Object.assign(new Error('EIO: made up'), { code: 'EIO' })
    return before(fd, buffer, offset, made % 3 === 1 ? length >> 1 : length, position)
  }
  replace(t, fs, { readSync: faulty, writeSync: faulty })
  t.equal(await wrongRecords(opened), 0)
  const added = []
  for (const record of RECORDS.slice(0, 50)) added.push(await opened.log.append(record))
  for (const [i, seq] of added.entries()) t.ok(RECORDS[i].equals(await opened.log.get(seq)))
  t.ok(made > 100, `${made} calls`)
  await opened.log.close()
})

test('a synchronous write of several blocks that is incomplete or fails is repeated asynchronously', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024, cacheSize: 0 }))
  await log.onReady()
  let made = 0
  /** Writes only the first buffer, or none. */
  const inPart = (before) => (fd, buffers, ...rest) => before(fd, buffers.slice(0, ++made % 2), ...rest)
  replace(t, fs, { writevSync: inPart, writev: inPart })
  const small = await append(10)
  const large = await append(200)
  t.ok(made >= 2, `${made} calls`)
  for (const [seq, record] of [...small, ...large]) t.ok(record.equals(await log.get(seq)))
  await log.close()

  async function append (count) {
    const records = Array.from({ length: count }, (_, i) => Buffer.alloc(500, `${i} `))
    const seqs = await Promise.all(records.map(record => log.append(record)))
    return seqs.map((seq, i) => [seq, records[i]])
  }
})

test('after a read that waited for a device, reads are asynchronous for almost twenty times as long', async (t) => {
  const time = clock(t)
  const opened = await openLog(t)
  const counts = slowReads(t, time)
  t.equal(await wrongRecords(opened), 0)
  t.equal(counts.made, 1)
  time.time += 160
  t.equal(await wrongRecords(opened), 0)
  t.equal(counts.made, 1)
  time.time += 30
  t.equal(await wrongRecords(opened), 0)
  t.equal(counts.made, 2)
  await opened.log.close()
})

test('reads stay synchronous, however slow, unless the thread has fetched something from a device', async (t) => {
  for (const fetches of [false, true]) {
    const time = clock(t, { delay: 0, sleeps: 1 })
    time.fetched = 8192
    const opened = await openLog(t)
    const counts = slowReads(t, time, () => {
      // garbage is collected, for example
      time.schedstat.sleeps++
      if (fetches) time.fetched += 4096
    })
    t.equal(await wrongRecords(opened), 0)
    t.equal(counts.made === 1, fetches, `${counts.made} synchronous reads`)
    await opened.log.close()
  }
})

test('reads stay synchronous unless the thread slept, for longer than the scheduler delayed it', async (t) => {
  for (const [name, delay, sleeps] of [
    ['preempted', 10, 0],
    ['preempted after it slept', 10, 1],
    ['slow without leaving the CPU', 0, 0],
    ['waiting for a device, then for a CPU', 9, 1]
  ]) {
    const time = clock(t, { delay: 0, sleeps: 1 })
    const opened = await openLog(t)
    const counts = slowReads(t, time, () => {
      time.schedstat.delay += delay
      time.schedstat.sleeps += sleeps
    })
    t.equal(await wrongRecords(opened), 0)
    if (delay === 9) t.equal(counts.made, 1, name)
    else t.ok(counts.made >= RECORDS.length - 16, `${counts.made} calls, ${name}`)
    await opened.log.close()
  }
})

test('however long calls take, the program is blocked by devices for at most a twentieth of the time', (t) => {
  for (const schedstat of [null, { delay: 0, sleeps: 1 }]) {
    const time = clock(t, schedstat)
    const step = fc.record({
      pause: fc.integer({ min: 0, max: 2000 }),
      took: fc.integer({ min: 1, max: 30000 }),
      delay: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30000 }))
    })
    fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 200 }), (steps) => {
      const calls = new SyncIoBudget(true)
      const begun = time.time
      let waited = 0
      let longest = 0
      for (const { pause, took, delay } of steps) {
        time.time += pause / 1000
        if (!calls.start(4096)) continue
        time.time += (took + delay) / 1000
        if (schedstat !== null) {
          time.schedstat.delay += delay / 1000
          time.schedstat.sleeps++
        }
        calls.finish()
        // after a wait, the time until the thread has a CPU again is part of it
        const blocked = took > 50 ? (took + delay) / 1000 : 0
        waited += Math.max(0, blocked - 0.05)
        longest = Math.max(longest, blocked)
      }
      return waited <= (time.time - begun) / 20 + 1 + longest + 1e-6
    }), { numRuns: 300 })
  }
  t.pass()
  t.end()
})

test('synchronous I/O is limited per turn of the event loop, and further calls follow in later turns, in order', async (t) => {
  const time = clock(t)
  const calls = new SyncIoBudget(true)
  const turns = []
  let turn = 0
  const count = () => {
    turn++
    if (turns.length < 20) setImmediate(count)
  }
  const call = (n) => () => {
    if (!calls.start(4096)) t.fail('it is not slow')
    if (calls.mustDefer) return calls.defer(call(n))
    time.time += 0.04
    calls.finish()
    turns.push([n, turn])
    if (n % 7 === 3) throw new Error('the caller threw')
  }
  const thrown = []
  const onThrow = (err) => thrown.push(err.message)
  process.on('uncaughtException', onThrow)
  setImmediate(count)
  for (let n = 0; n < 100; n++) {
    try {
      call(n)()
    } catch {}
  }
  while (turns.length < 100) await new Promise(resolve => setImmediate(resolve))
  process.off('uncaughtException', onThrow)
  t.deepEqual(turns.map(([n]) => n), Array.from({ length: 100 }, (_, n) => n))
  t.ok(turns.filter(([, turn]) => turn === 0).length <= 26, 'a millisecond of them in the first')
  t.ok(thrown.length > 5, 'one that throws holds up none of the others')
  t.end()
})

test('calls that were deferred come before those made later, even from within an answer', async (t) => {
  const time = clock(t)
  const calls = new SyncIoBudget(true)
  const made = []
  let issued = 0
  const call = (n) => () => {
    calls.start(4096)
    if (calls.mustDefer) return calls.defer(call(n))
    time.time += 0.04
    calls.finish()
    made.push(n)
    issue()
  }
  const issue = () => { if (issued < 1000) call(issued++)() }
  for (let n = 0; n < 100; n++) issue()
  while (made.length < 1000) await new Promise(resolve => setImmediate(resolve))
  t.deepEqual(made, Array.from({ length: 1000 }, (_, n) => n))
  t.end()
})

test('large reads and writes, and all with blocking: false, are never synchronous', (t) => {
  t.notOk(new SyncIoBudget(true).start(MAX_SYNC_BYTES + 1))
  t.notOk(new SyncIoBudget(false).start(1))
  t.ok(new SyncIoBudget(true).start(MAX_SYNC_BYTES))
  t.end()
})

test('gets deferred to a later turn are answered when the log closes, with the record or flumelog:closed', async (t) => {
  const time = clock(t)
  const { log, seqs } = await openLog(t)
  replace(t, fs, {
    readSync: (before) => (fd, ...rest) => {
      time.time += 0.04
      return before(fd, ...rest)
    }
  })
  const answers = seqs.map(seq => codeOf(log.get(seq)))
  await log.close()
  const codes = (await Promise.all(answers)).map(answer => answer.slice(0, 8))
  t.deepEqual(new Set(codes), new Set(['no error', 'flumelog']))
  t.equal(await codeOf(log.get(seqs[0])), 'flumelog:closed')
})
