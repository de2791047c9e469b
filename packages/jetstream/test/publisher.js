'use strict'

// Who is told what became of appends, and when, whatever comes first. Without a server.

const test = require('tape')
const JetStreamLog = require('..')
const { Publisher } = require('../lib/write/publisher')
const { StreamLog } = require('../lib/stream-log')
const { BatchSender, NO_TERMS } = require('../lib/write/batch-sender')

const FULL = Object.assign(new Error('full'), { code: 'ENOSPC' })
const REFUSED = Object.assign(new Error('refused'), { code: 'flumelog:server' })

/** A publisher whose batches the test answers. */
function openPublisher () {
  const log = { lastSeq: -1, advance (seq) { log.lastSeq = seq } }
  const publisher = new Publisher('stream S', log)
  /** Batches that are being stored. */
  const batches = []
  let last = 0
  publisher.sender = {
    maxRecords: 1000,
    maxBytes: 1024 * 1024,
    wasSent: false,
    connection: { failure: null, label: 'stream S', settings: { stream: 'S' } },
    countAlone: () => 0,
    learnLimit: () => false,
    withdraw: async () => {},
    store: (records) => new Promise((resolve, reject) => batches.push({
      texts: records.map(String),
      succeed: () => resolve(records.map(() => ++last)),
      fail: reject
    }))
  }
  const append = (texts, cb) => publisher.publish([texts].flat().map(text => Buffer.from(text)), false, NO_TERMS, cb)
  return { publisher, batches, append }
}

/** All that goes on without a server. */
const settled = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

test('onDrain waits for what was appended before it, and not for what is appended afterwards', async (t) => {
  const { publisher, batches, append } = openPublisher()
  const events = []
  append('a', () => {
    events.push('a')
    append('b', () => events.push('b'))
  })
  publisher.sync((err) => events.push(err ?? 'drained'))
  await settled()
  batches[0].succeed()
  await settled()
  t.deepEqual(events, ['a', 'drained'])
  t.deepEqual(batches[1].texts, ['b'])
})

test('onDrain is called when nothing was appended', async (t) => {
  const { publisher } = openPublisher()
  t.equal(await new Promise(resolve => publisher.sync(resolve)), null)
})

test('an error that a callback gets is not given to onDrain, which waits for the records that are tried after it', async (t) => {
  for (const [error, isNextStored] of [[FULL, true], [REFUSED, false]]) {
    const { publisher, batches, append } = openPublisher()
    const events = []
    const note = (name) => (err) => events.push([name, err?.code ?? null])
    append('large', note('large'))
    publisher.sync(note('first'))
    await settled()
    append([], note('empty'))
    append('b', note('b'))
    publisher.sync(note('second'))
    batches[0].fail(error)
    await settled()
    if (isNextStored) batches[1].succeed()
    await settled()
    const ends = isNextStored ? [['first', null], ['empty', null], ['b', null], ['second', null]] : [['b', error.code], ['first', null], ['empty', null], ['second', null]]
    t.deepEqual(events, [['large', error.code], ...ends])
    t.deepEqual(publisher.counts.inFlight, { records: 0, bytes: 0 })
  }
})

test('the error of an append without a callback is given to the next onDrain, once', async (t) => {
  const { publisher, batches, append } = openPublisher()
  const drained = () => new Promise(resolve => publisher.sync(resolve))
  append('a')
  const first = drained()
  await settled()
  batches[0].fail(REFUSED)
  t.equal(await first, REFUSED)
  t.equal(await drained(), null)
  publisher.reject(REFUSED, undefined)
  t.equal(await drained(), REFUSED)
})

test('when there will be no connection, whoever waits gets the error', async (t) => {
  const { publisher, batches, append } = openPublisher()
  const errors = []
  append('a', err => errors.push(err))
  append([], err => errors.push(err))
  publisher.sync(err => errors.push(err))
  await settled()
  publisher.sender.connection.failure = REFUSED
  publisher.stop(REFUSED)
  batches[0].fail(REFUSED)
  await settled()
  t.deepEqual(errors, [REFUSED, REFUSED, REFUSED])
})

test('a log that is closed calls back when all appends are answered, however often it is closed', async (t) => {
  const { publisher, batches, append } = openPublisher()
  const closed = Object.assign(new Error('closed'), { code: 'flumelog:closed' })
  const events = []
  append('a', () => events.push('a'))
  await settled()
  const { finishClosing, close } = StreamLog.prototype
  const log = {
    publisher,
    refusal: closed,
    closing: [() => events.push('closed')],
    isClosed: false,
    turn: { flush () {} },
    streams: { fail () {} },
    state: { opened: null },
    connection: { close: async () => { publisher.sender.connection.failure = closed } }
  }
  finishClosing.call(log, REFUSED)
  await settled()
  close.call(log, () => events.push('again'))
  await settled()
  t.deepEqual(events, [])
  batches[0].fail(REFUSED)
  await settled()
  t.deepEqual(events, ['a', 'closed', 'again'])
  close.call(log, () => events.push('later'))
  await settled()
  t.equal(events.at(-1), 'later')
})

test('an array of which a part is stored when the log is closed gets flumelog:unreachable, since that part cannot be deleted', async (t) => {
  const { publisher, batches, append } = openPublisher()
  const { sender } = publisher
  sender.maxRecords = 2
  sender.withdraw = BatchSender.prototype.withdraw
  sender.unknown = BatchSender.prototype.unknown
  sender.connection.ask = async () => { throw sender.connection.failure }
  const answer = new Promise(resolve => append(['a', 'b', 'c'], resolve))
  await settled()
  batches[0].succeed()
  await settled()
  t.deepEqual(batches[1].texts, ['c'])
  sender.connection.failure = Object.assign(new Error('closed'), { code: 'flumelog:closed' })
  publisher.stop(sender.connection.failure)
  batches[1].fail(sender.connection.failure)
  t.equal((await answer).code, 'flumelog:unreachable')
})

test('a log with partitions gives the error of an append without a callback to the call that closes it', async (t) => {
  const key = () => { throw undefined } // eslint-disable-line no-throw-literal
  const log = JetStreamLog({ servers: 'nats://127.0.0.1:1', stream: 'S', partitions: 2, key, timeout: 100 })
  t.equal((await new Promise(resolve => log.append('a', resolve))).code, 'flumelog:invalid')
  log.append('a')
  t.equal((await new Promise(resolve => log.close(resolve)))?.code, 'flumelog:invalid')
})
