'use strict'

// Clients of a shared log delete ranges and free space through its owner, and holes do not keep
// the next owner from knowing what is stored.

const tape = require('tape')
const { KnownClients, KnownClient } = require('../../lib/sharing/known-clients')
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
  for (const log of [client, owner, other]) t.deepEqual(await collect(log.log, { values: false }), expected)
  t.equal(owner.log.stats().records, 60)
  for (const i of [10, 40, 41, 149]) t.equal(await codeOf(client.get(seqs[i])), 'flumelog:deleted')
  await client.del({ gt: seqs[199] })
  t.equal(await codeOf(client.del({ gt: 0.5 })), 'flumelog:invalid')
  t.equal(await codeOf(client.del({ lt: 5, limit: 1 })), 'flumelog:invalid')
  const { blocks, bytes } = await client.reclaim()
  t.ok(blocks >= 0 && bytes >= blocks * 4096)
  t.deepEqual(await collect(client.log, { values: false }), expected)
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
  await inTime(deleter.reclaim(), 'reclaiming')
  await owner.kill()
  await inTime(deleter.sync(), 'becoming the owner')
  t.equal(deleter.log.role, 'owner')
  const again = new RawClient(file, client.id)
  again.send(hello(client.id, 1000, 0))
  const welcome = JSON.parse(String(await inTime(again.frame('WELCOME'), 'the greeting')))
  t.equal(welcome.stored, 1000)
  t.deepEqual(welcome.runs, [{ first: 1, count: 1000, seq: 0 }])
  again.socket.destroy()
  t.equal((await collect(deleter.log)).length, 40)
  await deleter.close()
})

tape('a block with records that a client may ask for stays as it is', (t) => {
  const clients = new KnownClients(() => /** @type {any} */ ({}), { now: () => 0 })
  const client = new KnownClient(Buffer.alloc(16), 0, [{ first: 1, count: 1, seq: 5000 }], 0)
  clients.clients.set('', client)
  t.ok(clients.mayAskFor(4096, 8192, 4096))
  t.notOk(clients.mayAskFor(0, 4096, 4096))
  t.notOk(clients.mayAskFor(12288, 16384, 4096), 'one record takes less than a block')
  client.runs = [{ first: 1, count: 100000, seq: 5000 }]
  t.ok(clients.mayAskFor(1 << 20, (1 << 20) + 4096, 4096), 'many may reach far')
  t.notOk(clients.mayAskFor(1 << 22, (1 << 22) + 4096, 4096), 'but not further than a frame')
  client.runs = []
  client.packed = [{ first: 1, count: 1, seq: 5000 }]
  t.ok(clients.mayAskFor(4096, 8192, 4096), 'nor what is being stored')
  client.packed = []
  t.notOk(clients.mayAskFor(4096, 8192, 4096))
  t.end()
})

tape('an owner or a client with another version of the protocol is a clear error', async (t) => {
  const file = testFolder(t)('log')
  const owner = shared(file)
  await owner.onReady()
  const old = new RawClient(file)
  old.send(hello(old.id, 0, 0, 1))
  t.match(await old.refusal(), /version 1 of the protocol is not supported; this process has version 4/)
  await owner.close()
})
