'use strict'

// Conditional appends to a log of one process: stored if the log's last record is the one that the caller expects.

const fs = require('fs')
const tape = require('tape')
const FlumeLog = require('../..')
const { open } = require('../../promises')
const { ControlledFile } = require('../helpers/controlled-file')
const { testFolder } = require('../helpers/folder')
const { collect, codeOf, event } = require('../helpers/reading')
const { promises } = require('../helpers/promises')

/** What an append answers: its result, or the conflict. */
const outcome = (append) => append.catch(({ code, after, seq }) => ({ code, after, seq }))
const conflict = (after, seq) => ({ code: 'flumelog:conflict', after, seq })
const valuesIn = async (log) => (await collect(log, { seqs: false })).map(String)

tape('a record is appended only after the record that is the last one', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  t.deepEqual(await outcome(log.append('a', { after: 0 })), conflict(0, -1), 'an empty log has none')
  t.equal(await log.append('a', { after: -1 }), 0)
  t.deepEqual(await outcome(log.append('b', { after: -1 })), conflict(-1, 0))
  t.equal(await log.append('b', { after: 0 }), 5)
  t.deepEqual(await outcome(log.append('c', { after: 0 })), conflict(0, 5))
  t.deepEqual(await outcome(log.append('c', { after: 10 })), conflict(10, 5))
  t.equal(await log.append('c', { after: undefined }), 10, 'an option that is undefined is not given')
  t.deepEqual(await valuesIn(log.log), ['a', 'b', 'c'])
  await log.close()
})

tape('the message of a conflict says what was expected and what is there', async (t) => {
  const log = await open(testFolder(t)('log'))
  t.match((await log.append('a', { after: 7 }).catch(err => err)).message, /log: an append after the record at 7 was refused: the log is empty/)
  await log.append('a')
  t.match((await log.append('a', { after: -1 }).catch(err => err)).message, /after no record was refused: the last record is at 0/)
  await log.close()
})

tape('the condition of an array is about its first record; all of it is stored, or nothing', async (t) => {
  const log = await open(testFolder(t)('log'))
  t.equal(await log.append(['a', 'b'], { after: -1 }), 5)
  t.deepEqual(await outcome(log.append(['x', 'y'], { after: 0 })), conflict(0, 5))
  t.deepEqual(await log.append(['c', 'd'], { after: 5, atomic: true }), [10, 15])
  t.deepEqual(await outcome(log.append(['x', 'y'], { after: 5, atomic: true, sync: true })), conflict(5, 15))
  t.deepEqual(await log.append('e', { after: 15, atomic: true, sync: true }), [20])
  t.deepEqual(await valuesIn(log.flumelog), ['a', 'b', 'c', 'd', 'e'])
  await log.close()
})

tape('records in flight count, and answers come in the order of the calls; a conflict tells what readers see', async (t) => {
  const { log, onReady, close } = promises(FlumeLog(testFolder(t)('log')))
  await onReady()
  const told = []
  const call = (value, options) => event(resolve => log.append(value, options, (err, seq) => {
    told.push([value, err ? `not after ${err.seq}` : seq, log.since.value])
    resolve()
  }))
  await Promise.all([call('a', {}), call('b', { after: -1 }), call('c', { after: 0 }), call('d', { after: 0 }), call('e', {})])
  t.deepEqual(told, [['a', 0, 10], ['b', 'not after 10', 10], ['c', 5, 10], ['d', 'not after 10', 10], ['e', 10, 10]])
  t.deepEqual(await valuesIn(log), ['a', 'c', 'e'])
  await close()
})

tape('of many conditional appends at once, one is stored', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 512 }))
  let last = -1
  for (let round = 0; round < 20; round++) {
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => outcome(log.append(`${round} ${i}`, { after: last }))))
    const stored = results.filter(result => typeof result === 'number')
    const expected = [stored[0], ...Array(49).fill(stored[0])]
    t.deepEqual(results.map(result => result.seq ?? result), expected, 'the others are told of it')
    last = stored[0]
  }
  t.equal((await valuesIn(log.log)).length, 20)
  await log.close()
})

tape('conditional appends that are made before the log is open are compared with what it has', async (t) => {
  const file = testFolder(t)('log')
  const calls = [['a', -1], ['b', 0], ['b', 0], ['c', undefined], [['d', 'e'], 10]]
  for (const expected of [
    [0, 5, conflict(0, 20), 10, 20],
    [conflict(-1, 25), conflict(0, 25), conflict(0, 25), 25, conflict(10, 25)]
  ]) {
    const log = promises(FlumeLog(file))
    t.deepEqual(await Promise.all(calls.map(([value, after]) => outcome(log.append(value, { after })))), expected)
    await log.close()
  }
})

tape('the last record stays the last one when it is deleted, and when the log is opened again', async (t) => {
  const file = testFolder(t)('log')
  let log = promises(FlumeLog(file))
  t.deepEqual([await log.append('a'), await log.append('b')], [0, 5])
  await log.del(5)
  t.deepEqual(await outcome(log.append('c', { after: 0 })), conflict(0, 5))
  await log.close()
  log = promises(FlumeLog(file))
  t.deepEqual(await outcome(log.append('c', { after: 0 })), conflict(0, 5))
  t.equal(await log.append('c', { after: 5 }), 10)
  await log.del([0, 10])
  await log.close()
  log = promises(FlumeLog(file))
  t.deepEqual(await outcome(log.append('d', { after: -1 })), conflict(-1, 10), 'a log of which all is deleted is not empty')
  t.equal(await log.append('d', { after: 10 }), 15)
  await log.close()
})

tape('after a trim, the last record is the same', async (t) => {
  const file = testFolder(t)('log')
  let log = promises(FlumeLog(file, { blockSize: 512 }))
  const last = await log.append(Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(50, '.')))
  t.ok(await log.trim({ lt: Infinity }) > 0)
  t.deepEqual(await outcome(log.append('x', { after: -1 })), conflict(-1, last))
  await log.close()
  log = promises(FlumeLog(file))
  const next = await log.append('x', { after: last })
  t.equal(next, last + 54)
  await log.close()
})

tape('after a compaction, the last record has another seq, and the old one is a conflict', async (t) => {
  const file = testFolder(t)('log')
  let log = await open(file, { blockSize: 512 })
  const last = await log.append(Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(50, '.')))
  await log.del(0)
  await log.compact()
  const { since: { value: now } } = log
  t.ok(now > last)
  t.deepEqual(await outcome(log.append('x', { after: last })), conflict(last, now))
  t.ok(await log.append('x', { after: now }) > now)
  await log.close()
  log = await open(file)
  t.deepEqual(await outcome(log.append('y', { after: now })), conflict(now, log.since.value))
  // nothing is left of it
  await log.del({ gte: 0 })
  await log.compact()
  const { since: { value } } = log
  t.deepEqual(await outcome(log.append('y', { after: -1 })), conflict(-1, value), 'a log that was compacted is not empty')
  t.ok(await log.append('y', { after: value }) > value)
  await log.close()
})

tape('a conflict that a compaction overtakes tells the seq since', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 512 })
  await log.append(Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(50, '.')))
  await log.del(0)
  const progress = { isOver: false }
  const compacted = log.compact().finally(() => { progress.isOver = true })
  const results = []
  while (!progress.isOver) {
    results.push(await log.append('more').then((seq) => outcome(log.append('x', { after: seq - 1 })).then(({ seq: told }) => told >= seq)))
    await event(setImmediate)
  }
  await compacted
  t.ok(results.length > 0 && results.every(isRight => isRight))
  await log.close()
})

tape('a call without records that is made when a compaction moves the log takes no record from readers', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  const seqs = [await log.append('x'.repeat(20)), await log.append('y'.repeat(20)), await log.append('z'.repeat(20))]
  const rename = fs.renameSync
  t.teardown(() => { fs.renameSync = rename })
  for (const call of [() => log.append([]), () => log.append('x', { after: 1 }).catch(({ seq }) => seq)]) {
    await log.del(seqs.shift())
    /** @type {Promise<number> | null} */
    let told = null
    fs.renameSync = (from, to) => {
      if (to === file) told = call()
      return rename(from, to)
    }
    t.error(await event(resolve => log.log.compact(resolve)))
    fs.renameSync = rename
    const now = await collect(log.log, { values: false })
    t.deepEqual([now.length, now.at(-1), await told], [seqs.length, log.log.since.value, log.log.since.value])
    seqs.splice(0, seqs.length, ...now)
  }
  await log.close()
})

tape('a record that is appended when a compaction moves the log is where its callback says, also if what was copied ends further on in its block', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  const seqs = [await log.append('x'.repeat(20)), await log.append('y'.repeat(20)), await log.append('z'.repeat(20))]
  await log.del(seqs[0])
  const rename = fs.renameSync
  t.teardown(() => { fs.renameSync = rename })
  /** @type {Promise<number> | null} */
  let told = null
  fs.renameSync = (from, to) => {
    if (to === file) told = log.append('more')
    return rename(from, to)
  }
  t.error(await event(resolve => log.log.compact(resolve)))
  const seq = Number(await told)
  t.deepEqual([String(await log.get(seq)), log.log.since.value], ['more', seq])
  t.equal((await collect(log.log)).length, 3)
  await log.close()
})

tape('an invalid condition is flumelog:invalid, and nothing is stored', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log')))
  for (const isOpen of [false, true]) {
    for (const after of [null, '0', 0.5, -2, NaN, Infinity, 2 ** 53 - 1, 2 ** 53, 0n, true, [], {}, new Date(0)]) {
      const code = await codeOf(log.append('a', { after }))
      t.equal(code, 'flumelog:invalid', `${typeof after} ${String(after)}${isOpen ? '' : ', before the log is open'}`)
    }
    t.equal(await codeOf(log.append([], { after: -1 })), 'flumelog:invalid', 'an empty array has no first record')
    await log.onReady()
  }
  t.equal(log.log.since.value, -1)
  await log.close()
})

tape('what is refused does not count as appended', async (t) => {
  const { log, append, close } = promises(FlumeLog(testFolder(t)('log')))
  await append('abc')
  await outcome(append(['de', 'f'], { after: 3 }))
  const { appended, written, inFlight } = log.stats()
  t.deepEqual({ appended, written, inFlight }, {
    appended: { records: 1, bytes: 3 }, written: { records: 1, bytes: 3 }, inFlight: { records: 0, bytes: 0 }
  })
  await close()
})

tape('a conflict without a callback is reported by the next call', async (t) => {
  const { log, append, onDrain, close } = promises(FlumeLog(testFolder(t)('log')))
  await append('a')
  log.append('b', { after: 9 })
  t.equal(await codeOf(onDrain()), 'flumelog:conflict')
  t.equal(await codeOf(onDrain()), 'no error, but undefined', 'once')
  log.append('b', { after: 9 })
  t.equal(await codeOf(close()), 'flumelog:conflict')
})

tape('a closed log, and a read-only one, say so', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('a')
  await log.close()
  t.equal(await codeOf(log.append('b', { after: 7 })), 'flumelog:closed')
  const reader = promises(FlumeLog(file, { readOnly: true }))
  t.equal(await codeOf(reader.append('b', { after: 0 })), 'flumelog:read-only')
  await reader.close()
})

tape('if the record because of which an append is refused is not stored, both get the error, and the next one is compared with what is', async (t) => {
  const log = ControlledFile.withRoomFor(100).open()
  await log.append('a')
  const answers = await Promise.all([log.append('x'.repeat(200), { after: 0 }), log.append('b', { after: 0 }), log.append('c', { after: 5 })].map(outcome))
  t.deepEqual(answers.map(({ code }) => code), ['ENOSPC', 'ENOSPC', 'ENOSPC'])
  t.equal(await log.append('b', { after: 0 }), 5)
  await log.close()
})

tape('the last record of a log with large ones is where the last chunk starts', async (t) => {
  const file = testFolder(t)('log')
  let log = promises(FlumeLog(file, { blockSize: 512, large: true }))
  const seq = await log.append('x'.repeat(2000), { after: -1 })
  t.ok(seq > 512)
  t.deepEqual(await outcome(log.append('y', { after: 0 })), conflict(0, seq))
  const next = await log.append(['y'.repeat(1000), 'z'], { after: seq })
  await log.close()
  log = promises(FlumeLog(file, { large: true }))
  t.deepEqual(await outcome(log.append('y', { after: seq })), conflict(seq, next))
  t.ok(await log.append('y', { after: next }) > next)
  await log.close()
})
