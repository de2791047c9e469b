'use strict'

// Appends with a key, with real servers, which know the keys of the last messages.

const path = require('path')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const test = require('tape')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { leaderOf } = require('./helpers/leader')
const { withNats, withServer, startCluster, streamName } = require('./helpers/nats')
const { muteLine } = require('./helpers/mute-line')
const { collect, codeOf } = require('../../../test/helpers/reading')
const { start } = require('../../../test/helpers/processes')

const valuesIn = async ({ log }) => (await collect(log, { seqs: false })).map(String)
const numbers = (count, from = 1) => Array.from({ length: count }, (_, i) => from + i)

const APPEND = path.join(__dirname, 'helpers/programs/append-with-key.js')
/** Milliseconds: the shortest that a server takes. */
const SHORTEST = 100

withServer('appends with a key to a JetStream stream', (shared) => {
  const open = (options) => openLog(shared.server, options)

  test('a record whose key the stream has is not stored again, and gets the seq of the one that is stored', async (t) => {
    const stream = streamName()
    const log = open({ stream })
    const other = open({ stream })
    t.equal(await log.append('a', { key: 'k1' }), 1)
    t.equal(await log.append('b', { key: 'k2' }), 2)
    t.equal(await log.append('a', { key: 'k1' }), 1, 'in the same log object')
    t.equal(await other.append('a', { key: 'k1' }), 1, 'in another one')
    t.equal(await other.append('x', { key: 'k2' }), 2, 'also if the value is another one')
    t.equal(await other.append('c'), 3)
    t.equal(await log.append('d', { key: 'k3' }), 4)
    t.deepEqual(await log.append('x', { key: 'k3', atomic: true }), [4])
    t.deepEqual(await valuesIn(log), ['a', 'b', 'c', 'd'])
    await log.close()
    await other.close()
  })

  test('appends with and without a key are stored in the order of the calls, and answered in it', async (t) => {
    const log = open()
    const told = []
    const call = (value, options) => new Promise(resolve => log.log.append(value, options, (err, seq) => resolve(told.push(err ?? seq))))
    // before it is open
    await Promise.all([call('a', {}), call('b', { key: 'k' }), call('c', {}), call('b', { key: 'k' }), call(['d', 'e'], {}), call('f', { key: 'l' }), call('g', {}), call('f', { key: 'l' })])
    t.deepEqual(told, [1, 2, 3, 2, 5, 6, 7, 6])
    for (let round = 0; round < 20; round++) {
      const seqs = await Promise.all(numbers(30).map(i => log.append(`${round}: ${i}`, i % 3 === 0 ? { key: `${round}:${i % 9}` } : {})))
      const answered = new Map()
      const wrong = []
      for (const [i, seq] of seqs.entries()) {
        const key = (i + 1) % 3 === 0 ? `${round}:${(i + 1) % 9}` : i
        if (answered.has(key) ? answered.get(key) !== seq : seq <= Math.max(0, ...answered.values())) wrong.push({ key, seq })
        answered.set(key, answered.get(key) ?? seq)
      }
      if (wrong.length > 0) t.deepEqual(wrong, [], `round ${round}`)
    }
    // of 30 calls, 20 without a key and 3 keys
    t.equal((await valuesIn(log)).length, 7 + 20 * 23)
    await log.close()
  })

  test('ten logs that append the same keys at once store each record once, and get the same seqs', async (t) => {
    const stream = streamName()
    const logs = numbers(10).map(() => open({ stream }))
    const keys = numbers(50).map(String)
    const seqs = await Promise.all(logs.map(log => Promise.all(keys.map(key => log.append(key, { key })))))
    for (const other of seqs) t.deepEqual(other, seqs[0])
    t.deepEqual(await valuesIn(logs[0]), keys)
    for (const log of logs) await log.close()
  })

  test('a program that is killed before it learns that its record is stored can be run again', async (t) => {
    const stream = streamName()
    const watcher = open({ stream })
    await watcher.append('first')
    const line = await muteLine(shared.server.port, 'the record')
    const argument = { value: 'the record', key: 'k' }
    const killed = start(t, APPEND, { options: { servers: line.url, stream }, ...argument })
    const [{ seq, value }] = await collect(watcher.log, { gt: 1, live: true, limit: 1 })
    t.deepEqual([seq, String(value)], [2, 'the record'], 'it is stored')
    await killed.kill()
    t.deepEqual(killed.messages, [], 'the program did not learn that')
    line.close()
    await watcher.append('after it')
    const again = start(t, APPEND, { options: { servers: shared.server.url, stream }, ...argument })
    t.deepEqual(await again.message(() => true), { seq: 2 })
    await again.over
    t.deepEqual(await valuesIn(watcher), ['first', 'the record', 'after it'])
    await watcher.close()
  })

  test('after the duplicate window, a record with the same key is stored again', async (t) => {
    const log = open({ duplicateWindow: SHORTEST })
    t.equal(await log.append('a', { key: 'k' }), 1)
    const seqs = [1]
    while (seqs.at(-1) === 1) seqs.push(await log.append('b', { key: 'k' }))
    t.equal(seqs.at(-1), 2)
    t.deepEqual(await valuesIn(log), ['a', 'b'])
    await log.close()
  })

  test('keys are known when the server was killed and started again', async (t) => {
    const log = open()
    t.deepEqual(await Promise.all(numbers(20).map(i => log.append(`${i}`, { key: `${i}` }))), numbers(20))
    await shared.server.restart('SIGKILL')
    t.deepEqual(await Promise.all(numbers(21).map(i => log.append(`${i}`, { key: `${i}` }))), numbers(21))
    t.deepEqual(await valuesIn(log), numbers(21).map(String))
    await log.close()
  })

  test('a key that is none, of an array, or with a condition is flumelog:invalid', async (t) => {
    const log = open()
    for (const key of [null, '', 1, true, ['k'], 'two words', ' k', 'k\n', 'ü', '\0', 'k'.repeat(257)]) t.equal(await codeOf(log.append('a', { key })), 'flumelog:invalid', String(key))
    for (const value of [[], ['a'], ['a', 'b']]) t.equal(await codeOf(log.append(value, { key: 'k' })), 'flumelog:invalid', JSON.stringify(value))
    t.equal(await codeOf(log.append('a', { key: 'k', after: -1 })), 'flumelog:invalid')
    t.equal(await log.append('a', { key: undefined }), 1)
    t.equal(await log.append('b', { key: '~'.repeat(256) }), 2)
    t.deepEqual(await valuesIn(log), ['a', 'b'])
    await log.close()
  })

  test('a stream whose duplicate window is shorter than the option says is refused, and read', async (t) => {
    const stream = streamName()
    const first = open({ stream, duplicateWindow: 1000 })
    await first.append('a', { key: 'k' })
    const second = open({ stream, duplicateWindow: 1001 })
    t.equal(await codeOf(second.append('b')), 'flumelog:invalid')
    for (const options of [{ duplicateWindow: 1000 }, { duplicateWindow: 100 }, {}, { duplicateWindow: 1001, readOnly: true }]) {
      const log = open({ stream, ...options })
      t.deepEqual(await valuesIn(log), ['a'], JSON.stringify(options))
      await log.close()
    }
    for (const duplicateWindow of [0, 99, 100.5, '1000', null, Infinity]) t.throws(() => open({ duplicateWindow }), { code: 'flumelog:invalid' }, String(duplicateWindow))
    await first.close()
  })

  test('a stream without a duplicate window refuses keys, and takes other appends', async (t) => {
    const stream = streamName()
    const source = streamName()
    const first = open({ stream: source })
    await first.onReady()
    const nats = await connect({ servers: shared.server.url })
    const manager = await jetstreamManager(nats)
    // to one with sources, the server gives no window of its own
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`], sources: [{ name: source }], allow_direct: true, allow_atomic: true })
    const log = open({ stream })
    t.equal(await codeOf(log.append('a', { key: 'k' })), 'flumelog:invalid')
    t.equal(await log.append('a'), 1)
    await log.close()
    await first.close()
    await nats.close()
  })

  test.onFinish(closeLogs)
})

withNats('appends with a key to a stream on three servers', (file) => {
  test('three logs that append the same keys store each record once while the leader is killed', async (t) => {
    const servers = await startCluster(file)
    const stream = streamName()
    const urls = servers.map(({ url }) => url)
    const logs = urls.map((url) => openLog({ url }, { servers: [url, ...urls], stream, replicas: 3, timeout: 60_000 }))
    await Promise.all(logs.map(log => log.onReady()))
    const keys = numbers(150).map(String)
    const appended = Promise.all(logs.map(log => Promise.all(keys.map(key => log.append(key, { key })))))
    while (logs[0].log.since.value < 50) await new Promise(resolve => logs[0].log.since.next(resolve))
    const leader = await leaderOf(servers, stream)
    await leader.restart('SIGKILL')
    const seqs = await appended
    for (const other of seqs) t.deepEqual(other, seqs[0])
    t.deepEqual(await valuesIn(logs[0]), keys)
    for (const log of logs) await log.close()
    await Promise.all(servers.map(server => server.stop()))
  })

  test.onFinish(closeLogs)
})
