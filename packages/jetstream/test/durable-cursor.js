'use strict'

// What a cursor of a stream keeps in memory, in a process that runs for months, and what its streams give, whatever comes first. Without a server.

const { EventEmitter } = require('events')
const test = require('tape')
const { Connection } = require('../lib/connection/connection')
const { DurableCursor } = require('../lib/cursors/durable-cursor')
const { merge } = require('../lib/read/merge')
const { PartitionedLog } = require('../lib/partitions/partitioned-log')
const { Partitions } = require('../lib/partitions/partitions')
const { StreamLog } = require('../lib/stream-log')

/** All that tests have made: their requests would keep the process alive until they expire. */
const cursors = []
test.onFinish(() => { for (const { requests } of cursors) for (const request of requests) request.end(EXPIRED) })
/** The code of an answer without a record. */
const EXPIRED = 408

/** A cursor of which the server answers everything at once. */
function fakeCursor (nats = {}) {
  const open = new Map()
  const connection = {
    createInbox: () => 'inbox',
    deleted: new Set(),
    refusals: new EventEmitter(),
    settings: { stream: 'stream' },
    attempt: async (start) => await start(),
    ask: async () => [],
    nats: { request: async () => ({}), ...nats }
  }
  const log = { connection, cursors: open, filename: 'log', refusal: null, whenOpen: () => {}, forgetCursor: StreamLog.prototype.forgetCursor }
  const cursor = Object.assign(new DurableCursor(log, 'worker', {}), { seq: -1 })
  open.set('worker', cursor)
  cursors.push(cursor)
  return cursor
}

/**
 * A cursor that is open, and the requests for records that it makes: the test is the server.
 * @param {object} [nats]
 */
function openCursor (nats = {}) {
  const requests = []
  const callbacks = []
  const cursor = fakeCursor({
    subscribe: (inbox, { callback }) => {
      callbacks.push(callback)
      return { isClosed: () => false, unsubscribe: () => {}, drain: async () => {} }
    },
    publish: (subject, query) => {
      const receive = callbacks.at(-1)
      const deliver = (seq, data = '1', count = 1) => receive(null, { data: Buffer.from(data), reply: `$JS.ACK.stream.worker.${count}.${seq}.1.0.0` })
      requests.push({ ...JSON.parse(query), deliver, end: (code = 404) => receive(null, { data: Buffer.alloc(0), headers: { code, description: '' } }) })
    },
    ...nats
  })
  const manager = { consumers: { info: async () => ({ num_ack_pending: 0, config: { max_ack_pending: 1000 }, delivered: { stream_seq: 1000 } }) } }
  Object.assign(cursor.connection, { connected: async () => {}, failure: null, manager, ask: async start => await start() })
  cursor.log.codec = { valueOf: data => JSON.parse(data) }
  Object.assign(cursor, { opening: Promise.resolve(), commitWithin: 60_000 })
  return { cursor, requests }
}

/** What a stream answers to a request for an item. */
const read = source => new Promise(resolve => source(null, (end, item) => resolve(end ?? item)))

/** The code of the error, or null. */
const commit = (cursor, seq) => new Promise(resolve => cursor.members.commit(seq, err => resolve(err?.code ?? null)))

/** All that goes on without a server. */
const settled = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

test('of commits that are answered, nothing is kept', async (t) => {
  const cursor = fakeCursor()
  for (let seq = 1; seq <= 3; seq++) {
    cursor.give({ seq, reply: `reply.${seq}`, acknowledged: null })
    await new Promise((resolve, reject) => cursor.commit(seq, {}, err => err ? reject(err) : resolve(null)))
  }
  t.equal(cursor.seq, 3)
  t.equal(cursor.given.size, 0)
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
    const request = cursor.sendRequest(1, false)
    request.end(0)
    await request.ended
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
  t.equal(cursor.asking.size, 1)
  source(true, () => {})
  answer({ num_ack_pending: 0, config: { max_ack_pending: 1000 } })
  await settled()
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
  Object.assign(cursor, { opening: Promise.resolve(), commitWithin: 60_000, given: new Map(seqs.map(seq => [seq, { seq, at: performance.now(), acknowledged: null }])) })
  const [end, batch] = await new Promise(resolve => cursor.members.batches({ values: false })(null, (...answer) => resolve(answer)))
  t.equal(end, null)
  t.equal(batch?.length, seqs.length)
  t.deepEqual([cursor.given.size, cursor.waiting.size, cursor.greatest], [seqs.length, 0, seqs.length])
})

test('a stream of a cursor is aborted without a callback, also one that has invalid options', async (t) => {
  const { members } = fakeCursor()
  for (const options of [{}, { limit: 1.5 }]) t.doesNotThrow(() => members.stream(options)(true), JSON.stringify(options))
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
      const end = await new Promise(resolve => source(null, resolve))
      t.equal(end?.code, 'flumelog:invalid', `${name}: ${limit}`)
    }
  }
})

test('a record that two streams wait for is given to one of them, and the other one waits on', async (t) => {
  for (const member of ['stream', 'batches']) {
    const { cursor, requests } = openCursor()
    const answers = [1, 2].map(() => read(cursor.members[member]({ live: true, values: false })))
    await settled()
    requests[0].deliver(1)
    await settled()
    requests[1].deliver(2)
    t.deepEqual((await Promise.all(answers)).flat(), [1, 2], member)
  }
})

test('a stream that is left while it waits for an acknowledgement takes no record from another one', async (t) => {
  let acknowledge
  const { cursor, requests } = openCursor({ request: () => new Promise(resolve => { acknowledge = resolve }) })
  const [left, other] = [1, 2].map(() => cursor.members.stream({ live: true, values: false }))
  cursor.size = 3
  const first = read(other)
  await settled()
  for (const seq of [1, 2, 3]) requests[0].deliver(seq)
  t.equal(await first, 1)
  cursor.connection.deleted.add(2)
  const end = read(left)
  await settled()
  left(true, () => {})
  acknowledge({})
  t.equal(await end, true)
  t.equal(await read(other), 3)
})

test('a stream that nobody has read from is none for which records are waited for', async (t) => {
  const { cursor, requests } = openCursor()
  cursor.members.stream()
  const source = cursor.members.stream({ live: true })
  const end = read(source)
  await settled()
  t.equal(requests.length, 1)
  source(true, () => {})
  t.equal(await end, true)
  await settled()
  t.equal(cursor.requests.size, 0, 'it is cancelled')
})

test('a record that is null, or that a codec makes undefined, is none that ends a stream', async (t) => {
  for (const value of [null, undefined]) {
    const { cursor, requests } = openCursor()
    cursor.log.codec = { valueOf: () => value }
    const source = cursor.members.stream({ seqs: false })
    const answer = new Promise(resolve => source(null, (...answer) => resolve(answer)))
    await settled()
    requests[0].deliver(1)
    t.deepEqual(await answer, [null, value], String(value))
  }
})

test('a record that cannot be decoded stays one that waits, behind those before it', async (t) => {
  for (const member of ['stream', 'batches']) {
    const returned = []
    const { cursor, requests } = openCursor({ request: async (reply, what) => { returned.push(what) } })
    cursor.size = 3
    const source = cursor.members[member]({ seqs: false })
    const first = read(source)
    await settled()
    for (const [i, data] of ['1', '{', '3'].entries()) requests[0].deliver(i + 1, data)
    t.deepEqual([await first].flat(), [1], member)
    t.ok(await read(source) instanceof SyntaxError)
    const again = cursor.members[member]({ values: false })
    t.deepEqual([await read(again)].flat()[0], 1, 'and is given again')
    await cursor.close()
    t.deepEqual(returned, ['-NAK', '-NAK', '-NAK'], 'and is given to others, as are those after it')
  }
})

test('a commit that fails can be repeated, and one of a later record is no success before it has', async (t) => {
  const acknowledgements = []
  let isDown = true
  const { cursor, requests } = openCursor({ request: async (reply) => { acknowledgements.push(reply) } })
  const { ask } = cursor.connection
  cursor.connection.ask = async (start) => {
    if (isDown && acknowledgements.length > 0) throw Object.assign(new Error(), { code: 'flumelog:unreachable' })
    return await ask(start)
  }
  const source = cursor.members.stream({ live: true, values: false })
  cursor.size = 3
  const first = read(source)
  await settled()
  for (const seq of [1, 2, 3]) requests[0].deliver(seq)
  t.deepEqual([await first, await read(source), await read(source)], [1, 2, 3])
  t.equal(await commit(cursor, 2), 'flumelog:unreachable')
  t.equal(await commit(cursor, 3), 'flumelog:unreachable')
  t.equal(cursor.seq, -1)
  isDown = false
  t.equal(await commit(cursor, 2), null)
  t.equal(await commit(cursor, 3), null)
  t.deepEqual(acknowledgements.map(reply => reply.split('.')[5]), ['1', '2', '3'])
  t.equal(cursor.seq, 3)
})

test('a record that the server has given twice is done when it is committed', async (t) => {
  const returned = []
  const { cursor, requests } = openCursor({ request: async (reply, what) => { if (what === '-NAK') returned.push(reply) } })
  for (const isGivenAgain of [false, true]) {
    const seq = isGivenAgain ? 2 : 1
    const source = cursor.members.stream({ live: true, values: false })
    cursor.size = 2
    const first = read(source)
    await settled()
    requests.at(-1).deliver(seq)
    t.equal(await first, seq)
    requests.at(-1).deliver(seq, '1', 2)
    if (isGivenAgain) t.equal(await read(source), seq)
    t.equal(await commit(cursor, seq), null)
    const next = read(source)
    await settled()
    source(true, () => {})
    t.equal(await next, true, 'it is not given once more')
    await settled()
  }
  const again = read(cursor.members.stream())
  await settled()
  requests.at(-1).end()
  t.equal(await again, true, 'nor to another stream')
  await cursor.close()
  t.deepEqual(returned, [], 'nor given back')
})

test('a record that a stream gives again can be committed before it does', async (t) => {
  const acknowledgements = []
  const { cursor, requests } = openCursor({ request: async (reply) => { acknowledgements.push(reply.split('.')[5]) } })
  const source = cursor.members.stream({ values: false, limit: 2 })
  cursor.size = 3
  const first = read(source)
  await settled()
  for (const seq of [1, 2, 3]) requests[0].deliver(seq)
  t.deepEqual([await first, await read(source), await read(source)], [1, 2, true])
  const again = cursor.members.stream({ values: false })
  t.equal(await read(again), 1)
  t.equal(await commit(cursor, 2), null)
  t.deepEqual(acknowledgements, ['2'])
  t.equal(await read(again), 3)
  t.equal(await commit(cursor, 1), null)
  t.deepEqual(acknowledgements, ['2', '1'])
})

test('a stream without live ends, though a live one waits', async (t) => {
  const { cursor, requests } = openCursor()
  const live = cursor.members.stream({ live: true, values: false })
  const given = read(live)
  await settled()
  const end = read(cursor.members.stream())
  await settled()
  t.deepEqual(requests.map(request => request.no_wait === true), [false, true])
  requests[1].end()
  t.equal(await end, true)
  requests[0].deliver(1)
  t.equal(await given, 1)
})

test('a live stream waits for the servers, though one without live has failed', async (t) => {
  const { cursor, requests } = openCursor()
  const unreachable = Object.assign(new Error(), { code: 'flumelog:unreachable' })
  const { ask } = cursor.connection
  let fail
  cursor.connection.ask = () => new Promise((resolve, reject) => { fail = reject })
  const end = read(cursor.members.stream())
  await settled()
  const given = read(cursor.members.stream({ live: true, values: false }))
  await settled()
  fail(unreachable)
  t.equal(await end, unreachable)
  await settled()
  cursor.connection.ask = ask
  requests[0].deliver(1)
  t.equal(await given, 1)
})

test('of two streams without live, one that was read later does not end with an earlier answer', async (t) => {
  const { cursor, requests } = openCursor()
  const end = read(cursor.members.stream())
  await settled()
  const given = read(cursor.members.stream({ values: false }))
  await settled()
  requests[0].end()
  t.equal(await end, true)
  await settled()
  requests[1].deliver(1)
  t.equal(await given, 1)
})

test('a stream without live ends if the connection breaks before the server has answered, and none is there within timeout', async (t) => {
  const { cursor, requests } = openCursor()
  const connection = Object.assign(new Connection({ stream: 'stream', timeout: 200 }, 'stream stream'), { isConnected: true })
  const { manager, nats } = cursor.connection
  Object.assign(connection, { manager, nats, createInbox: () => 'inbox', tell: () => {} })
  Object.assign(cursor, { connection })
  const end = read(cursor.members.stream())
  await settled()
  t.equal(requests.length, 1)
  connection.disconnected()
  const { code } = await end
  t.equal(code, 'flumelog:unreachable')
})

test('a cursor that is closed does not wait for a server that hangs to cancel a live request', async (t) => {
  const { cursor } = openCursor({ subscribe: () => ({ isClosed: () => false, unsubscribe: () => {}, drain: () => new Promise(() => {}) }) })
  const end = read(cursor.members.stream({ live: true }))
  await settled()
  await cursor.close()
  t.equal(await end, true)
})

test('a stream of several partitions gives no more than its limit, though another item is on its way', async (t) => {
  const answers = []
  const source = merge([0, 1].map(() => (abort, cb) => abort ? cb(abort) : answers.push(cb)), 1)
  const first = read(source)
  for (const [item, answer] of [...answers].entries()) answer(null, item)
  t.equal(await first, 0)
  t.equal(await read(source), true)
})

test('what a stream of several partitions has read ahead, and not given, is given by another one, and not committed before', async (t) => {
  const acknowledgements = []
  const [a, b] = [1, 2].map(() => openCursor({ request: async (reply, what) => { acknowledgements.push([reply.split('.')[5], what]) } }))
  const cursor = PartitionedLog.prototype.cursor.call({
    partitions: new Partitions(2, String),
    placer: PartitionedLog.prototype.placer,
    logs: [a, b].map(({ cursor }) => ({ cursor: () => cursor.members }))
  }, 'worker')
  const [left, other] = [1, 2].map(() => cursor.stream({ live: true, values: false }))
  const first = read(left)
  await settled()
  a.requests[0].deliver(1)
  t.equal(await first, 2)
  b.requests[0].deliver(1)
  await settled()
  const next = read(other)
  await settled()
  left(true, () => {})
  t.equal(await next, 3)
  b.requests[1].deliver(2)
  t.equal(await read(other), 5)
  cursor.commit(5)
  await settled()
  t.deepEqual(acknowledgements, [['1', '+ACK'], ['2', '+ACK']])
  other(true, () => {})
})
