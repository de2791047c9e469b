'use strict'

// One log over several streams, with real servers.

const test = require('tape')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const JetStreamLog = require('..')
const { wrap } = require('flumelog-random-access-file/promises')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withNats, withServer, startCluster, streamName } = require('./helpers/nats')
const { codeOf } = require('../../../test/helpers/reading')

const PARTITIONS = 4
const keyOf = ({ key }) => key
const numbers = (count) => Array.from({ length: count }, (_, i) => i)
const valuesOf = (count, keys) => numbers(count).map(n => ({ key: `key ${n % keys}`, n }))

const open = (server, options) => wrap(openLog(server, { codec: 'json', partitions: PARTITIONS, key: keyOf, ...options }).log)

async function collect (stream, count = Infinity) {
  const all = []
  for await (const item of stream) if (all.push(item) === count) break
  return all
}

/** @returns {{ [key: string]: number[] }} what was given of each key, in order */
function byKey (values) {
  const found = {}
  for (const { key, n } of values) (found[key] ??= []).push(n)
  return found
}

/** @param {number[]} position @param {number[]} seqs */
function after (position, seqs) {
  for (const seq of seqs) position[seq % PARTITIONS] = seq
  return position
}

/** Two keys of different partitions, and another one of the partition of the first. */
function someKeys ({ flumelog: { partitionOf } }) {
  const keys = numbers(100).map(n => ({ key: `key ${n}` }))
  const other = keys.find(value => partitionOf(value) !== partitionOf(keys[0]))
  const same = keys.find((value, i) => i > 0 && partitionOf(value) === partitionOf(keys[0]))
  return [keys[0], other, same]
}

withServer('a log with partitions', (shared) => {
  test('records are spread over the streams by key, and those of a key are given in the order of the appends', async (t) => {
    const stream = streamName()
    const log = open(shared.server, { stream })
    const values = valuesOf(400, 20)
    const seqs = await Promise.all(values.map(value => log.append(value)))
    t.equal(new Set(seqs).size, values.length, 'each has a seq of its own')
    for (const i of [0, 17, 399]) t.deepEqual(await log.get(seqs[i]), values[i])
    const other = open(shared.server, { stream })
    const records = await collect(other.stream())
    t.deepEqual(byKey(records.map(({ value }) => value)), byKey(values))
    t.deepEqual(new Map(records.map(({ seq, value }) => [value.n, seq])), new Map(records.map(({ value }) => [value.n, seqs[value.n]])))
    t.deepEqual(byKey((await collect(other.batches({ seqs: false }))).flat()), byKey(values))
    t.ok(log.flumelog.partitions.every(({ since }) => since.value > 0), 'no stream is empty')
    t.deepEqual(log.flumelog.since.value, after(Array(PARTITIONS).fill(-1), [...seqs].sort((a, b) => a - b)))
  })

  test('an array is divided by key, and its seq is that of its last record', async (t) => {
    const log = open(shared.server)
    const values = valuesOf(50, 10)
    const seq = await log.append(values)
    t.deepEqual(await log.get(seq), values[49])
    t.deepEqual(byKey(await collect(log.stream({ seqs: false }))), byKey(values))
    const seqs = await log.append([values[0], values[10]], { atomic: true })
    t.deepEqual(await Promise.all(seqs.map(seq => log.get(seq))), [values[0], values[10]], 'an atomic one of one partition')
    const [a, b] = someKeys(log)
    t.equal(await codeOf(log.append([a, b], { atomic: true })), 'flumelog:invalid', 'and none of two')
  })

  test('a live stream gives what any process appends to any partition', async (t) => {
    const stream = streamName()
    const [log, other] = [open(shared.server, { stream }), open(shared.server, { stream })]
    const values = valuesOf(300, 30)
    const given = collect(log.stream({ live: true, seqs: false }), values.length)
    await Promise.all(values.map((value, i) => (i % 30 < 15 ? log : other).append(value)))
    t.deepEqual(byKey(await given), byKey(values))
  })

  test('a stream goes on after a position, and ends at one', async (t) => {
    const log = open(shared.server)
    await log.append(valuesOf(100, 10))
    const first = await collect(log.stream({ limit: 37 }))
    t.equal(first.length, 37)
    const position = after(Array(PARTITIONS).fill(-1), first.map(({ seq }) => seq))
    const end = log.flumelog.since.value
    await log.append(valuesOf(10, 10))
    const rest = await collect(log.stream({ gt: position, lte: end }))
    t.deepEqual(byKey([...first, ...rest].map(({ value }) => value)), byKey(valuesOf(100, 10)))
    t.equal((await collect(log.stream({ gt: end, values: false }))).length, 10)
    for (const gt of [5, [1], [1, 2, 3, 4.5], end.map(seq => seq + 1)]) t.equal(await codeOf(collect(log.stream({ gt }))), 'flumelog:invalid', `not after ${JSON.stringify(gt)}`)
  })

  test('a cursor keeps a position in each stream', async (t) => {
    const stream = streamName()
    const log = open(shared.server, { stream })
    const values = valuesOf(60, 10)
    await log.append(values)
    const cursor = log.cursor('worker')
    t.deepEqual(await cursor.ready(), Array(PARTITIONS).fill(-1))
    const done = []
    for await (const { seq, value } of cursor.stream()) {
      if (done.length === 25) break
      await cursor.commit(seq)
      done.push({ seq, value })
    }
    t.deepEqual(cursor.seq, after(Array(PARTITIONS).fill(-1), done.map(({ seq }) => seq)))
    await log.close()
    const next = open(shared.server, { stream })
    t.deepEqual((await next.cursors()).map(({ name, seq }) => ({ name, seq })), [{ name: 'worker', seq: cursor.seq }])
    const rest = []
    const again = next.cursor('worker')
    for await (const { seq, value } of again.stream({ limit: 35 })) {
      rest.push({ seq, value })
      await again.commit(seq)
    }
    t.deepEqual(byKey([...done, ...rest].map(({ value }) => value)), byKey(values), 'each record is given to one of the two')
    t.deepEqual(await collect(again.stream()), [])
    t.equal(await codeOf(again.commit(-2)), 'flumelog:invalid')
  })

  test('a conditional append compares with the last record of its partition', async (t) => {
    const log = open(shared.server)
    // before, it has no position
    await new Promise((resolve, reject) => log.flumelog.onReady(err => err ? reject(err) : resolve()))
    const [a, b, c] = someKeys(log)
    const first = await log.append(a, { after: -1 })
    const elsewhere = await log.append(b, { after: -1 })
    const position = log.flumelog.since.value
    const second = await log.append(c, { after: first })
    const conflict = await log.append(a, { after: first }).catch(err => err)
    t.deepEqual([conflict.code, conflict.after, conflict.seq], ['flumelog:conflict', first, second])
    t.equal(await codeOf(log.append(a, { after: elsewhere })), 'flumelog:invalid', 'the record of another partition')
    t.equal(await codeOf(log.append(a, { after: position })), 'flumelog:conflict', 'a position from before')
    await log.append(b, { after: position })
    t.deepEqual((await collect(log.stream({ seqs: false }))).length, 4)
  })

  test('an append with a key is stored once, and a deleted record is gone', async (t) => {
    const log = open(shared.server)
    const [a, b] = someKeys(log)
    const seq = await log.append(a, { key: 'once' })
    t.equal(await log.append(a, { key: 'once' }), seq)
    const other = await log.append(b)
    await log.del([seq, other])
    t.equal(await codeOf(log.get(seq)), 'flumelog:deleted')
    t.deepEqual(await collect(log.stream()), [])
  })

  test('a log is not opened with another number of partitions', async (t) => {
    const stream = streamName()
    await open(shared.server, { stream }).append({ key: 'a' })
    for (const partitions of [1, 2, 8]) {
      const log = open(shared.server, { stream, partitions })
      t.equal(await codeOf(log.ready()), 'flumelog:invalid', `${partitions}`)
      t.equal(await codeOf(log.append({ key: 'a' })), 'flumelog:invalid')
      await log.close()
    }
    const single = openLog(shared.server, { codec: 'json' })
    await single.append(1)
    const nats = await connect({ servers: shared.server.url })
    const manager = await jetstreamManager(nats)
    t.equal(await manager.streams.info(`${stream}-4`).catch(err => err.code), 10059, 'and no other stream is created')
    await manager.streams.add({ name: 'plain-0', subjects: ['plain-0.>'], allow_direct: true, allow_atomic: true })
    t.equal(await codeOf(open(shared.server, { stream: 'plain' }).ready()), 'flumelog:invalid', 'nor is a stream taken that is no partition')
    await nats.close()
  })

  test('what has no meaning over several streams is refused, and each stream has it', async (t) => {
    const log = open(shared.server).flumelog
    for (const name of ['getPrevious', 'scan', 'search', 'trim', 'compact', 'backup']) {
      t.equal(await new Promise(resolve => log[name]({}, err => resolve(err.code))), 'flumelog:invalid', name)
    }
    for (const options of [{ reverse: true }, { gte: 1 }, { deleted: true }]) {
      t.equal(await new Promise(resolve => log.stream(options)(null, err => resolve(err.code))), 'flumelog:invalid', Object.keys(options)[0])
    }
    t.equal(await new Promise(resolve => log.del({ lte: 1 }, err => resolve(err.code))), 'flumelog:invalid', 'deleting a range')
    const sequence = await new Promise((resolve, reject) => log.partitions[2].append({ key: 'a' }, (err, seq) => err ? reject(err) : resolve(seq)))
    t.deepEqual(await wrap(log).get(sequence * PARTITIONS + 2), { key: 'a' })
    t.equal(log.stats().length, PARTITIONS)
    for (const options of [{ partitions: 0, key: keyOf }, { partitions: 2 }, { key: keyOf }, { partitions: 2, key: 'key' }]) {
      t.throws(() => JetStreamLog({ stream: 'S', ...options }), { code: 'flumelog:invalid' }, JSON.stringify(options))
    }
    t.equal(await codeOf(wrap(log).append({ key: 1 })), 'flumelog:invalid', 'a key that is no string')
  })

  test('a stream with more settings has them when it is created', async (t) => {
    const stream = streamName()
    const log = open(shared.server, { stream, partitions: 2, config: { max_age: 3600e9, max_msgs: 1e6, compression: 's2', metadata: { owner: 'tests' } } })
    await log.ready()
    const nats = await connect({ servers: shared.server.url })
    const { config } = await (await jetstreamManager(nats)).streams.info(`${stream}-1`)
    t.deepEqual([config.max_age, config.max_msgs, config.compression, config.metadata.owner, config.discard], [3600e9, 1e6, 's2', 'tests', 'new'])
    await nats.close()
    t.throws(() => JetStreamLog({ stream: 'S', config: { storage: 'memory' } }), { code: 'flumelog:invalid' })
  })

  test.onFinish(closeLogs)
})

withNats('a log with partitions in a cluster', (file) => {
  test('on three servers, one of which is killed, each record is stored once, and a key keeps its order', async (t) => {
    const servers = await startCluster(file, { isSynced: false })
    const all = { url: servers.map(({ url }) => url) }
    const options = { stream: streamName(), replicas: 3, timeout: 60_000 }
    const [log, reader] = [open(all, options), open(all, options)]
    await log.ready()
    const values = valuesOf(2000, 50)
    const given = collect(reader.stream({ live: true }), values.length)
    const appended = Promise.all(values.map(async (value, i) => {
      if (i === 1000) {
        await servers[1].stop()
        await servers[1].start()
      }
      return log.append(value)
    }).filter((_, i) => i !== 1000))
    await appended
    // the one that has waited for the server
    t.deepEqual((await given).filter(({ value }) => value.n === 1000).length, 1)
    const others = (await given).map(({ value }) => value).filter(({ n }) => n !== 1000)
    t.deepEqual(byKey(others), byKey(values.filter(({ n }) => n !== 1000)))
    await closeLogs()
    for (const server of servers) await server.stop()
  })
})
