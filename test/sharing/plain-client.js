'use strict'

// A client that was written from docs/protocol.md and format.md alone
// (test/helpers/plain-client.js), with owners and clients that use this library.

const path = require('path')
const test = require('tape')
const FlumeLog = require('../..')
const { PlainClient } = require('../helpers/plain-client')
const { published, until } = require('../helpers/followers')
const { filesIn, testFolder } = require('../helpers/folder')
const { numbered, numberOf, isIntact } = require('../helpers/numbered')
const { start } = require('../helpers/processes')
const { promises } = require('../helpers/promises')
const { randomFrom } = require('../helpers/random')
const { collect, event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** That are appended in each kind of log. */
const RECORDS = thorough ? 10000 : 1000

/** Appends numbered records of mixed sizes through a plain client, and notes which were stored where. */
class Feeder {
  constructor (t, file, { random, blockSize, checksum = true }) {
    this.client = new PlainClient(file)
    t.teardown(() => this.client.close())
    Object.assign(this, { random, most: blockSize - (checksum ? 14 : 10), number: 0 })
    /** seq -> number, in the order in which they were acknowledged */
    this.stored = new Map()
    this.errors = []
    this.appends = []
  }

  /** One frame. */
  append () {
    const { random, most } = this
    const atomic = random() < 0.05
    const count = random() < 0.3 ? 1 + random.below(20) : 1
    const largest = atomic ? Math.floor((most + 4) / count) - 4 : random() < 0.1 ? most : Math.min(most, 300)
    const records = Array.from({ length: count }, () => numbered(++this.number, 8 + random.below(largest - 7)))
    const append = this.client.append(records, { atomic, durable: random() < 0.05 })
    append.then(seqs => records.forEach((record, i) => this.stored.set(seqs[i], numberOf(record))), err => this.errors.push(err))
    this.appends.push(append.catch(() => {}))
    return append
  }

  /** Some of them one after the other, most of them at once. */
  async appendUntil (isEnough) {
    while (!isEnough()) {
      const append = this.append().catch(() => {})
      if (this.random() < 0.02) await append
      else if (this.random() < 0.02) await event(setImmediate)
    }
    await this.settled()
  }

  settled () {
    return Promise.all(this.appends)
  }
}

/** What another process reads, once it sees all that was acknowledged: seq -> number */
async function readAll (file, { stored }) {
  await published(file, Math.max(...stored.keys()))
  const log = FlumeLog(file, { readOnly: true })
  const records = await collect(log, { seqs: true, values: true })
  await promises(log).close()
  if (!records.every(({ value }) => isIntact(value))) throw new Error('a record is not whole')
  return new Map(records.map(({ seq, value }) => [seq, numberOf(value)]))
}

/** Whether a log has exactly what was acknowledged, where it was acknowledged, in order. */
function compare (t, found, { stored }) {
  const wrong = [...stored].filter(([seq, number]) => found.get(seq) !== number)
  t.equal(wrong.length, 0, `all of its ${stored.size} seqs are right`)
  t.equal(found.size, stored.size, 'no record is stored twice, or without an acknowledgement')
  const numbers = [...found.values()]
  t.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]), 'they are in the order in which they were sent')
}

/** An owner or client in another process. */
async function startProcess (t, file, options = {}) {
  const program = start(t, 'open-logs.js', [{ file, options: { ...options, shared: true } }])
  await program.message(({ what }) => what === 'opened')
  return program
}

async function openOwner (file, options = {}) {
  const owner = promises(FlumeLog(file, { ...options, shared: true }))
  await owner.onReady()
  return owner
}

for (const { blockSize, checksum } of [{ blockSize: 1000, checksum: false }, { blockSize: 65536, checksum: true }]) {
  test(`a client written from the documents computes the seqs of ${RECORDS} records in blocks of ${blockSize}`, async (t) => {
    t.comment(`SEED=${SEED} repeats it`)
    const file = testFolder(t)('log')
    const owner = await openOwner(file, { blockSize, checksum })
    const feeder = new Feeder(t, file, { random: randomFrom(SEED), blockSize, checksum })
    await feeder.appendUntil(() => feeder.number >= RECORDS)
    compare(t, await readAll(file, feeder), feeder)
    const { client } = feeder
    t.deepEqual(feeder.errors, [])
    t.equal(client.ackedBeforePublished, 0, 'the recovery point said so before')
    await until(() => client.looks > 0)
    t.equal(owner.log.stats().refused, 0)
    await client.ping()
    await client.close()
    await owner.close()
  })
}

test('it uses all of the window', async (t) => {
  const file = testFolder(t)('log')
  const owner = await openOwner(file)
  const client = new PlainClient(file)
  const records = (size, count) => Array.from({ length: count }, () => Buffer.alloc(size, 1))
  const large = Promise.all(Array.from({ length: 8 }, () => client.append(records(2 ** 19 / 16 - 4 - 2, 16))))
  const small = Promise.all(Array.from({ length: 1000 }, () => client.append(records(1, 1))))
  await large
  t.ok(client.largestWindow > client.window - 1000 && client.largestWindow <= client.window, `${client.largestWindow} of ${client.window} bytes were under way`)
  await small
  t.equal(client.largestCount, 256, 'small frames count as 4,096 bytes each')
  t.equal(owner.log.stats().refused, 0)
  const seqs = await client.append([...records(65522, 16), ...records(2 ** 20 - 30 - 4 - 16 * 65526, 1)])
  t.equal(seqs.length, 17, 'a frame of 1 MiB is accepted')
  await client.close()
  await owner.close()
})

test('it deletes and syncs, 1,000 requests at once', async (t) => {
  const file = testFolder(t)('log')
  const owner = await openOwner(file, { blockSize: 4096 })
  const feeder = new Feeder(t, file, { random: randomFrom(SEED), blockSize: 4096 })
  const { client } = feeder
  await feeder.appendUntil(() => feeder.number >= 1500)
  const [kept, ...others] = [...feeder.stored.keys()]
  const { looks } = client
  await client.delete(others[0])
  await until(() => client.looks > looks)
  t.pass('it is told to look at the file')
  await Promise.all(others.slice(0, 1000).map(seq => client.delete(seq)))
  await client.sync()
  t.equal(owner.log.stats().unsynced, 0)
  for (const seq of others.slice(0, 1000)) feeder.stored.delete(seq)
  compare(t, await readAll(file, feeder), feeder)
  t.ok(feeder.stored.has(kept))
  const err = await client.delete(kept + 1).then(() => null, err => err)
  t.ok(err !== null && typeof err.code === 'string' && err.message.includes(String(kept + 1)), `it is told why it cannot delete what is no record: ${err?.message}`)
  const range = await client.delete(2 ** 50).then(() => null, err => err)
  t.equal(range?.code, 'flumelog:not-found')
  await client.close()
  await owner.close()
})

test('it goes on with the next owner when one closes or dies, and nothing is stored twice', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const file = testFolder(t)('log')
  const random = randomFrom(SEED)
  let owner = await startProcess(t, file, { blockSize: 4096 })
  const feeder = new Feeder(t, file, { random, blockSize: 4096 })
  for (let i = 1; i <= (thorough ? 6 : 2); i++) {
    const next = await startProcess(t, file)
    let isOver = false
    const count = feeder.stored.size + 200 + random.below(600)
    const appends = feeder.appendUntil(() => isOver)
    while (feeder.stored.size < count) await event(setImmediate)
    const { connections } = feeder.client
    if (i % 2 === 0) await owner.kill()
    else {
      owner.send({ close: true })
      await owner.over
    }
    while (feeder.client.connections === connections || !feeder.client.isWelcome) await event(setTimeout)
    isOver = true
    await appends
    owner = next
  }
  t.deepEqual(feeder.errors, [])
  t.ok(feeder.client.resent > 0, `${feeder.client.resent} frames were sent again`)
  t.equal(feeder.stored.size, feeder.number)
  compare(t, await readAll(file, feeder), feeder)
})

test('it is told if the owner does not know what became of its records', async (t) => {
  const file = testFolder(t)('log')
  const owner = await openOwner(file)
  const client = new PlainClient(file)
  const lost = client.append([Buffer.from('sent to an owner that nobody remembers')])
  client.sent = client.waiting.splice(0)
  t.equal(await lost.then(() => 'stored', err => err.message), 'it is unknown whether this was stored')
  t.deepEqual(await client.append([Buffer.from('a'), Buffer.from('b')]), [0, 5])
  await client.close()
  await owner.close()
})

test('it is forgotten after BYE', async (t) => {
  const file = testFolder(t)('log')
  const owner = await openOwner(file)
  const client = new PlainClient(file)
  await client.append([Buffer.from('a')])
  t.equal(owner.log.stats().clients.length, 1)
  await client.close()
  while (owner.log.stats().clients.length > 0) await event(setImmediate)
  await owner.close()
  t.deepEqual(filesIn(path.dirname(file)), ['log'])
})
