'use strict'

// What a client answers to its callers, from what the owner says. No processes, no sockets.

const tape = require('tape')
const { RemoteWriter } = require('../../lib/sharing/remote-writer')
const { event } = require('../helpers/reading')

const WELCOME = { checksum: true, isUnknown: false, blockSize: 65536, window: 1 << 20, runs: [] }
/** @type {import('../../lib/sharing/remote-writer').Listeners} */
const LISTENERS = { onsettled: () => {}, onacknowledged: () => {}, whenSeen: (cb) => cb() }
const FULL = Object.assign(new Error('full'), { code: 'ENOSPC' })

/** A client, what its owner was sent, and what its callers were told. */
function connected () {
  const remote = new RemoteWriter('log', false, LISTENERS)
  const sent = []
  const told = []
  remote.connected(WELCOME, { send: items => sent.push(...items) })
  return { remote, sent, told, keep: (name) => (err, seq) => told.push([name, err?.code ?? seq]) }
}

tape('of the calls of a turn, those whose frames are stored have not failed if the others do', async (t) => {
  const { remote, told, keep } = connected()
  remote.appender.appendBatch([Buffer.alloc(10)], false, keep('first'))
  remote.appender.appendBatch(Array.from({ length: 10 }, () => Buffer.alloc(60000)), false, keep('large'))
  remote.appender.appendBatch([Buffer.alloc(40)], false, keep('last'))
  await event(setImmediate)
  remote.onack({ first: 1, count: 1, seq: 0 })
  remote.onnack(FULL)
  remote.flush()
  t.deepEqual(told, [['first', 0], ['large', 'ENOSPC'], ['last', 'ENOSPC']])
  t.deepEqual([remote.counts.written, remote.counts.inFlight], [{ records: 1, bytes: 10 }, { records: 0, bytes: 0 }])
})

tape('a call is answered when its frame is stored, though a batch of the same turn is in the next one', async (t) => {
  for (const call of ['appendBatch', 'appendAtomic']) {
    const { remote, told, keep } = connected()
    remote.appender.append(Buffer.alloc(10), false, keep('first'))
    remote.appender[call]([Buffer.alloc(40000), Buffer.alloc(100)], false, keep('batch'))
    await event(setImmediate)
    remote.onack({ first: 1, count: 1, seq: 0 })
    remote.flush()
    t.deepEqual(told, [['first', 0]], call)
    remote.onnack(FULL)
    remote.flush()
    t.deepEqual(told, [['first', 0], ['batch', 'ENOSPC']])
  }
})

tape('what an earlier owner has stored is acknowledged by the next, with the seqs since a compaction; the rest is sent again', async (t) => {
  const { remote, sent, told, keep } = connected()
  for (const name of ['a', 'b']) {
    remote.appender.append(Buffer.alloc(20), false, keep(name))
    await event(setImmediate)
  }
  remote.disconnected()
  remote.moved({ now: seq => 65536000 + 10 * seq })
  remote.connected({ ...WELCOME, runs: [{ first: 1, count: 1, seq: 4 }] }, { send: items => sent.push(...items) })
  remote.settle()
  t.deepEqual(told, [['a', 65536040]])
  t.deepEqual(sent.map(({ first }) => first), [1, 2, 2])
})

tape('a conflict of what has no condition, or is not the next frame, is no answer', async (t) => {
  const { remote, keep } = connected()
  remote.appender.append(Buffer.alloc(20), false, keep('a'))
  remote.appender.appendAfter(24, [Buffer.alloc(20)], false, false, keep('b'))
  await event(setImmediate)
  for (const first of [1, 2, 3]) t.throws(() => remote.onconflict({ first, count: 1, seq: 0, end: 24 }), { code: 'flumelog:protocol' })
  t.throws(() => remote.connected({ ...WELCOME, runs: [{ first: 2, count: 1, seq: 0 }] }, { send: () => {} }), { code: 'flumelog:protocol' }, 'a frame without a condition is not passed over')
})

tape('a conditional append that is too large for a frame is refused before it is sent', async (t) => {
  const { remote, sent, told, keep } = connected()
  const record = Buffer.alloc(60000)
  remote.appender.appendAfter(24, Array(9000).fill(record), false, false, keep('a'))
  await event(setImmediate)
  t.deepEqual([told, sent], [[['a', 'flumelog:too-large']], []])
})

tape('a client that has deleted has that fsynced before it is closed, though it has appended nothing', async (t) => {
  const { remote, sent, told, keep } = connected()
  const asked = () => sent.map(({ ask }) => ask.op)
  remote.delete(0, keep('del'))
  await event(setImmediate)
  remote.onreply(1, null)
  remote.flush()
  remote.close(keep('close'))
  await event(setImmediate)
  t.deepEqual([asked(), told], [['delete', 'sync'], [['del', undefined]]])
  remote.onreply(2, null)
  remote.flush()
  t.deepEqual(told, [['del', undefined], ['close', undefined]])
})

tape('requests are sent in their place among appends', async (t) => {
  const { remote, sent } = connected()
  remote.appender.append(Buffer.alloc(20), false, () => {})
  remote.delete(0, () => {})
  remote.flush()
  remote.appender.append(Buffer.alloc(20), false, () => {})
  await event(setImmediate)
  t.deepEqual(sent.map((item) => 'ask' in item ? item.ask.op : item.first), [1, 'delete', 2])
})

tape('an acknowledgement of what is not in flight is an error', (t) => {
  const { remote } = connected()
  t.throws(() => remote.onack({ first: 1, count: 1, seq: 0 }), /none is in flight/)
  remote.appender.append(Buffer.alloc(20), false, () => {})
  remote.appender.append(Buffer.alloc(20), false, () => {})
  remote.flush()
  t.throws(() => remote.onack({ first: 2, count: 1, seq: 0 }), /2 from 1 on are the next/)
  t.throws(() => remote.onack({ first: 1, count: 1, seq: 0 }), /2 from 1 on are the next/)
  t.end()
})
