'use strict'

// Large records in a shared log: the chunks of one are sent in several frames, and stored in a row.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const { PART, LAST, kindOf } = require('../../lib/format/chunk')
const layout = require('../../lib/format/layout')
const { testFolder } = require('../helpers/folder')
const { framesIn, isIntact, numberOf, numbered } = require('../helpers/numbered')
const { until } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { inTime, shared, sharer } = require('../helpers/sharing')

const MIB = 1024 * 1024

/** The numbers of the records in a file; all chunks of a record are in a row, unless it was never acknowledged. */
async function numbersIn (t, file, blockSize = 65536) {
  const log = promises(FlumeLog(file, { readOnly: true, large: true }))
  const values = await collect(log.log, { seqs: false })
  await log.close()
  t.ok(values.every(isIntact), 'every record is whole')
  const bytes = fs.readFileSync(file)
  const kinds = framesIn(bytes, blockSize).map(seq => kindOf(layout.dataAt(bytes, seq)))
  t.ok(kinds.includes(LAST) && kinds.includes(PART), 'some are in chunks')
  return values.map(numberOf)
}

/** Appends records of these sizes at once. */
function appendAll (log, first, sizes) {
  return sizes.map((size, i) => log.append(numbered(first + i, size)))
}

tape('large records that several processes append at once are whole for all of them', async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file, { large: true })
  await owner.onReady()
  const clients = [shared(file, { large: true }), shared(file, { large: true })]
  await Promise.all(clients.map(client => client.onReady()))
  const all = [owner, ...clients]
  // up to five frames each
  const sizes = [100, 70_000, 2.5 * MIB, 20, 4 * MIB + 1, 300_000, 65_522, 65_523]
  const seqs = []
  for (let round = 0; round < 3; round++) seqs.push(all.map((log, i) => appendAll(log, 1000 * i + 100 * round + 1, sizes)))
  const found = await inTime(Promise.all(seqs.flat(2)), 'an append')
  t.equal(new Set(found).size, found.length)
  for (const [i, log] of all.entries()) {
    const value = await inTime(log.get(found[4 + 8 * i]), 'a get')
    t.ok(value.equals(numbered(1000 * i + 5, 4 * MIB + 1)), `${log.log.role} reads what it has appended`)
    const seen = await inTime(collect(log.log), 'a stream')
    t.deepEqual(seen.map(({ seq }) => seq), [...found].sort((a, b) => a - b), 'and what all have')
    t.ok(seen.every(({ value }) => isIntact(value)), 'as it was')
  }
  t.deepEqual(clients.map(({ log }) => log.stats().appended), clients.map(() => ({ records: 24, bytes: 3 * sizes.reduce((sum, size) => sum + size) })))
  t.deepEqual(clients.map(({ log }) => log.stats().inFlight), clients.map(() => ({ records: 0, bytes: 0 })))

  await inTime(clients[0].del(found[4]), 'a deletion by a client')
  // another client sees it a moment later
  while ((await inTime(collect(clients[1].log, { values: false }), 'a stream')).includes(found[4]));
  for (const log of all.reverse()) await inTime(log.close(), 'close')
  t.equal((await numbersIn(t, file)).length, found.length - 1)
})

tape('a client without the option stores what looks like a chunk as it is', async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file, { large: true })
  await owner.onReady()
  const client = shared(file)
  const raw = Buffer.concat([Buffer.from('\xffchunked', 'latin1'), Buffer.alloc(40, 1)])
  t.equal(await client.append(raw), 0)
  t.equal(await client.append(raw), raw.length + 4, 'and it counts as one')
  t.deepEqual(client.log.stats().inFlight, { records: 0, bytes: 0 })
  await client.close()
  await owner.close()
})

tape('an owner that is killed while it stores large records leaves each of them once, and whole', async (t) => {
  const file = testFolder(t)('log')
  const options = { large: true, blockSize: 4096 }
  const owner = sharer(t, file, options)
  await owner.opened()
  const clients = [shared(file, options), shared(file, options)]
  await Promise.all(clients.map(client => client.onReady()))
  const appends = clients.map((log, i) => appendAll(log, 1000 * i + 1, new Array(12).fill(1.5 * MIB)))
  await Promise.race(appends.flat())
  owner.signal('SIGKILL')
  await until(() => clients.some(({ log }) => log.role === 'owner'))
  const seqs = await inTime(Promise.all(appends.flat()), 'an append')
  t.equal(new Set(seqs).size, 24, 'every append was acknowledged')
  t.ok((await inTime(clients[0].get(seqs[0]), 'a get')).equals(numbered(1, 1.5 * MIB)))
  for (const log of clients.sort((a) => a.log.role === 'owner' ? 1 : -1)) await inTime(log.close(), 'close')
  const numbers = await numbersIn(t, file, 4096)
  for (let i = 0; i < 2; i++) t.deepEqual(numbers.filter(number => Math.floor(number / 1000) === i), Array.from({ length: 12 }, (_, n) => 1000 * i + n + 1))
})

tape('a client that is closed before it has read the end of the log deletes first what it was asked to', async (t) => {
  const file = testFolder(t)('log')
  const options = { blockSize: 256, shared: true, large: true, cacheSize: 0 }
  const owner = promises(FlumeLog(file, options))
  await owner.onReady()
  const client = promises(FlumeLog(file, options))
  await client.onReady()
  const seqs = []
  for (let number = 1; number <= 3; number++) seqs.push(await client.append(numbered(number, 600)))
  // it has not read what it has appended
  const deletions = [client.del(seqs[0]), client.del({ gte: seqs[1], lt: seqs[2] })]
  await Promise.all([...deletions, client.close()])
  t.deepEqual((await collect(owner.log)).map(({ seq }) => seq), [seqs[2]])
  await owner.close()
})
