'use strict'

// Compactions of a shared log: by the owner, and for clients. The simulator kills processes at each step of them, while all append, delete and read.

const fs = require('fs')
const tape = require('tape')
const { open } = require('../../promises')
const { Owner } = require('../../lib/sharing/owner')
const { logBehind } = require('../../lib/log')
const { testFolder } = require('../helpers/folder')
const { flumelog } = require('../helpers/command-line')
const { RawClient, hello } = require('../helpers/raw-client')
const { until } = require('../helpers/reading')

const SETTINGS = { blockSize: 1024, shared: true }

tape('a client has the owner compact the log, and all go on in the new file', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client, other] = [await open(file, SETTINGS), await open(file, SETTINGS), await open(file, SETTINGS)]
  t.deepEqual([owner, client, other].map(log => log.flumelog.role), ['owner', 'client', 'client'])
  const seqs = []
  for (let n = 0; n < 300; n++) seqs.push(await client.append(`record ${n}`))
  await client.del(seqs.filter((_, n) => n % 3 > 0))
  const kept = Array.from({ length: 100 }, (_, n) => `record ${3 * n}`)
  // it hears of deletions by another process a moment later
  await until(async () => (await valuesOf(other)).length <= kept.length)
  const live = other.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
  const seen = []
  for (let n = 0; n < 50; n++) seen.push(String((await live.next()).value))
  const maps = []
  for (const log of [owner, client, other]) log.onCompact(map => maps.push(map))
  const compacted = await client.compact()
  t.deepEqual([compacted.records, compacted.deleted], [100, 200])
  await other.append('after it')
  for (let n = 50; n < 101; n++) seen.push(String((await live.next()).value))
  t.deepEqual(seen, [...kept, 'after it'], 'a stream goes on at the next record')
  await live.return()
  t.deepEqual(new Set(maps.map(({ id }) => id)), new Set([compacted.id]))
  t.equal(maps.length, 3)
  t.equal(String(await client.get(await maps[1].map(seqs[33]))), 'record 33')
  for (const log of [owner, client, other, await open(file, SETTINGS)]) {
    await shows(log, 'after it')
    t.deepEqual(await valuesOf(log), [...kept, 'after it'], log.flumelog.role)
    t.deepEqual([log.id, log.flumelog.start], [compacted.id, compacted.start])
    t.equal(await log.get(seqs[0]).catch(err => err.code), 'flumelog:trimmed')
  }
  for (let n = 0; n < 3; n++) {
    await client.del(await lastSeqOf(client))
    const { id } = await [other, owner, client][n].compact()
    await client.append(`generation ${n}`)
    for (const log of [owner, client, other]) await shows(log, `generation ${n}`)
    t.deepEqual([owner.id, client.id, other.id], [id, id, id])
  }
})

tape('an abort of a client ends only its own wait', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  await client.append(['one', 'two'])
  await client.del(0)
  const { records } = await owner.compact()
  t.equal(records, 1)
  await until(() => client.id === owner.id)
  t.deepEqual(await valuesOf(client), ['two'])
  t.equal((await client.compact({ signal: AbortSignal.abort() }).catch(err => err)).name, 'AbortError')
  await client.del(client.flumelog.since.value)
  const aborted = new AbortController()
  const waiting = client.compact({ signal: aborted.signal }).catch(err => err)
  aborted.abort()
  t.equal((await waiting).name, 'AbortError')
  const closed = client.compact().catch(err => err)
  await client.close()
  t.equal((await closed).code, 'flumelog:closed')
  await owner.close()
})

tape('a client that waits for a compaction gets it from the next owner if this one closes', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  const seqs = await Promise.all(Array.from({ length: 2000 }, (_, n) => owner.append(`record ${n}`)))
  await owner.del(seqs[0])
  const compacted = client.compact()
  await until(() => fs.existsSync(file + '.unfinished') || client.flumelog.id !== '0')
  await owner.close()
  t.equal((await compacted).records, 1999)
  t.equal(client.flumelog.role, 'owner')
  await client.close()
})

tape('what a client deletes while it moves to the compacted log is what it meant before, or is refused', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, { ...SETTINGS, blocking: false })]
  for (let n = 0; n < 3; n++) {
    const { length } = await valuesOf(owner)
    const seqs = await owner.append(Array.from({ length: 100 }, (_, i) => `record ${n} ${i}`)).then(() => seqsOf(owner))
    await owner.del(seqs[length])
    await until(() => client.flumelog.since.value === owner.flumelog.since.value)
    const { id } = client
    let mapped, deleted
    const removes = [
      client.onCompact(({ map }) => { mapped = map(seqs.at(-10)) }),
      // most often, the client has not followed by then
      owner.onCompact(() => {
        const again = (err) => {
          if (err) t.equal(err.code, 'flumelog:compacted')
          return mapped.then(seq => client.del({ gte: seq }))
        }
        deleted = client.id === id ? client.del({ gt: seqs.at(-11) }).catch(again) : again()
      })
    ]
    await owner.compact()
    await deleted
    for (const remove of removes) remove()
    await client.sync()
    const values = await valuesOf(owner)
    t.equal(values.length, 89 * (n + 1), 'the last ten are deleted')
  }
  await client.close()
  await owner.close()
})

tape('a deletion or a scan that a client has not started when the log is compacted is refused', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  const seqs = []
  for (let n = 0; n < 10; n++) seqs.push(await client.append(`record ${n}`))
  await owner.del(seqs[0])
  const { follower } = logBehind(client.flumelog).state.opened
  const { whenFresh } = follower
  /** As if it read the file meanwhile. */
  const waiting = []
  follower.whenFresh = (cb) => waiting.push(cb)
  // the log does not know that calls wait, and lets the process end
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const codes = Promise.all([client.del(seqs[1]), client.del({ gt: seqs[4] }), client.scan({ gt: seqs[4] }, () => t.fail('nothing is scanned'))].map(done => done.then(() => 'done', err => err.code)))
  const moved = new Promise(resolve => client.onCompact(resolve))
  await owner.compact()
  await moved
  follower.whenFresh = whenFresh
  for (const cb of waiting) follower.whenFresh(cb)
  t.deepEqual(await codes, ['flumelog:compacted', 'flumelog:compacted', 'flumelog:compacted'])
  t.deepEqual(await valuesOf(owner), [1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => `record ${n}`))
  await client.close()
  await owner.close()
})

tape('flumelog compact works on a log that others share, and on one of which the owner is gone', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  const seqs = []
  for (let n = 0; n < 10; n++) seqs.push(await client.append(`record ${n}`))
  await client.del(seqs.slice(1, 9))
  const { code, stdout, stderr } = await flumelog(['compact', file, '--yes'])
  t.deepEqual([code, stderr], [0, ''])
  t.match(stdout, /2 records kept, 8 deleted records or freed blocks dropped, by the process that owns the log; offsets have changed/)
  t.deepEqual(await valuesOf(client), ['record 0', 'record 9'])
  await client.del(client.flumelog.since.value)
  await owner.close()
  await client.append('the owner now')
  t.equal((await flumelog(['compact', file, '--yes'])).code, 0)
  t.deepEqual(await valuesOf(client), ['record 0', 'the owner now'])
  await client.close()
})

tape('a compaction ends the connections of clients, which come back when they have followed; the next one does not wait for ever for others', async (t) => {
  const file = testFolder(t)('log')
  const owner = await open(file, { ...SETTINGS, timeout: 100 })
  const seqs = []
  for (let n = 0; n < 10; n++) seqs.push(await owner.append(`record ${n}`))
  const raw = new RawClient(file)
  await raw.greet()
  await owner.del(seqs.slice(0, 5))
  const { id } = await owner.compact()
  t.equal(await raw.refusal(), 'closed')
  const behind = new RawClient(file, raw.id)
  behind.send(hello(raw.id, 0, { log: '0' }))
  t.equal(await behind.refusal(), 'closed', 'it has not followed')
  await owner.del(await lastSeqOf(owner))
  const again = await owner.compact()
  t.notEqual(again.id, id, 'nor has it since')
  const late = new RawClient(file, raw.id)
  late.send(hello(raw.id, 0, { log: again.id }))
  t.equal(JSON.parse(String(await late.frame('WELCOME'))).id, again.id)
  late.socket.destroy()
  t.deepEqual(await valuesOf(owner), ['record 5', 'record 6', 'record 7', 'record 8'])
  await owner.close()
})

tape('a client that asks again for a compaction, since its connection ended, gets the one that was made', async (t) => {
  const running = []
  const owner = Object.assign(Object.create(Owner.prototype), {
    compaction: null,
    writer: { file: { filename: 'log' }, blocks: { id: 'second' } },
    context: { listeners: { oncompact: () => new Promise((resolve, reject) => running.push({ resolve, reject })) } }
  })
  const all = ['second', 'second', 'first'].map(id => owner.compact(id))
  t.equal(running.length, 1, 'one in progress is for all')
  owner.writer.blocks.id = 'third'
  running[0].resolve({ id: 'third' })
  t.deepEqual((await Promise.all(all)).map(({ id }) => id), ['third', 'third', 'third'])
  t.deepEqual((await Promise.all([owner.compact('second'), owner.compact('first')])).map(({ id }) => id), ['third', 'third'])
  t.equal(running.length, 1)
  const failed = owner.compact('third').catch(err => err.message)
  running[1].reject(new Error('full'))
  t.equal(await failed, 'full')
  t.equal(await owner.compact('second').catch(err => err.code), 'flumelog:compacted', 'an earlier owner has done that')
  owner.compact('third')
  t.equal(running.length, 3, 'one that failed is made again')
})

async function valuesOf (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(String(value))
  return values
}

async function seqsOf (log) {
  const seqs = []
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  return seqs
}

/** Resolves when a process has heard of the last record. */
async function shows (log, value) {
  await until(async () => (await valuesOf(log)).at(-1) === value)
}

async function lastSeqOf (log) {
  const { value } = await log.stream({ reverse: true, limit: 1, values: false })[Symbol.asyncIterator]().next()
  return value
}
