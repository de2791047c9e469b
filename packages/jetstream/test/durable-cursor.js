'use strict'

// What a cursor of a stream keeps in memory, in a process that runs for months. Without a server.

const { EventEmitter } = require('events')
const test = require('tape')
const { DurableCursor } = require('../lib/cursors/durable-cursor')
const { PartitionedLog } = require('../lib/partitions/partitioned-log')
const { StreamLog } = require('../lib/stream-log')

/** A cursor of which the server answers everything at once. */
function fakeCursor (nats = {}) {
  const cursors = new Map()
  const connection = {
    createInbox: () => 'inbox',
    deleted: new Set(),
    refusals: new EventEmitter(),
    settings: { stream: 'stream' },
    attempt: async (start) => await start(),
    ask: async () => [],
    nats: { request: async () => ({}), ...nats }
  }
  const log = { connection, cursors, filename: 'log', refusal: null, whenOpen: () => {}, forgetCursor: StreamLog.prototype.forgetCursor }
  const cursor = Object.assign(new DurableCursor(log, 'worker', {}), { seq: -1 })
  cursors.set('worker', cursor)
  return cursor
}

test('of commits that are answered, nothing is kept', async (t) => {
  const cursor = fakeCursor()
  for (let seq = 1; seq <= 3; seq++) {
    cursor.given.push({ seq, reply: `reply.${seq}` })
    cursor.greatest = seq
    await new Promise((resolve, reject) => cursor.commit(seq, {}, err => err ? reject(err) : resolve(null)))
  }
  t.equal(cursor.seq, 3)
  t.equal(await cursor.commits, undefined)
})

test('of records that were given back, nothing is kept', async (t) => {
  const cursor = fakeCursor()
  for (let seq = 1; seq <= 3; seq++) cursor.giveBack([{ seq, reply: `reply.${seq}` }])
  t.equal(await cursor.returns, undefined)
})

test('of requests that a server does not answer, only the last ones are waited for', async (t) => {
  const open = new Set()
  const subscribe = () => {
    const subscription = { isClosed: () => !open.has(subscription), unsubscribe: () => { open.delete(subscription) } }
    open.add(subscription)
    return subscription
  }
  const cursor = fakeCursor({ subscribe, publish: () => {} })
  for (let i = 0; i < 100; i++) {
    const ended = cursor.sendRequest(1, false)
    cursor.request.end(0)
    await ended
  }
  t.equal(open.size, 16)
  await cursor.close()
  t.equal(open.size, 0)
})

test('a stream that is left while the server is asked how many records may be given asks for none: nobody would get them', async (t) => {
  const cursor = fakeCursor({ subscribe: () => t.fail('it asks for records') })
  let answer
  const answered = new Promise(resolve => { answer = resolve })
  Object.assign(cursor.connection, { connected: async () => {}, ask: () => answered })
  Object.assign(cursor, { opening: Promise.resolve() })
  const source = cursor.members.stream()
  const ended = new Promise(resolve => source(null, resolve))
  await new Promise(setImmediate)
  t.ok(cursor.requesting)
  source(true, () => {})
  answer({ num_ack_pending: 0, config: { max_ack_pending: 1000 } })
  await cursor.requesting
  t.equal(await ended, true)
})

test('a cursor that is closed waits for the records that the server was asked for, and gives them back', async (t) => {
  const returned = []
  let receive
  const cursor = fakeCursor({
    subscribe: (inbox, { callback }) => {
      receive = callback
      return { isClosed: () => false, unsubscribe: () => {}, drain: async () => {} }
    },
    publish: () => {},
    request: async (reply, what) => { returned.push([reply, what]) }
  })
  cursor.sendRequest(2, false)
  const closed = cursor.close()
  await new Promise(setImmediate)
  const replies = [7, 8].map(seq => `$JS.ACK.stream.worker.1.${seq}.1.0.0`)
  for (const reply of replies) receive(null, { data: Buffer.from('{}'), reply })
  await closed
  t.deepEqual(returned, replies.map(reply => [reply, '-NAK']))
})

test('a cursor that is closed is forgotten, unless another one has its name by then', async (t) => {
  const cursor = fakeCursor()
  const { cursors } = cursor.log
  const other = {}
  const closed = cursor.close()
  cursors.set('worker', other)
  await closed
  t.equal(cursors.get('worker'), other)
  const another = fakeCursor()
  await another.close()
  t.equal(another.log.cursors.size, 0)
})

test('any number of records that were given and not committed is given again, in one batch', async (t) => {
  const cursor = fakeCursor()
  const seqs = Array.from({ length: 200_000 }, (_, i) => i + 1)
  Object.assign(cursor, { opening: Promise.resolve(), commitWithin: 60_000, given: seqs.map(seq => ({ seq, at: performance.now() })) })
  const [end, batch] = await new Promise(resolve => cursor.members.batches({ values: false })(null, (...answer) => resolve(answer)))
  t.equal(end, null)
  t.equal(batch?.length, seqs.length)
  t.deepEqual([cursor.given.length, cursor.waiting.length, cursor.greatest], [seqs.length, 0, seqs.length])
})

test('a limit that is no integer is refused, as in other streams: it would never be reached', async (t) => {
  const { source, cursor: cursorOf } = PartitionedLog.prototype
  const partitioned = { partitions: {}, logs: [{ cursor: () => fakeCursor().members }] }
  for (const limit of [1.5, NaN, '1']) {
    const sources = {
      cursor: fakeCursor().members.stream({ limit }),
      'batches of a cursor': fakeCursor().members.batches({ limit }),
      partitions: source.call(partitioned, { limit }, false),
      'cursor of partitions': cursorOf.call(partitioned, 'worker').stream({ limit })
    }
    for (const [name, source] of Object.entries(sources)) {
      const end = await Promise.race([new Promise(resolve => source(null, resolve)), new Promise(resolve => setTimeout(resolve, 100))])
      t.equal(end?.code, 'flumelog:invalid', `${name}: ${limit}`)
    }
  }
})
