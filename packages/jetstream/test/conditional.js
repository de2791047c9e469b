'use strict'

// Conditional appends to a stream, with a real server, which compares.

const test = require('tape')
const { wrap } = require('flumelog-random-access-file/promises')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { leaderOf } = require('./helpers/leader')
const { withNats, withServer, startCluster, streamName } = require('./helpers/nats')
const { collect, codeOf } = require('../../../test/helpers/reading')
const { thorough } = require('../../../test/helpers/thorough')

/** What an append answers: its result, or the conflict. */
const outcome = (append) => append.catch(({ code, after, seq }) => ({ code, after, seq }))
const conflict = (after, seq) => ({ code: 'flumelog:conflict', after, seq })
const valuesIn = async ({ log }) => (await collect(log, { seqs: false })).map(String)
const numbers = (count, from = 1) => Array.from({ length: count }, (_, i) => from + i)

withServer('conditional appends to a JetStream stream', (shared) => {
  const open = (options) => openLog(shared.server, options)

  test('a record is appended only after the message that is the last one of the stream', async (t) => {
    const log = open()
    t.deepEqual(await outcome(log.append('a', { after: 1 })), conflict(1, -1), 'an empty stream has none')
    t.equal(await log.append('a', { after: -1 }), 1)
    t.deepEqual(await outcome(log.append('b', { after: -1 })), conflict(-1, 1))
    t.equal(await log.append('b', { after: 1 }), 2)
    t.deepEqual(await outcome(log.append('c', { after: 1 })), conflict(1, 2))
    t.deepEqual(await outcome(log.append('c', { after: 3 })), conflict(3, 2), 'nor after one that there is not')
    t.equal(await log.append('c', { after: undefined }), 3)
    t.deepEqual(await valuesIn(log), ['a', 'b', 'c'])
    await log.close()
  })

  test('the condition of an array is about its first record; all of it is stored, or nothing', async (t) => {
    const log = open()
    t.equal(await log.append(['a', 'b'], { after: -1 }), 2)
    t.deepEqual(await outcome(log.append(['x', 'y'], { after: 1 })), conflict(1, 2))
    t.deepEqual(await log.append(['c', 'd'], { after: 2, atomic: true }), [3, 4])
    t.deepEqual(await outcome(log.append(['x', 'y'], { after: 2, atomic: true })), conflict(2, 4))
    // more than a batch can have
    t.deepEqual(await outcome(log.append(numbers(2500).map(String), { after: 2 })), conflict(2, 4))
    t.equal(await log.append(numbers(2500).map(String), { after: 4 }), 2504)
    t.deepEqual(await valuesIn(log), ['a', 'b', 'c', 'd', ...numbers(2500).map(String)])
    await log.close()
  })

  test('records in flight count, and answers come in the order of the calls', async (t) => {
    const { log, close } = open()
    const told = []
    const call = (value, options) => new Promise(resolve => log.append(value, options, (err, seq) => {
      told.push(err ? `${err.code}: ${err.after}` : seq)
      if (err && log.since.value < err.seq) t.fail(`since is ${log.since.value}, and the conflict says ${err.seq}`)
      resolve(null)
    }))
    // before the log is open
    await Promise.all([call('a', {}), call('b', { after: -1 }), call('c', { after: 1 }), call('d', {}), call('e', { after: 1 }), call(['f', 'g'], { after: 3 }), call('h', {})])
    t.deepEqual(told, [1, 'flumelog:conflict: -1', 2, 3, 'flumelog:conflict: 1', 5, 6])
    t.deepEqual(await valuesIn({ log }), ['a', 'c', 'd', 'f', 'g', 'h'])
    const { appended, written, inFlight } = log.stats()
    t.deepEqual([appended.records, written.records, inFlight.records], [8, 6, 0])
    await close()
  })

  test('a deleted message that was the last one stays it, and so does that of a log that is opened again', async (t) => {
    const stream = streamName()
    const log = open({ stream })
    await log.append(['a', 'b'])
    await log.del(2)
    t.deepEqual(await outcome(log.append('c', { after: 1 })), conflict(1, 2))
    await log.close()
    const again = open({ stream })
    t.equal(await again.append('c', { after: 2 }), 3)
    await again.close()
  })

  test('an invalid condition is flumelog:invalid', async (t) => {
    const log = open()
    for (const after of [null, '1', 0.5, -2, NaN, 2 ** 53, true]) t.equal(await codeOf(log.append('a', { after })), 'flumelog:invalid', String(after))
    t.equal(await codeOf(log.append([], { after: -1 })), 'flumelog:invalid')
    await log.close()
  })

  test('with promises, too', async (t) => {
    const log = wrap(open().log)
    t.equal(await log.append('a', { after: -1 }), 1)
    t.deepEqual(await outcome(log.append('a', { after: -1 })), conflict(-1, 1))
    await log.close()
  })

  const TARGET = thorough ? 10_000 : 300

  test(`ten logs count to ${TARGET} together`, async (t) => {
    const stream = streamName()
    const logs = numbers(10).map(() => open({ stream, codec: 'json' }))
    await Promise.all(logs.map(log => log.onReady()))
    const conflicts = await count(logs, TARGET)
    t.deepEqual(await collect(logs[0].log, { seqs: false }), numbers(TARGET))
    t.ok(conflicts > 0, `${conflicts} conflicts`)
    for (const log of logs) await log.close()
  })

  test.onFinish(closeLogs)
})

withNats('conditional appends to a stream on three servers', (file) => {
  test('three logs count together while the leader is killed', async (t) => {
    const servers = await startCluster(file)
    const stream = streamName()
    const urls = servers.map(({ url }) => url)
    const logs = numbers(3).map(() => openLog({ url: urls[0] }, { servers: urls, stream, codec: 'json', replicas: 3, timeout: 60_000 }))
    await Promise.all(logs.map(log => log.onReady()))
    const target = thorough ? 1000 : 100
    const counted = count(logs, target)
    while (logs[0].log.since.value < target / 3) await new Promise(resolve => logs[0].log.since.next(resolve))
    const leader = await leaderOf(servers, stream)
    await leader.stop()
    await leader.start()
    await counted
    t.deepEqual(await collect(logs[0].log, { seqs: false }), numbers(target))
    for (const log of logs) await log.close()
    await Promise.all(servers.map(server => server.stop()))
  })

  test.onFinish(closeLogs)
})

/**
 * Each log appends the number after that of the last record, on the condition that this one is the last.
 * @param {any[]} logs
 * @param {number} target
 * @returns {Promise<number>} the number of conflicts
 */
async function count (logs, target) {
  let conflicts = 0
  await Promise.all(logs.map(async (log) => {
    let last = -1
    for (let number = 0; number < target;) {
      try {
        last = await log.append(number + 1, { after: last })
        number++
      } catch (err) {
        if (err.code !== 'flumelog:conflict') throw err
        conflicts++
        last = err.seq
        number = await log.get(last)
      }
    }
  }))
  return conflicts
}
