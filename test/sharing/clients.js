'use strict'

// What callers see of a log that is shared, in a client and in the owner. Several logs on one
// file in this process are as separate as logs in several processes.

const tape = require('tape')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { open } = require('../../promises')
const { filesIn, testFolder } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 1024

/**
 * @param {import('tape').Test} t
 * @param {object} [ownerOptions]
 * @param {object} [clientOptions]
 */
async function pair (t, ownerOptions, clientOptions) {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, shared: true, ...ownerOptions }))
  await owner.onReady()
  const client = promises(FlumeLog(file, { shared: true, ...clientOptions }))
  await client.onReady()
  return { file, owner, client }
}

async function closeAll (...logs) {
  for (const log of logs) await log.close()
}

tape('the first process is the owner, the others are clients', async (t) => {
  const { file, owner, client } = await pair(t)
  const other = await open(file, { shared: true })
  t.deepEqual([owner.log.role, client.log.role, other.role], ['owner', 'client', 'client'])
  t.deepEqual(owner.log.stats().clients.map(({ pid }) => pid), [process.pid, process.pid])
  t.deepEqual(client.log.stats().clients, [])
  await closeAll(client, other, owner)
  const alone = promises(FlumeLog(file))
  await alone.onReady()
  t.equal(alone.log.role, null, 'a log that is not shared has no role')
  await alone.close()
  t.deepEqual(filesIn(require('path').dirname(file)), ['log'], 'nothing is left beside the log')
})

tape('a client gets the same seqs as the owner would, and reads what it has appended', async (t) => {
  const { owner, client } = await pair(t)
  const model = require('../helpers/model').modelOf({ blockSize: BLOCK_SIZE, checksum: true })
  for (let i = 0; i < 200; i++) {
    const log = i % 3 === 0 ? owner : client
    const values = Array.from({ length: i % 5 + 1 }, (_, j) => model.make(20 + (i * 7 + j) % 200))
    t.equal(await log.append(values), model.append(values))
    t.deepEqual(await log.get(model.since()), values[values.length - 1])
    t.equal(log.log.since.value, model.since())
  }
  t.deepEqual(await collect(client.log), await collect(owner.log))
  await closeAll(client, owner)
})

tape('get, del and the commit of a cursor find what was acknowledged to another process, at once', async (t) => {
  const { file, owner, client } = await pair(t)
  const other = promises(FlumeLog(file, { shared: true }))
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await Promise.all([other.onReady(), reader.onReady()])
  const writers = [owner, other, client]
  for (const writer of writers) {
    const append = async () => writer.append('a record')
    for (const log of [owner, client, reader]) t.equal(String(await log.get(await append())), 'a record')
    for (const log of [owner, client]) {
      const [one, two, three] = [await append(), await append(), await append()]
      await log.del([one, two])
      await log.del({ gte: three })
      t.deepEqual(await Promise.all([one, two, three].map(seq => codeOf(log.get(seq)))), ['flumelog:deleted', 'flumelog:deleted', 'flumelog:deleted'])
    }
    const cursor = reader.log.cursor(`position-${writers.indexOf(writer)}`)
    const seq = await append()
    await new Promise((resolve, reject) => cursor.commit(seq, {}, err => err ? reject(err) : resolve(null)))
    t.equal(cursor.seq, seq)
  }
  await closeAll(reader, other, client, owner)
})

tape('a stream, a scan and getPrevious with a bound find what was acknowledged to another process, at once', async (t) => {
  const { file, owner, client } = await pair(t)
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  for (const log of [owner.log, client.log, reader.log]) {
    const append = (value) => owner.append(value)
    const first = await append('first')
    t.deepEqual((await collect(log, { gte: first, seqs: false })).map(String), ['first'])
    const [second, third] = [await append('second'), await append('third')]
    t.deepEqual((await collect(log, { gt: first, lt: third, seqs: false })).map(String), ['second'])
    const [, fifth] = [await append('fourth'), await append('fifth')]
    t.deepEqual(await new Promise((resolve, reject) => log.getPrevious(fifth, (err, value) => err ? reject(err) : resolve(String(value)))), 'fourth')
    const sixth = await append('sixth')
    const seqs = []
    await new Promise((resolve, reject) => log.scan({ gte: second, lte: sixth }, (block, start, end, seq) => { seqs.push(seq) }, err => err ? reject(err) : resolve(null)))
    t.deepEqual([seqs.length, seqs[0], seqs[4]], [5, second, sixth])
  }
  await closeAll(reader, client, owner)
})

tape('an atomic batch of a client gets the seqs of its records', async (t) => {
  const { owner, client } = await pair(t)
  await client.append('before')
  const first = client.append(['a', 'b', 'c'], { atomic: true })
  const next = client.append('after')
  t.deepEqual(await first, [10, 15, 20])
  t.equal(await next, 25)
  t.deepEqual((await collect(owner.log, { seqs: false })).map(String), ['before', 'a', 'b', 'c', 'after'])
  await closeAll(client, owner)
})

tape('callbacks of a client are called in the order of the calls', async (t) => {
  const { owner, client } = await pair(t)
  const order = []
  const calls = []
  const call = (name, start) => calls.push(new Promise(resolve => start(() => { order.push(name); resolve(null) })))
  for (let i = 0; i < 50; i++) {
    call(`${i}`, cb => client.log.append(`record ${i}`, cb))
    if (i % 10 === 5) call(`${i} batch`, cb => client.log.append(['x', 'y'], i % 20 === 5 ? { atomic: true } : {}, cb))
  }
  call('drain', cb => client.log.onDrain(cb))
  call('sync', cb => client.log.sync(cb))
  const expected = [...order, ...calls.map((_, i) => i)].length
  await Promise.all(calls)
  t.equal(order.length, expected)
  t.deepEqual(order.filter(name => /^\d+$/.test(name)), Array.from({ length: 50 }, (_, i) => `${i}`))
  t.deepEqual(order.slice(-2), ['drain', 'sync'])
  await closeAll(client, owner)
})

tape('a client refuses what the owner would refuse, with the same errors', async (t) => {
  const { owner, client } = await pair(t)
  const codeOf = (promise) => promise.then(() => null, err => err.code)
  t.equal(await codeOf(client.append('')), 'flumelog:invalid')
  t.equal(await codeOf(client.append(Buffer.alloc(5))), 'flumelog:invalid')
  t.equal(await codeOf(client.append(Buffer.alloc(2000, 1))), 'flumelog:too-large')
  t.equal(await codeOf(client.append([Buffer.alloc(900, 1), Buffer.alloc(900, 1)], { atomic: true })), 'flumelog:too-large')
  const first = client.append(Buffer.alloc(600, 1))
  await first
  t.equal(await codeOf(client.del(5)), 'flumelog:not-found')
  t.equal(await codeOf(client.del(-1)), 'flumelog:invalid')
  t.equal(await codeOf(client.del(700)), 'flumelog:not-found')
  t.equal(await codeOf(client.get(0)), null)
  await client.close()
  t.equal(await codeOf(client.append('late')), 'flumelog:closed')
  t.equal((await collect(owner.log)).length, 1)
  await owner.close()
})

tape('a deletion of any process is seen by all', async (t) => {
  const { file, owner, client } = await pair(t)
  const other = promises(FlumeLog(file, { shared: true }))
  await other.onReady()
  const seqs = []
  for (let i = 0; i < 40; i++) seqs.push(await client.append(Buffer.alloc(100, i + 1)))
  const codeOf = (promise) => promise.then(() => null, err => err.code)
  for (const log of [owner, client, other]) {
    // what another process has appended is seen a moment later
    while (await codeOf(log.get(seqs[39])) !== null) await new Promise(resolve => setImmediate(resolve))
    for (const seq of seqs) t.equal(await codeOf(log.get(seq)), null)
  }
  const deleted = new Set([[client, 0], [owner, 7], [other, 20], [client, 39]].map(([log, i]) => {
    return { log, i }
  }))
  for (const { log, i } of deleted) {
    await log.del(seqs[i])
    t.equal(await codeOf(log.get(seqs[i])), 'flumelog:deleted', 'at once by the one that has deleted')
  }
  // what an append tells comes behind what the deletion before it told
  for (const log of [owner, client, other]) await log.append('end')
  for (const log of [owner, client, other]) for (const { i } of deleted) t.equal(await codeOf(log.get(seqs[i])), 'flumelog:deleted')
  await closeAll(other, client, owner)
})

tape('live streams of all processes give every record once, in order', async (t) => {
  const { file, owner, client } = await pair(t)
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  const total = 3000
  const followed = [owner, client, reader].map(log => new Promise((resolve, reject) => {
    const seqs = []
    pull(log.log.stream({ live: true, values: false }), pull.drain(seq => {
      seqs.push(seq)
      if (seqs.length === total) resolve(seqs)
    }, err => err && err !== true && reject(err)))
  }))
  const appended = []
  for (let i = 0; i < total; i += 10) {
    const batch = Array.from({ length: 5 }, (_, j) => Buffer.alloc(30, i + j + 1 & 127 || 1))
    appended.push(owner.append(batch), client.append(batch))
    if (i % 100 === 0) await Promise.all(appended)
  }
  await Promise.all(appended)
  const [first, ...others] = await Promise.all(followed)
  t.deepEqual(first, (await collect(owner.log, { values: false })))
  for (const seqs of others) t.deepEqual(seqs, first)
  await closeAll(reader, client, owner)
})

tape('a stream with old: false in a client gives what is acknowledged from then on', async (t) => {
  const { owner, client } = await pair(t)
  await client.append(['a', 'b'])
  const seen = new Promise(resolve => pull(client.log.stream({ old: false, seqs: false }), pull.take(2), pull.collect((_, values) => resolve(values.map(String)))))
  await client.append('c')
  await owner.append('d')
  t.deepEqual(await seen, ['c', 'd'])
  await closeAll(client, owner)
})

tape('a sink of a client waits at highWaterMark, and stores everything', async (t) => {
  const { owner, client } = await pair(t, {}, { highWaterMark: 2000 })
  let most = 0
  const stored = await new Promise((resolve, reject) => pull(
    pull.count(2000),
    pull.map(i => {
      most = Math.max(most, client.log.stats().inFlight.bytes)
      return `record ${i}`
    }),
    client.log.sink({ sync: true }, (err, stored) => err ? reject(err) : resolve(stored))
  ))
  t.equal(stored.records, 2001)
  t.ok(most <= 2011, `${most} bytes were in flight`)
  t.equal(stored.seq, client.log.since.value)
  t.equal((await collect(owner.log)).length, 2001)
  await closeAll(client, owner)
})

tape('a client acknowledges what has to be durable only when it is', async (t) => {
  const { owner, client } = await pair(t, { sync: 'never' })
  await client.append('not durable')
  t.ok(owner.log.stats().unsynced > 0)
  await client.append('durable', { sync: true })
  t.equal(owner.log.stats().unsynced, 0)
  await client.append('not durable')
  t.ok(owner.log.stats().unsynced > 0)
  await client.sync()
  t.equal(owner.log.stats().unsynced, 0)
  await client.append([], { sync: true })
  const always = promises(FlumeLog(client.log.filename, { shared: true, sync: 'always' }))
  await always.append('durable')
  t.equal(owner.log.stats().unsynced, 0)
  await closeAll(always, client, owner)
})

tape('the owner counts what is in flight for each client', async (t) => {
  const { owner, client } = await pair(t)
  await client.append(['abc', 'defg'])
  const [{ id, ...counts }] = owner.log.stats().clients
  t.equal(id.length, 16)
  t.deepEqual(counts, { pid: process.pid, appended: { records: 2, bytes: 7 }, inFlight: { records: 0, bytes: 0 } })
  const { appended, written, inFlight } = client.log.stats()
  t.deepEqual([appended, written, inFlight], [{ records: 2, bytes: 7 }, { records: 2, bytes: 7 }, { records: 0, bytes: 0 }])
  t.equal(client.log.stats().size, owner.log.stats().size)
  await closeAll(client, owner)
})

tape('the appends of a client in one turn are one message, and share a write', async (t) => {
  const { owner, client } = await pair(t)
  await client.append('a')
  const [before, sent] = [owner.log.stats().writes, client.log.stats().writes]
  await Promise.all(Array.from({ length: 100 }, (_, i) => client.append(`record ${i}`)))
  t.equal(client.log.stats().writes - sent, 1)
  t.ok(owner.log.stats().writes - before <= 3, `${owner.log.stats().writes - before} writes`)
  await closeAll(client, owner)
})

tape('a client that appends without end delays neither others nor the owner', async (t) => {
  const { file, owner, client } = await pair(t, { blockSize: 65536 })
  const other = promises(FlumeLog(file, { shared: true }))
  await other.onReady()
  let flooding = true
  let flooded = 0
  const flood = () => {
    for (let i = 0; i < 1000; i++) {
      client.log.append(Buffer.alloc(1000, 1), () => {
        flooded++
        if (flooding && flooded % 1000 === 0) flood()
      })
    }
  }
  for (let i = 0; i < 20; i++) flood()
  await client.append('one of them')
  const counts = []
  for (const log of [other, owner, other, owner]) {
    const before = flooded
    for (let i = 0; i < 5; i++) await log.append('small')
    counts.push(flooded - before)
  }
  flooding = false
  // 20 MB wait in the client at any time; an append of another waits for what the owner has taken, some MB at most
  t.ok(counts.every(count => count < 5 * 6000), `${counts.join(', ')} records of the flood were stored meanwhile`)
  await closeAll(client, other, owner)
})

tape('an error of an append without a callback goes to the next onDrain, sync or close', async (t) => {
  const { owner, client } = await pair(t)
  client.log.append(Buffer.alloc(5000, 1))
  t.equal(await client.onDrain().catch(err => err.code), 'flumelog:too-large')
  await client.onDrain()
  await closeAll(client, owner)
})

tape('shared goes neither with readOnly, nor without a lock', (t) => {
  for (const options of [{ readOnly: true }, { lock: false }]) {
    try {
      FlumeLog('log', { shared: true, ...options })
      t.fail('it should throw')
    } catch (err) {
      t.equal(err.code, 'flumelog:invalid', err.message)
    }
  }
  t.end()
})

tape('a log that another process has open alone cannot be shared, and the other way round', async (t) => {
  const file = testFolder(t)('log')
  const errorOf = (log) => promises(log).onReady().then(() => null, err => err)
  const codeOf = async (log) => (await errorOf(log))?.code
  const alone = promises(FlumeLog(file))
  await alone.onReady()
  const refused = await errorOf(FlumeLog(file, { shared: true, timeout: 50 }))
  t.equal(refused.code, 'flumelog:locked')
  t.match(refused.message, /log: another process, or another log object of this one, has the log locked and has not answered for 50 ms;/)
  await alone.close()
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.onReady()
  t.equal(await codeOf(FlumeLog(file)), 'flumelog:locked')
  await owner.close()
})
