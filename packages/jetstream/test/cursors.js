'use strict'

// Cursors of a stream, with real servers, which keep them: of one process, and of several that share the work.

const test = require('tape')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const { wrap } = require('flumelog-random-access-file/promises')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { leaderOf } = require('./helpers/leader')
const { withNats, withServer, startCluster, streamName } = require('./helpers/nats')
const { codeOf } = require('../../../test/helpers/reading')

/** Milliseconds: the test would last for as long if it depended on it. */
const NEVER = 2 ** 31 - 1

const numbers = (count, from = 1) => Array.from({ length: count }, (_, i) => from + i)

async function collect (stream) {
  const all = []
  for await (const item of stream) all.push(item)
  return all
}

withServer('cursors of a JetStream stream', (shared) => {
  const open = (options) => wrap(openLog(shared.server, { codec: 'json', ...options }).log)

  /** A log of the numbers from 1 on, each of which is its seq, too. */
  async function filled (count, options) {
    const stream = streamName()
    const log = open({ stream, ...options })
    await log.append(numbers(count))
    return { stream, log }
  }

  test('a stream that is left while records are on their way keeps none of them from others', async (t) => {
    const { stream, log } = await filled(3)
    const nats = await connect({ servers: shared.server.url })
    for (const live of [false, true]) {
      const cursor = log.cursor(`live-${live}`, { commitWithin: NEVER })
      await cursor.ready()
      const requests = nats.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${cursor.name}`, { max: 1 })
      await nats.flush()
      const source = cursor.cursor.stream({ live })
      const first = new Promise(resolve => source(null, resolve))
      for await (const request of requests) t.ok(request.reply)
      source(true, () => {})
      await first
      await cursor.close()
      t.deepEqual(await collect(open({ stream }).cursor(cursor.name).stream({ values: false })), [1, 2, 3])
    }
    await nats.close()
  })

  test('a cursor goes on after the record that was committed last, also in another process', async (t) => {
    const { stream, log } = await filled(5)
    const cursor = log.cursor('worker', { commitWithin: NEVER })
    t.equal(cursor.name, 'worker')
    t.equal(log.cursor('worker'), cursor)
    t.equal(await cursor.ready(), -1)
    t.deepEqual(await log.cursors(), [{ name: 'worker', seq: -1, held: false }])
    for await (const { seq, value } of cursor.stream()) {
      t.equal(value, seq)
      if (seq === 3) break
      await cursor.commit(seq)
    }
    t.equal(cursor.seq, 2)
    t.deepEqual(await collect(cursor.stream({ values: false })), [3, 4, 5], 'what is not committed is given again')
    await cursor.commit(3)
    await log.close()
    const again = open({ stream })
    const other = again.cursor('worker')
    t.equal(await other.ready(), 3)
    t.deepEqual(await collect(other.stream({ limit: 1 })), [{ seq: 4, value: 4 }])
    t.deepEqual(await collect(other.batches({ seqs: false })).then(batches => batches.flat()), [4, 5])
    t.deepEqual(await collect(again.cursor('another').stream({ seqs: false })), numbers(5), 'another cursor starts with the first record')
    t.deepEqual((await again.cursors()).map(({ name, seq }) => [name, seq]), [['another', -1], ['worker', 3]])
    await other.commit(5)
    t.deepEqual(await collect(other.stream()), [])
    t.equal(await codeOf(other.commit(6)), 'flumelog:invalid', 'a record that was not given')
    await again.close()
  })

  test('a commit is one of the record and of those that were given before it', async (t) => {
    const { stream, log } = await filled(6)
    const cursor = log.cursor('c', { commitWithin: NEVER })
    t.deepEqual(await collect(cursor.stream({ seqs: false, limit: 5 })), numbers(5))
    await Promise.all([cursor.commit(2), cursor.commit(4), cursor.commit(3)])
    await log.close()
    const again = open({ stream })
    t.deepEqual(await collect(again.cursor('c').stream({ seqs: false })), [5, 6])
    await again.close()
  })

  test('a live stream gives what is appended, and ends when the cursor, or the log, is closed', async (t) => {
    for (const what of ['cursor', 'log']) {
      const { log } = await filled(2)
      const cursor = log.cursor('c')
      const seen = []
      for await (const { seq } of cursor.stream({ live: true })) {
        seen.push(seq)
        await cursor.commit(seq)
        if (seq === 2) log.append([3, 4])
        if (seq === 4) (what === 'log' ? log : cursor).close()
      }
      t.deepEqual(seen, [1, 2, 3, 4], what)
      t.equal(await codeOf(cursor.commit(4)), 'flumelog:closed')
      await log.close()
    }
  })

  test('processes that have the same cursor share the records, each of which is given to one of them', async (t) => {
    const { stream, log } = await filled(200)
    const logs = [log, open({ stream }), open({ stream })]
    const given = logs.map(() => [])
    let left = 400
    await Promise.all(logs.map(async (log, i) => {
      const cursor = log.cursor('workers', { commitWithin: NEVER, inFlight: 20 })
      for await (const { seq, value } of cursor.stream({ live: true })) {
        given[i].push(value)
        await cursor.commit(seq)
        if (value === 100) logs[0].append(numbers(200, 201))
        if (--left === 0) await Promise.all(logs.map(log => log.cursor('workers').close()))
      }
    }))
    t.deepEqual(given.flat().sort((a, b) => a - b), numbers(400))
    for (const [i, values] of given.entries()) t.deepEqual(values, [...values].sort((a, b) => a - b), `the order of the log in process ${i}: ${values.length}`)
    for (const log of logs) await log.close()
  })

  test('a record that is not committed in time is given to another process', async (t) => {
    const { stream, log } = await filled(1)
    const slow = log.cursor('c', { commitWithin: 1000 })
    t.deepEqual(await collect(slow.stream({ seqs: false })), [1])
    const other = open({ stream })
    t.deepEqual(await collect(other.cursor('c').stream({ live: true, limit: 1, seqs: false })), [1])
    await other.cursor('c').commit(1)
    await slow.commit(1)
    t.deepEqual(await collect(slow.stream()), [])
    await log.close()
    await other.close()
  })

  test('what a process has not committed when it closes the cursor is given to others at once', async (t) => {
    const { stream, log } = await filled(5)
    const cursor = log.cursor('c', { commitWithin: NEVER })
    t.deepEqual(await collect(cursor.stream({ seqs: false, limit: 3 })), [1, 2, 3])
    await cursor.commit(1)
    await cursor.close()
    const other = open({ stream })
    t.deepEqual(await collect(other.cursor('c').stream({ seqs: false })), [2, 3, 4, 5])
    await log.close()
    await other.close()
  })

  test('no more records than inFlight are given and not committed, in all processes together', async (t) => {
    const { stream, log } = await filled(5)
    const cursor = log.cursor('c', { commitWithin: NEVER, inFlight: 2 })
    t.deepEqual(await collect(cursor.stream({ seqs: false })), [1, 2])
    const other = open({ stream })
    t.deepEqual(await collect(other.cursor('c').stream({ seqs: false })), [])
    const next = collect(other.cursor('c').stream({ seqs: false, live: true, limit: 1 }))
    await cursor.commit(1)
    t.deepEqual(await next, [3])
    await log.close()
    await other.close()
  })

  test('the options of a cursor are changed by opening it with others', async (t) => {
    const { stream, log } = await filled(5)
    await log.cursor('c', { commitWithin: NEVER, inFlight: 2 }).ready()
    const other = open({ stream })
    t.deepEqual(await collect(other.cursor('c', { inFlight: 3 }).stream({ seqs: false })), [1, 2, 3])
    await log.close()
    await other.close()
  })

  test('deleted records are not given', async (t) => {
    const { log } = await filled(5)
    await log.del([1, 3])
    const cursor = log.cursor('c')
    const seen = []
    for await (const { seq } of cursor.stream()) {
      seen.push(seq)
      // it may have been received already
      if (seq === 2) await log.del(4)
      await cursor.commit(seq)
    }
    t.deepEqual(seen, [2, 5])
    await log.close()
  })

  test('a cursor goes on after its server was killed and started again', async (t) => {
    const { log } = await filled(20)
    const cursor = log.cursor('c', { commitWithin: 5000 })
    const seen = new Set()
    for await (const { seq } of cursor.stream({ live: true })) {
      seen.add(seq)
      if (seq === 10 && seen.size === 10) await shared.server.restart('SIGKILL')
      await cursor.commit(seq)
      if (seen.size === 20) break
    }
    t.deepEqual([...seen].sort((a, b) => a - b), numbers(20))
    await log.close()
  })

  test('what cannot be a cursor, or an option of one, is flumelog:invalid', async (t) => {
    const { stream, log } = await filled(1)
    for (const name of ['', 'a.b', 'a b', 'ü', 'a'.repeat(65), null, 1]) t.throws(() => log.cursor(name), { code: 'flumelog:invalid' }, String(name))
    for (const options of [{ inFlight: 0 }, { inFlight: 1.5 }, { commitWithin: 999 }, { commitWithin: '1000' }, { within: 1 }]) t.throws(() => log.cursor('c', options), { code: 'flumelog:invalid' }, JSON.stringify(options))
    const cursor = log.cursor('c')
    for (const options of [{ gt: 1 }, { reverse: true }, { deleted: true }]) t.equal(await codeOf(collect(cursor.stream(options))), 'flumelog:invalid', JSON.stringify(options))
    for (const seq of [1, '1', 0.5, null]) t.equal(await codeOf(cursor.commit(seq)), 'flumelog:invalid', String(seq))
    t.equal(await codeOf(cursor.commit(-1, { rewind: true })), 'flumelog:invalid')
    const nats = await connect({ servers: shared.server.url })
    const manager = await jetstreamManager(nats)
    await manager.consumers.add(stream, { durable_name: 'other', ack_policy: 'none' })
    t.equal(await codeOf(log.cursor('other').ready()), 'flumelog:invalid', 'a consumer of another kind')
    await nats.close()
    await log.close()
  })

  test('if the consumer of a cursor is deleted, its streams end with flumelog:replaced, also if there is another one of its name at once', async (t) => {
    const { stream, log } = await filled(1)
    const nats = await connect({ servers: shared.server.url })
    const { consumers } = await jetstreamManager(nats)
    for (const isCreatedAnew of [false, true]) {
      const name = `gone-${isCreatedAnew}`
      const cursor = log.cursor(name)
      const live = cursor.stream({ live: true, values: false })
      t.deepEqual(await live.next(), { done: false, value: 1 })
      await cursor.commit(1)
      const requests = nats.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, { max: 1 })
      await nats.flush()
      const ended = codeOf(live.next())
      // it waits at the server
      for await (const request of requests) t.ok(request.reply)
      const { config } = await consumers.info(stream, name)
      await consumers.delete(stream, name)
      if (isCreatedAnew) await consumers.add(stream, config)
      t.equal(await ended, 'flumelog:replaced')
      t.equal(await codeOf(collect(cursor.stream())), 'flumelog:replaced')
    }
    await nats.close()
    await log.close()
  })

  test.onFinish(closeLogs)
})

withNats('cursors of a stream on three servers', (file) => {
  test('three processes that share a cursor commit each record, though the leader is killed', async (t) => {
    const servers = await startCluster(file)
    const stream = streamName()
    const urls = servers.map(({ url }) => url)
    const logs = urls.map((url) => wrap(openLog({ url }, { servers: [url, ...urls], stream, codec: 'json', replicas: 3, timeout: 60_000 }).log))
    await Promise.all(logs.map(log => log.ready()))
    const committed = new Set()
    const wanted = numbers(300)
    logs[0].append(wanted.slice(0, 150))
    let killed = null
    await Promise.all(logs.map(async (log) => {
      const cursor = log.cursor('workers', { commitWithin: 5000 })
      for await (const { seq, value } of cursor.stream({ live: true })) {
        await cursor.commit(seq)
        committed.add(value)
        if (committed.size === 50) killed ??= leaderOf(servers, stream).then(leader => leader.restart('SIGKILL')).then(() => logs[0].append(wanted.slice(150)))
        if (committed.size === 300) for (const log of logs) log.cursor('workers').close()
      }
    }))
    await killed
    t.deepEqual([...committed].sort((a, b) => a - b), wanted)
    for (const log of logs) await log.close()
    await Promise.all(servers.map(server => server.stop()))
  })

  test.onFinish(closeLogs)
})
