'use strict'

// What a client answers to its callers, from what the owner says. No processes, no sockets.

const tape = require('tape')
const { RemoteWriter } = require('../../lib/sharing/remote-writer')
const { event } = require('../helpers/reading')

const WELCOME = { version: 1, checksum: true, isUnknown: false, blockSize: 65536, window: 1 << 20, epoch: 1, stored: 0, runs: [], id: '0' }
/** @type {import('../../lib/sharing/remote-writer').Listeners} */
const LISTENERS = { onpending: () => {}, onacknowledged: () => {}, whenSeen: (cb) => cb() }
const LIMITS = { highWaterMark: 1 << 24, overflow: 'queue' }

tape('of the calls of a turn, those that are stored have not failed if the others do', async (t) => {
  const remote = new RemoteWriter('log', LIMITS, false, LISTENERS)
  remote.connected(WELCOME, () => {})
  const told = []
  const append = (name, records) => remote.appender.appendBatch(records, false, (err, seq) => told.push([name, err?.code ?? seq]))
  append('first', [Buffer.alloc(10)])
  append('second', [Buffer.alloc(20), Buffer.alloc(20)])
  append('third', [Buffer.alloc(30), Buffer.alloc(30)])
  append('fourth', [Buffer.alloc(40)])
  await event(setImmediate)

  // the owner has died in the middle of the write; the next one has no room for the rest
  remote.disconnected()
  remote.connected({ ...WELCOME, stored: 4, runs: [{ first: 1, count: 4, seq: 100 }] }, () => {})
  remote.onnack(2, Object.assign(new Error('full'), { code: 'ENOSPC' }))
  remote.inputDone()
  t.deepEqual(told, [['first', 100], ['second', 138], ['third', 'ENOSPC'], ['fourth', 'ENOSPC']])
  t.deepEqual([remote.counts.written, remote.counts.rejected, remote.counts.inFlight],
    [{ records: 4, bytes: 80 }, { records: 2, bytes: 70 }, { records: 0, bytes: 0 }], 'and all of them are counted as what they are')
})

tape('a call is stored, though a later one of the same turn, in another frame, is not', async (t) => {
  const remote = new RemoteWriter('log', LIMITS, false, LISTENERS)
  remote.connected(WELCOME, () => {})
  const told = []
  const append = (name, records) => remote.appender.appendBatch(records, false, (err, seq) => told.push([name, err?.code ?? seq]))
  append('first', [Buffer.alloc(10)])
  append('large', Array.from({ length: 10 }, () => Buffer.alloc(60000)))
  await event(setImmediate)
  remote.onack({ first: 1, count: 1, seq: 0 })
  remote.onnack(2, Object.assign(new Error('full'), { code: 'ENOSPC' }))
  remote.inputDone()
  t.deepEqual(told, [['first', 0], ['large', 'ENOSPC']])
})

tape('a call is answered when its frame is stored, though a batch of the same turn is in the next one', async (t) => {
  for (const call of ['appendBatch', 'appendAtomic']) {
    const remote = new RemoteWriter('log', LIMITS, false, LISTENERS)
    remote.connected(WELCOME, () => {})
    const told = []
    const keep = (name) => (err, seq) => told.push([name, err?.code ?? seq])
    remote.appender.append(Buffer.alloc(10), false, keep('first'))
    remote.appender[call]([Buffer.alloc(40000), Buffer.alloc(100)], false, keep('batch'))
    await event(setImmediate)
    remote.onack({ first: 1, count: 1, seq: 0 })
    remote.inputDone()
    t.deepEqual(told, [['first', 0]], call)
    remote.onnack(2, Object.assign(new Error('full'), { code: 'ENOSPC' }))
    remote.inputDone()
    t.deepEqual(told, [['first', 0], ['batch', 'ENOSPC']])
  }
})

tape('a call that is answered after a compaction gets the seq since, though its record was stored before', async (t) => {
  const remote = new RemoteWriter('log', LIMITS, false, LISTENERS)
  remote.connected(WELCOME, () => {})
  const told = []
  for (const size of [10, 20, 30]) remote.appender.appendBatch([Buffer.alloc(size)], false, (err, seq) => told.push(err?.code ?? seq))
  await event(setImmediate)
  // an owner has died in the middle of the write
  remote.disconnected()
  remote.connected({ ...WELCOME, stored: 2, runs: [{ first: 1, count: 2, seq: 0 }] }, () => {})
  remote.moved({ base: 65536000, fd: 0, at: seq => 65536000 + 10 * seq })
  remote.onack({ first: 3, count: 1, seq: 65537000 })
  remote.inputDone()
  t.deepEqual(told, [65536000, 65536140, 65537000])
})
