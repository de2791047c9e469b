'use strict'

// What clients of a shared log can make the owner wait for, remember and keep open.

const test = require('tape')
const { RawClient, hello, append, ping } = require('../helpers/raw-client')
const { holdOpening, holdWrites, openOwner } = require('../helpers/clocked-owner')
const { until } = require('../helpers/followers')
const { event } = require('../helpers/reading')
const { runtime } = require('../helpers/runtime')

const A = Buffer.from('a')

function maxOpenFiles () {
  const report = /** @type {any} */ (process.report?.getReport())
  const { soft } = report?.userLimits?.open_files ?? { soft: 0 }
  return soft === 'unlimited' ? Infinity : Number(soft)
}

test('a client that has said HELLO waits as long as opening the log takes', async (t) => {
  const opening = holdOpening()
  const { file, owner, clock, stats } = await openOwner(t, { waits: false, steps: opening.steps })
  await until(() => opening.isAsked)
  const client = new RawClient(file)
  client.send(hello(client.id), ping())
  await client.frame('PONG')
  clock.advance(15_000)
  client.send(ping())
  await until(() => client.count('PONG') === 2 || client.isClosed)
  opening.release()
  await owner.onReady()
  t.ok(await client.frame('WELCOME'))
  t.equal(stats().refused, 0)
  client.socket.destroy()
})

test('no more is read from a client that does not read, and what is kept for it is bounded', async (t) => {
  const { file, owner, stats } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  client.socket.pause()
  const pings = Buffer.concat(Array(10_000).fill(ping()))
  for (let i = 0; i < 40; i++) client.send(pings)
  t.ok(await isStuck(client), 'its sends wait')
  // deletions of others are told to all
  const seqs = await Promise.all(Array.from({ length: 200 }, () => owner.append(A)))
  t.equal(stats().refused, 0)
  for (const seq of seqs) await owner.del(seq)
  client.socket.resume()
  await until(() => client.count('PONG') === 400_000)
  t.pass('it gets all answers later')
  await until(() => client.count('LOOK') > 0)
  t.ok(client.count('LOOK') < 10, `and ${client.count('LOOK')} LOOKs`)
  client.socket.destroy()
})

/** Whether nothing that a client sends gets through any more. */
async function isStuck ({ socket }) {
  for (let last = -1; ;) {
    const { bytesWritten, writableLength } = socket
    if (writableLength > 0 && last === bytesWritten - writableLength) return true
    last = bytesWritten - writableLength
    for (let i = 0; i < 200; i++) await event(setImmediate)
  }
}

test('a client that never says which answers it has got is refused', async (t) => {
  const { file, stats } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  for (let number = 1; !client.isClosed; number++) {
    const acks = client.count('ACK')
    client.send(append(number, [A], { answered: 0 }))
    await until(() => client.count('ACK') > acks || client.isClosed)
  }
  t.match(await client.refusal(), /513 runs/)
  t.equal(stats().refused, 1)
})

test('no more is read of a client that has more than a window in flight, until some of it is stored', async (t) => {
  const { steps, release } = holdWrites()
  const { file, stats } = await openOwner(t, { steps })
  const client = new RawClient(file)
  await client.greet()
  for (let number = 1; number <= 10_000; number++) client.send(append(number, [Buffer.alloc(4000, 1)], { answered: 0 }))
  t.ok(await isStuck(client), 'its sends wait')
  const [{ inFlight }] = stats().clients
  t.ok(inFlight.bytes < 2 ** 21, `${inFlight.bytes} bytes are in flight`)
  release()
  await until(() => client.count('ACK') > 250)
  client.socket.destroy()
})

// two for each connection, since both ends are in this process
test('there are at most 1,024 connections', { skip: runtime !== 'node' || maxOpenFiles() < 3000 }, async (t) => {
  const { file } = await openOwner(t)
  const clients = []
  while (clients.length < 1024) {
    const client = new RawClient(file)
    clients.push(client)
    t.ok(await client.greet() !== null)
  }
  const next = new RawClient(file)
  t.equal(await next.greet(), null, 'the next one is closed')
  clients[0].socket.destroy()
  let welcome = null
  while (welcome === null) {
    const late = new RawClient(file)
    welcome = await late.greet()
    late.socket.destroy()
  }
  t.pass('when one is gone, another can connect')
  for (const client of clients) client.socket.destroy()
})
