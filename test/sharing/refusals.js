'use strict'

// What the owner of a shared log does with clients that do not keep to docs/protocol.md, case
// by case: test/sharing/bad-clients.js has many at random.

const test = require('tape')
const FlumeLog = require('../..')
const { RawClient, hello, append, framed, ask, del, ping, bye, frame, json, u32, u64 } = require('../helpers/raw-client')
const { BLOCK_SIZE, holdOpening, holdWrites, openOwner } = require('../helpers/clocked-owner')
const { until } = require('../helpers/followers')
const { numbered, numberOf } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')

const A = Buffer.from('a')
const u8 = (value) => Buffer.from([value])
const ATOMIC = 2
const MIB = 2 ** 20
/** JSON that can be read, but not written: the stack would overflow. */
const NESTED = '['.repeat(20000) + ']'.repeat(20000)

const textOf = async (owner) => (await collect(owner.log, { seqs: false, values: true })).map(String)

/** What is sent after WELCOME, and why it is refused. */
const CASES = {
  'a frame without a type': [[u32(0), u8(0)], /length of 0/],
  'a frame that is announced with 4 GB': [[u32(2 ** 32 - 1), u8(2)], /announced/],
  'an APPEND of fewer bytes than its header has': [[frame(2, u64(1))], /body of 8 bytes/],
  'an APPEND of fewer bytes than its condition has': [[append(1, [], { count: 1, flags: 4, bytes: u32(1) })], /body of 25 bytes; it should have 29 or more/],
  'an APPEND with a condition of 2^53': [[append(1, [A], { after: 2 ** 53 - 1 })], /2\^53/],
  'an APPEND without records': [[append(1, [])], /0 records/],
  'an APPEND that counts from 0 on': [[append(0, [A], { answered: 0 })], /number 0/],
  'an APPEND with a number of 2^53': [[append(2 ** 53, [A], { answered: 0 })], /2\^53/],
  'an APPEND whose last number is 2^53': [[append(2 ** 53 - 1, [A, A], { answered: 0 })], /2 records from number/],
  'an APPEND with `answered` of 2^53': [[append(1, [A], { answered: 2 ** 53 })], /2\^53/],
  'a frame of more than 512 MiB': [[u32(512 * MIB - 3), u8(2)], /announced/],
  'a request of more than 1 MiB': [[u32(MIB - 3), u8(3)], /a frame of 1048573 bytes was announced; the maximum is 1048572/],
  'a frame of a type that the owner does not know, of more than 1 MiB': [[u32(MIB - 3), u8(99)], /announced/],
  'a number that was used': [[append(5, [A]), append(5, [A])], /record 5 came after record 5/],
  'a count that is too small': [[append(1, [A, A], { count: 1 })], /2 records, but its count is 1/],
  'a count that is too large': [[append(1, [A, A], { count: 3 })], /2 records, but its count is 3/],
  'a count of 2^32 - 1': [[append(1, [A, A], { count: 2 ** 32 - 1 })], /its count is 4294967295/],
  'a record of zeros': [[append(1, [A, Buffer.alloc(5)])], /record 1 of a frame: it is all zeros/],
  'an empty record': [[append(1, [], { count: 1, bytes: Buffer.alloc(4) })], /too few/],
  'an empty record before another': [[append(1, [], { count: 2, bytes: Buffer.concat([Buffer.alloc(4), framed([A])]) })], /length is 0/],
  'a record that is longer than a block holds': [[append(1, [Buffer.alloc(BLOCK_SIZE - 13, 1)])], /4083; it should be from 1 to 4082/],
  'two lengths that differ': [[append(1, [], { count: 1, bytes: Buffer.from([1, 0, 1, 2, 0]) })], /not the one in front/],
  'a record that ends behind its frame': [[append(1, [], { count: 1, bytes: Buffer.from([9, 0, 1, 1, 9, 0]) })], /6 bytes are left/],
  'bytes behind the last record': [[append(1, [], { count: 1, bytes: Buffer.concat([framed([A]), A]) })], /too few for a record/],
  'an atomic batch that is too large': [[append(1, [Buffer.alloc(2043, 1), Buffer.alloc(2036, 1)], { flags: ATOMIC })], /atomic batch of 4087 bytes/],
  'a request that is not JSON': [[frame(3, Buffer.alloc(13))], /type 3 is not JSON/],
  'a request that is no object': [[frame(3, json(null))], /type 3 is not an object/],
  'a request without a number': [[frame(3, json({ ask: { op: 'sync' } }))], /request in a frame of type 3 is undefined/],
  'a request that the owner does not know': [[ask(1, { op: 'toString' })], /a request is "toString"; it should be one of sync/],
  'a request that is an array': [[ask(1, { op: ['sync'] })], /a request is an object; it should be one of sync/],
  'a request that cannot be made a string': [[ask(1, { op: { toString: 1 } })], /a request is an object/],
  'a request that is nested deeply': [[frame(3, Buffer.from(`{"request":1,"ask":{"op":${NESTED}}}`))], /a request is an object/],
  'a number of a request that is nested deeply': [[frame(3, Buffer.from(`{"request":${NESTED}}`))], /request in a frame of type 3 is an object/],
  'a deletion of what cannot be made a string': [[del(1, { toString: 1 })], /seq of a request is an object/],
  'a deletion of seq 2^53': [[del(1, 2 ** 53)], /seq of a request is 9007199254740992/],
  'a compaction of no log': [[ask(1, { op: 'compact' })], /id of a request is undefined/],
  'a trim to a negative offset': [[ask(1, { op: 'trim', offset: -1 })], /offset of a request is -1/],
  'HELLO again': [[hello(Buffer.alloc(8, 3))], /HELLO came twice/]
}

test('whatever is not as the protocol says ends that connection, with a reason, and is counted', async (t) => {
  // otherwise, what comes first would be answered while the rest is sent
  const { steps, release } = holdWrites()
  const { file, stats } = await openOwner(t, { steps })
  const good = new RawClient(file)
  await good.greet()
  let refused = 0
  for (const [name, [bytes, reason]] of Object.entries(CASES)) {
    const bad = new RawClient(file)
    await bad.greet()
    bad.send(...bytes)
    t.match(await bad.refusal(), reason, name)
    t.equal(stats().refused, ++refused)
  }
  t.equal(stats().clients.length, 1, 'only those connections are gone')
  release()
  good.send(ping())
  t.ok(await good.frame('PONG'))
  good.socket.destroy()
})

const GREETINGS = {
  'a first frame that is not HELLO': [[append(1, [A])], /first frame is of type 2/],
  'another protocol': [[Buffer.from('GET / HTTP/1.1\r\n\r\n')], /announced/],
  'a HELLO of another protocol': [[frame(1, json({ protocol: 'flumelug', version: 6 }))], /protocol in a frame of type 1 is "flumelug"/],
  'another version': [[hello(A, 0, { version: 1 })], /version 1 of the protocol is not supported; this process has version 6/],
  'a HELLO of a protocol that is nested deeply': [[frame(1, Buffer.from(`{"protocol":${NESTED}}`))], /protocol in a frame of type 1 is an object/],
  'a HELLO of more than 1 MiB': [[u32(MIB - 3), u8(1)], /announced/],
  'a HELLO with a short id': [[hello(A)], /id in a frame of type 1 is "61"/],
  'a HELLO with answers up to 2^53': [[hello(Buffer.alloc(8, 1), 2 ** 53)], /answered in a frame of type 1 is 9007199254740992/]
}

test('whatever is not a greeting ends the connection', async (t) => {
  const { file, stats } = await openOwner(t)
  for (const [name, [bytes, reason]] of Object.entries(GREETINGS)) {
    const { refused } = stats()
    t.match(await new RawClient(file).send(...bytes).refusal(), reason, name)
    t.equal(stats().refused, refused + 1)
  }
})

test('a frame of a type that the owner does not know is ignored', async (t) => {
  const { file, stats } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  client.send(frame(15), frame(99, Buffer.alloc(1000)), frame(16), frame(0), append(1, [A]))
  t.ok(await client.frame('ACK'))
  t.equal(stats().refused, 0)
  client.socket.destroy()
})

test('what a greeting and a request have besides is ignored', async (t) => {
  const { file, stats } = await openOwner(t)
  const client = new RawClient(file)
  const error = { code: 'ENOSPC', message: { toString: 1 } }
  client.send(frame(1, json({ protocol: 'flumelog', version: 6, id: 'ab'.repeat(8), answered: 0, log: null, pid: 1, error })))
  t.ok(await client.frame('WELCOME'))
  client.send(frame(3, json({ request: 1, ask: { op: 'sync' }, error })))
  t.ok(await client.frame('REPLY'))
  t.equal(stats().refused, 0)
  client.socket.destroy()
})

test('the owner answers frames in order: with ACK, or with CONFLICT if their condition is not met', async (t) => {
  const { file, owner, stats } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  client.send(append(1, [A], { after: 0 }), append(2, [A, A], { after: -1 }), append(4, [A]), append(5, [A], { after: 5 }), append(6, [A], { after: 10 }), append(9, [A, A], { after: 15, flags: 4 | 2 }), append(11, [A]))
  await until(() => client.count('ACK') === 5)
  const answers = client.frames.filter(({ name }) => ['ACK', 'CONFLICT'].includes(name)).map(({ name, body }) => name === 'ACK' ? Number(body.readBigUInt64LE(0)) : JSON.parse(body.toString()))
  // they were stored by one write
  const conflict = (first) => ({ first, count: 1, seq: 30, end: 35 })
  t.deepEqual(answers, [conflict(1), 2, 4, conflict(5), 6, 9, 11])
  t.equal((await collect(owner.log)).length, 7)
  const [{ inFlight, appended }] = stats().clients
  t.deepEqual([inFlight.records, appended.records], [0, 7])
  client.socket.destroy()
})

test('numbers may jump', async (t) => {
  const { file, owner } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  client.send(append(7, [A]), append(1000, [A, A]), append(2 ** 53 - 1, [A]))
  await until(() => client.count('ACK') === 3)
  const acks = client.frames.filter(({ name }) => name === 'ACK').map(({ body }) => [Number(body.readBigUInt64LE(0)), body.readUInt32LE(8), Number(body.readBigUInt64LE(12))])
  t.deepEqual(acks, [[7, 1, 0], [1000, 2, 5], [2 ** 53 - 1, 1, 15]])
  t.equal((await collect(owner.log)).length, 4)
  client.socket.destroy()
})

test('a client that sends HELLO twice before the log is open is refused', async (t) => {
  const opening = holdOpening()
  const { file, owner, stats } = await openOwner(t, { waits: false, steps: opening.steps })
  await until(() => opening.isAsked)
  const client = new RawClient(file)
  client.send(hello(Buffer.alloc(8, 1)), hello(Buffer.alloc(8, 2)), ping())
  await client.frame('PONG').then(() => opening.release())
  await owner.onReady()
  t.match(await client.refusal(), /HELLO came twice/)
  t.equal(stats().refused, 1)
  t.deepEqual(stats().clients, [])
})

test('what comes after BYE is not read', async (t) => {
  const { file, owner, stats } = await openOwner(t)
  const client = new RawClient(file)
  await client.greet()
  client.send(append(1, [A]))
  await client.frame('ACK')
  client.send(bye(), append(2, [Buffer.from('after BYE')]), Buffer.alloc(1000, 0xff))
  await client.closed
  await until(() => stats().clients.length === 0)
  t.equal(stats().refused, 0)
  await owner.append(Buffer.from('b'))
  t.deepEqual(await textOf(owner), ['a', 'b'])
})

test('a client that stays connected after BYE is forgotten', async (t) => {
  const { file, stats } = await openOwner(t)
  const client = new RawClient(file)
  client.socket.allowHalfOpen = true
  await client.greet()
  client.send(bye())
  await until(() => stats().clients.length === 0)
  t.pass()
  client.socket.destroy()
})

test('a client with the id of another one takes its place', async (t) => {
  const { file, stats } = await openOwner(t)
  const one = new RawClient(file)
  await one.greet()
  const two = new RawClient(file, one.id)
  await two.greet()
  await one.closed
  two.send(append(1, [A]))
  t.ok(await two.frame('ACK'))
  t.equal(stats().clients.length, 1)
  two.socket.destroy()
})

test('a client whose id somebody else uses loses its connection now and then, and nothing else', async (t) => {
  const { file, owner, stats } = await openOwner(t)
  const victim = promises(FlumeLog(file, { shared: true }))
  await victim.onReady()
  const id = Buffer.from(stats().clients[0].id, 'hex')
  const appends = []
  for (let i = 0; i < 40; i++) {
    for (let j = 0; j < 50; j++) appends.push(victim.append(numbered(appends.length + 1, 300)))
    const other = new RawClient(file, id)
    // what it says about the numbers of the victim is wrong
    await other.greet(1)
    other.send(i % 2 === 0 ? Buffer.alloc(10, 0xff) : ping())
    other.socket.end()
    await other.closed
  }
  const seqs = await Promise.all(appends)
  const found = await collect(owner.log, { seqs: true, values: true })
  t.deepEqual(found.map(({ seq }) => seq), seqs)
  t.deepEqual(found.map(({ value }) => numberOf(value)), seqs.map((_, i) => i + 1))
  await victim.close()
})
