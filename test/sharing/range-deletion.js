'use strict'

// Clients of a shared log delete ranges and free space through its owner, and holes do not keep
// the next owner from knowing what is stored.

const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { codeOf, collect } = require('../helpers/reading')
const { RawClient, append, hello } = require('../helpers/raw-client')
const { shared, sharer, inTime } = require('../helpers/sharing')

const OPTIONS = { blockSize: 16384, sync: 'always' }
const LARGE = (count) => Array.from({ length: count }, (_, i) => Buffer.alloc(1000, 1 + i % 250))

tape('a client deletes a range through the owner, and all see it', async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file, OPTIONS)
  await owner.onReady()
  const [client, other] = [shared(file, OPTIONS), shared(file, OPTIONS)]
  await client.onReady()
  await other.append(LARGE(200))
  let seqs = []
  // what another client has appended is seen a moment later
  while (seqs.length < 200) seqs = await collect(client.log, { values: false })
  await collect(other.log)
  t.equal(client.log.role, 'client')
  await client.del({ gte: seqs[10], lt: seqs[150] })
  const expected = [...seqs.slice(0, 10), ...seqs.slice(150)]
  for (const log of [client, owner]) t.deepEqual(await collect(log.log, { values: false }), expected)
  // another client sees it a moment later
  let seen = seqs
  while (seen.length > expected.length) seen = await collect(other.log, { values: false })
  t.deepEqual(seen, expected)
  for (const i of [10, 40, 41, 149]) t.equal(await codeOf(client.get(seqs[i])), 'flumelog:deleted')
  await client.del({ gt: seqs[199] })
  t.equal(await codeOf(client.del({ gt: 0.5 })), 'flumelog:invalid')
  t.equal(await codeOf(client.del({ lt: 5, limit: 1 })), 'flumelog:invalid')
  await Promise.all([client.close(), other.close()])
  await owner.close()
  const alone = shared(file)
  t.deepEqual(await collect(alone.log, { values: false }), expected)
  await alone.close()
})

tape('what a client may not have heard of is known to the next owner, though it was deleted meanwhile', async (t) => {
  const file = testFolder(t)('log')
  const owner = sharer(t, file, { ...OPTIONS, sync: 'interval', syncInterval: 1 })
  await owner.opened()
  const client = new RawClient(file)
  await client.greet()
  client.send(append(1, Array.from({ length: 1000 }, (_, i) => Buffer.alloc(20, 1 + i % 250))))
  await inTime(client.frame('ACK'), 'storing')
  const deleter = shared(file, OPTIONS)
  const seqs = await collect(deleter.log, { values: false })
  t.equal(seqs.length, 1000)
  await owner.call('append', { from: 1, count: 40, size: 1000 })
  await inTime(deleter.del({ lte: seqs[999] }), 'deleting')
  await inTime(owner.call('makeHoles'), 'making holes')
  await owner.kill()
  await inTime(deleter.sync(), 'becoming the owner')
  t.equal(deleter.log.role, 'owner')
  const again = new RawClient(file, client.id)
  again.send(hello(client.id))
  const welcome = JSON.parse(String(await inTime(again.frame('WELCOME'), 'the greeting')))
  t.deepEqual(welcome.runs.map(({ first, count, seq }) => ({ first, count, seq })), [{ first: 1, count: 1000, seq: 0 }])
  again.socket.destroy()
  t.equal((await collect(deleter.log)).length, 40)
  await deleter.close()
})

tape('an owner or a client with another version of the protocol is a clear error', async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file)
  await owner.onReady()
  const old = new RawClient(file)
  old.send(hello(old.id, 0, { version: 1 }))
  t.match(await old.refusal(), /version 1 of the protocol is not supported; this process has version 6/)
  await owner.close()
})
