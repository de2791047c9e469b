'use strict'

// The members of a log in a stream, one by one, with a real server.

const test = require('tape')
const pull = require('pull-stream')
const JetStreamLog = require('..')
const { wrap } = require('flumelog-random-access-file/promises')
const { openLog, closeLogs } = require('./helpers/jetstream')
const { withServer, streamName } = require('./helpers/nats')
const { promises } = require('../../../test/helpers/promises')
const { uncaughtDuring } = require('../../../test/helpers/uncaught')
const { collect, codeOf, isSame } = require('../../../test/helpers/reading')

const json = require('flumecodec').json
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('an option that is missing, unknown or invalid is an error', (t) => {
  for (const options of [{}, { stream: 'a b' }, { stream: 'a.b' }, { stream: 'S', subject: 'a.*' }, { stream: 'S', replicas: 2 }, { stream: 'S', servers: [1] }, { stream: 'S', timeout: 0 },
    { stream: 'S', codec: {} }, { stream: 'S', tls: 1 }, { stream: 'S', creds: 1 }, { stream: 'S', highWaterMark: 0 }, { stream: 'S', readOnly: 1 },
    { stream: 'S', blockSize: 1 }, { stream: 'S', user: '' }, { stream: 'S', filename: 1 }]) {
    t.throws(() => JetStreamLog(options), { code: 'flumelog:invalid' }, JSON.stringify(options))
  }
  t.end()
})

test('a log whose servers do not answer cannot be opened', async (t) => {
  const log = promises(JetStreamLog({ servers: 'nats://127.0.0.1:1', stream: 'S', timeout: 300 }))
  const appended = codeOf(log.append('a'))
  t.equal(await codeOf(log.onReady()), 'flumelog:unreachable')
  t.equal(await appended, 'flumelog:unreachable')
  t.equal(await codeOf(log.get(1)), 'flumelog:unreachable')
  t.equal(await codeOf(collect(log.log)), 'flumelog:unreachable')
  t.equal(await codeOf(log.append('a')), 'flumelog:unreachable')
  await log.close()
})

test('listeners of since, such as flumedb, have the error of an opening that fails thrown', async (t) => {
  const log = JetStreamLog({ servers: 'nats://127.0.0.1:1', stream: 'S', timeout: 300 })
  const [err] = await uncaughtDuring(async () => {
    const uncaught = new Promise(resolve => process.once('uncaughtException', resolve))
    log.since(() => t.fail('called'))
    await uncaught
  })
  t.equal(err.code, 'flumelog:unreachable')
  t.throws(() => log.since.once(() => {}), { code: 'flumelog:unreachable' })
  await promises(log).close()
})

withServer('a log in a JetStream stream', (shared) => {
  const open = (options) => openLog(shared.server, options)

  test("with codec: 'json', records are values of JSON", async (t) => {
    const log = open({ codec: 'json' })
    await log.append([{ item: 'tea' }, null])
    t.deepEqual(await collect(log.log, { seqs: false }), [{ item: 'tea' }, null])
    const err = await open().append({ item: 'tea' }).catch(err => err)
    t.match(err.message, /^stream .*codec: 'json'/)
    await log.close()
  })

  test('seqs are those of the stream, and callbacks come in the order of the calls', async (t) => {
    const log = open()
    const order = []
    const results = await Promise.all([1, [2, 3], 4, [], numbers(5, 2500), 2501].map((value, i) => {
      const records = Array.isArray(value) ? value.map(String) : String(value)
      return log.append(records).then((seq) => {
        order.push(i)
        return seq
      })
    }))
    t.deepEqual(results.filter((_, i) => i !== 3), [1, 3, 4, 2500, 2501])
    t.deepEqual(order, [0, 1, 2, 3, 4, 5])
    t.deepEqual((await collect(log.log, { seqs: false })).map(String), numbers(1, 2501).map(String))
    t.deepEqual(await collect(log.log, { values: false, reverse: true, limit: 3 }), [2501, 2500, 2499])
    const { written, appended, inFlight, writes } = log.log.stats()
    t.deepEqual([written.records, appended.records, inFlight], [2501, 2501, { records: 0, bytes: 0 }])
    t.ok(writes <= 6, `appends are gathered: ${writes} batches`)
    await log.close()
  })

  test('stats().size has what was appended since the server was asked, and then what the server says', async (t) => {
    const log = open()
    await log.append(['a', 'bcd'])
    t.equal(log.log.stats().size, 4)
    await collect(log.log)
    const { size } = log.log.stats()
    t.ok(size > 4)
    await log.append('e')
    t.equal(log.log.stats().size, size + 1)
    await log.close()
  })

  test('what is appended in callbacks is stored, too, while more than a batch is waiting', async (t) => {
    const log = open({ codec: json })
    const seqs = new Map()
    await new Promise((resolve, reject) => {
      let appended = 0
      const append = () => {
        const n = appended++
        log.log.append(n, (err, seq) => {
          if (err) return reject(err)
          seqs.set(seq, n)
          if (appended < 2600) append()
          else if (seqs.size === appended) resolve()
        })
      }
      for (let i = 0; i < 1100; i++) append()
      setTimeout(() => reject(new Error(`only ${seqs.size} of ${appended} have seqs of their own`)), 20_000).unref()
    })
    const records = await collect(log.log)
    t.deepEqual(records.map(({ value }) => value), numbers(0, 2599))
    t.ok(records.every(({ seq, value }) => seqs.get(seq) === value), 'each has the seq that its callback was given')
    await log.close()
  })

  test('records survive: a log that is opened again has them, and so has another log object', async (t) => {
    const stream = streamName()
    const log = open({ stream, codec: json })
    await log.append([{ a: 1 }, { a: 2 }])
    const other = open({ stream, codec: json })
    await other.onReady()
    t.equal(other.log.since.value, 2)
    t.equal(other.log.id, log.log.id)
    t.equal(await other.append({ a: 3 }), 3)
    t.deepEqual(await collect(log.log, { seqs: false }), [{ a: 1 }, { a: 2 }, { a: 3 }], 'a stream sees what others have appended')
    t.equal(log.log.since.value, 3)
    await log.close()
    await other.close()
  })

  test('get and getPrevious find records, and say why there is none', async (t) => {
    const log = open({ codec: json })
    await log.append(numbers(1, 100))
    t.equal(await log.get(7), 7)
    t.deepEqual(await log.getPrevious(7), { seq: 6, value: 6 })
    t.deepEqual(await log.getPrevious(101), { seq: 100, value: 100 })
    await log.del(numbers(20, 90))
    t.deepEqual(await log.getPrevious(91), { seq: 19, value: 19 })
    for (const [seq, code] of [[0, 'not-found'], [101, 'not-found'], [50, 'deleted'], [-1, 'invalid'], [0.5, 'invalid'], ['1', 'invalid'], [NaN, 'invalid']]) {
      t.equal(await codeOf(log.get(seq)), `flumelog:${code}`, `get(${seq})`)
    }
    for (const [seq, code] of [[0, 'not-found'], [1, 'not-found'], [102, 'not-found'], [-1, 'invalid']]) {
      t.equal(await codeOf(log.getPrevious(seq)), `flumelog:${code}`, `getPrevious(${seq})`)
    }
    await log.del([100])
    t.deepEqual(await log.getPrevious(101), { seq: 99, value: 99 })
    t.equal(await codeOf(log.get(100)), 'flumelog:deleted')
    t.throws(() => log.log.get(1), { code: 'flumelog:invalid' }, 'a callback is needed')
    await log.close()
  })

  test('del deletes one record, several, or a range; deleting again is not an error', async (t) => {
    const log = open({ codec: json })
    await log.append(numbers(1, 1200))
    await log.del(3)
    await log.del(3)
    await log.del([5, 6])
    await log.del({ gte: 1000, lt: 1198 })
    await log.del({ gte: 1000, lt: 1198 })
    t.deepEqual(await collect(log.log, { values: false, gt: 997 }), [998, 999, 1198, 1199, 1200])
    t.deepEqual(await collect(log.log, { values: false, lt: 9 }), [1, 2, 4, 7, 8])
    t.deepEqual(await collect(log.log, { values: false, reverse: true, gt: 998 }), [1200, 1199, 1198, 999])
    t.equal(await codeOf(log.del(1201)), 'flumelog:not-found')
    t.equal(await codeOf(log.del([4, -1])), 'flumelog:invalid')
    t.equal(await codeOf(log.del({})), 'flumelog:invalid')
    t.equal(await log.get(4), 4, 'nothing is deleted then')
    await log.del([1200])
    t.equal(await log.append(1201), 1201, 'an append after the own last record was deleted')
    t.deepEqual(await collect(log.log, { values: false, gt: 1198 }), [1199, 1201])
    await log.close()
  })

  test('a log of which all records are deleted goes on', async (t) => {
    const log = open({ codec: json })
    await log.append(numbers(1, 20))
    await log.del({ gte: 0 })
    t.deepEqual(await collect(log.log), [])
    t.equal(log.log.since.value, 20)
    t.equal(await log.append([1, 2]), 22)
    t.deepEqual(await collect(log.log, { values: false }), [21, 22])
    await log.close()
  })

  test('search finds the first record that is not before the target, with gaps, or by time', async (t) => {
    const log = open({ codec: json })
    for (const from of [1, 101]) await log.append(numbers(from, from + 99).map(i => i * 2))
    await log.del({ gte: 40, lte: 160 })
    const wrong = []
    for (let target = 0; target <= 402; target++) {
      const seq = Math.max(1, Math.ceil(target / 2))
      const expected = seq > 200 ? 'flumelog:not-found' : seq >= 40 && seq <= 160 ? 161 : seq
      const found = await log.search(value => value - target).then(({ seq }) => seq, ({ code }) => code)
      if (found !== expected) wrong.push({ target, found, expected })
    }
    t.deepEqual(wrong, [])
    t.equal(await codeOf(log.search(() => 'x')), 'flumelog:invalid')
    t.equal(await codeOf(log.search(() => { throw Object.assign(new Error(), { code: 'own' }) })), 'own')
    t.equal(await codeOf(log.search(1)), 'flumelog:invalid')
    t.equal(await codeOf(log.search({ time: 'never' })), 'flumelog:invalid')
    for (const time of [0, -1, '1600-01-01', -8.64e15]) t.deepEqual(await log.search({ time }), { seq: 1, value: 2 })
    for (const time of ['2262-01-02', '2300-01-01', 8.64e15]) t.equal(await codeOf(log.search({ time })), 'flumelog:not-found')
    await new Promise(resolve => setTimeout(resolve, 5))
    const time = new Date()
    t.equal(await codeOf(log.search({ time })), 'flumelog:not-found')
    await log.append(7)
    t.deepEqual(await log.search({ time }), { seq: 201, value: 7 })
    await log.close()
  })

  test('a record that a log in a file would refuse is refused, and so is one that is too large', async (t) => {
    const log = open()
    await log.append('first')
    const codes = await Promise.all(['', Buffer.alloc(8), 5, Buffer.alloc(1024 * 1024, 1), ['fine', null]].map(value => codeOf(log.append(value))))
    t.deepEqual(codes, ['flumelog:invalid', 'flumelog:invalid', 'flumelog:invalid', 'flumelog:too-large', 'flumelog:invalid'])
    t.equal(await log.append(Buffer.alloc(1024 * 1024 - 1024, 1)), 2, 'the largest one')
    t.equal((await log.get(2)).length, 1024 * 1024 - 1024)
    t.equal(await codeOf(log.append('a', { atomc: true })), 'flumelog:invalid')
    t.deepEqual((await collect(log.log, { values: false })), [1, 2])
    await log.close()
  })

  test('an atomic batch gets the seqs of all; it is not larger than 1000 records', async (t) => {
    const log = open()
    const calls = [log.append(numbers(1, 700).map(String)), log.append(numbers(701, 1300).map(String), { atomic: true }), log.append('1301', { atomic: true })]
    const [, seqs, one] = await Promise.all(calls)
    t.deepEqual(seqs, numbers(701, 1300))
    t.deepEqual(one, [1301])
    t.equal(await codeOf(log.append(numbers(1, 1001).map(String), { atomic: true })), 'flumelog:too-large')
    t.deepEqual((await collect(log.log, { seqs: false })).map(Number), numbers(1, 1301))
    await log.close()
  })

  test('a sink reads no faster than the server stores', async (t) => {
    const log = open({ highWaterMark: 100 })
    let most = 0
    const source = pull(pull.values(numbers(1, 500).map(i => `record ${i}`)), pull.through(() => { most = Math.max(most, log.log.stats().inFlight.bytes) }))
    const stored = await new Promise((resolve, reject) => pull(source, log.log.sink((err, stored) => err ? reject(err) : resolve(stored))))
    t.equal(stored.seq, 500)
    t.ok(most <= 110, `${most} bytes in flight`)
    t.equal((await collect(log.log)).length, 500)
    await log.close()
  })

  test('a live stream gives what this log and others append, once and in order', async (t) => {
    const stream = streamName()
    const log = open({ stream, codec: json })
    const writers = [log, open({ stream, codec: json }), open({ stream, codec: json })]
    await log.append(0)
    const got = new Promise((resolve, reject) => {
      pull(writers[1].log.stream({ live: true }), pull.take(601), pull.collect((err, all) => err ? reject(err) : resolve(all)))
    })
    for (let i = 1; i <= 20; i++) await Promise.all(writers.map((writer, w) => writer.append(numbers(1, 10).map(n => ({ w, n: (i - 1) * 10 + n })))))
    const all = await got
    t.deepEqual(all.map(({ seq }) => seq), numbers(1, 601))
    for (const w of [0, 1, 2]) t.deepEqual(all.filter(({ value }) => value.w === w).map(({ value }) => value.n), numbers(1, 200), `those of writer ${w} are in order`)
    for (const writer of writers) await writer.close()
  })

  test('since.next waits for what others append', async (t) => {
    const stream = streamName()
    const [log, other] = [open({ stream }), open({ stream })]
    await log.onReady()
    const next = new Promise((resolve, reject) => log.log.since.next((err, seq) => err ? reject(err) : resolve(seq)))
    await other.append('a')
    t.equal(await next, 1)
    const closed = new Promise(resolve => log.log.since.next(resolve))
    await log.close()
    t.equal((await closed).code, 'flumelog:closed')
    await other.close()
  })

  test('a read-only log reads, and refuses the rest', async (t) => {
    const stream = streamName()
    t.equal(await codeOf(open({ stream, readOnly: true }).onReady()), 'flumelog:invalid', 'it creates no stream')
    const log = open({ stream })
    await log.append('a')
    const reader = open({ stream, readOnly: true })
    t.equal(String(await reader.get(1)), 'a')
    t.equal(await codeOf(reader.append('b')), 'flumelog:read-only')
    t.equal(await codeOf(reader.del(1)), 'flumelog:read-only')
    await log.close()
    await reader.close()
  })

  test('close acknowledges what was appended; every later call gets an error', async (t) => {
    const log = open()
    const streams = [collect(log.log, { live: true, values: false }), collect(log.log, { live: true, gt: 5, values: false }), collect(log.log, { old: false, values: false })]
    await log.append('1')
    const appended = log.append(numbers(2, 3000).map(String))
    const closing = log.close()
    t.equal(await codeOf(log.append('late')), 'flumelog:closed')
    t.equal(await appended, 3000)
    await closing
    const [all, some, fresh] = await Promise.all(streams)
    t.ok(isSame(all, numbers(1, 3000)), 'a live stream that keeps up has all of it, and ends')
    t.ok(isSame(some, numbers(6, 3000)), 'and so has one with bounds')
    t.ok(isSame(fresh, numbers(1, 3000)), 'and one of new records')
    for (const call of [() => log.get(1), () => log.append('a'), () => log.del(1), () => log.search(() => 0), () => log.onReady(), () => log.onDrain(), () => collect(log.log)]) {
      t.equal(await codeOf(call()), 'flumelog:closed')
    }
    await log.close()
  })

  test('close waits for a live stream whose reader keeps the program busy for longer than a turn may take', async (t) => {
    const log = open()
    const seen = []
    const ended = new Promise(resolve => pull(log.log.stream({ live: true, values: false }), pull.drain((seq) => {
      const until = performance.now() + 0.1
      while (performance.now() < until);
      seen.push(seq)
    }, resolve)))
    await log.append(numbers(1, 1000).map(String))
    await log.close()
    t.equal(await ended, null)
    t.ok(isSame(seen, numbers(1, 1000)), 'it has all of it, and ends')
  })

  test('a sink is refused what it appends once the log is being closed: close does not wait for its source to end', async (t) => {
    const { log } = open()
    let given = 0
    const sunk = new Promise(resolve => log.sink((err, stored) => resolve({ code: err?.code, stored }))((end, cb) => {
      if (end) return cb(end)
      if (given === 10) log.close(closed)
      setImmediate(() => cb(null, `record ${given++}`))
    }))
    let closed
    const isClosed = new Promise(resolve => { closed = resolve })
    const { code, stored } = await sunk
    t.equal(code, 'flumelog:closed')
    t.ok(stored.records <= given - 1)
    t.equal(await isClosed, null)
  })

  test('close waits for deletions that were called before it; later ones are refused', async (t) => {
    const stream = streamName()
    const log = open({ stream })
    await log.append(numbers(1, 300).map(String))
    const deleted = log.del({ gte: 1, lt: 300 })
    const closed = log.close()
    t.equal(await codeOf(log.del(300)), 'flumelog:closed')
    t.equal(await deleted.then(() => null, err => err), null)
    await closed
    const again = open({ stream })
    t.deepEqual((await collect(again.log, { seqs: false })).map(String), ['300'])
    await again.close()
  })

  test('the error of an append without a callback is that of the next call', async (t) => {
    const log = open()
    log.log.append('a', { unknown: true })
    t.equal(await codeOf(log.onDrain()), 'flumelog:invalid')
    await log.onDrain()
    log.log.append(Buffer.alloc(2 * 1024 * 1024, 1))
    log.log.sync()
    t.equal(await codeOf(log.close()), 'flumelog:too-large')
  })

  test('options of an append that have no meaning are refused', async (t) => {
    const log = open()
    for (const options of [{ atomic: 'yes' }, { sync: 1 }, { after: null }, { key: '' }, 5, 'atomic', []]) t.equal(await codeOf(log.append('a', options)), 'flumelog:invalid', JSON.stringify(options))
    t.equal(await log.append('a', true), 1)
    await log.close()
  })

  test('what is not available for a stream says so', async (t) => {
    const log = wrap(open().log)
    for (const name of ['trim', 'compact', 'backup']) t.equal(await codeOf(log[name]()), 'flumelog:invalid', name)
    t.equal(await codeOf(collect(log.flumelog, { deleted: true })), 'flumelog:invalid')
    t.equal(await codeOf(log.scan({ deleted: true }, () => {})), 'flumelog:invalid')
    await log.close()
  })

  test('a codec that cannot decode a record ends a stream with flumelog:corrupt, or the record is skipped', async (t) => {
    const stream = streamName()
    const raw = open({ stream })
    await raw.append(['1', '{', '3'])
    const log = open({ stream, codec: json })
    t.equal(await codeOf(collect(log.log)), 'flumelog:corrupt')
    t.equal(await codeOf(log.get(2)), 'flumelog:corrupt')
    const skipped = []
    t.deepEqual(await collect(log.log, { seqs: false, skipCorrupt: true, onSkip: ({ start }) => skipped.push(start) }), [1, 3])
    t.deepEqual(skipped, [2])
    await raw.close()
    await log.close()
  })

  test('the promises work on it: iterators, batches and appendFrom', async (t) => {
    const log = wrap(open({ codec: json }).log)
    await log.ready()
    t.equal((await log.appendFrom(numbers(1, 1500))).seq, 1500)
    let expected = 1
    for await (const { seq, value } of log.stream({ gt: 0 })) {
      if (seq !== expected || value !== expected) t.fail(`${seq}: ${value}`)
      expected++
    }
    t.equal(expected, 1501)
    const found = []
    for await (const batch of log.batches({ values: false, gt: 1000 })) found.push(...batch)
    t.deepEqual(found, numbers(1001, 1500))
    t.deepEqual(await log.search(value => value - 700), { seq: 700, value: 700 })
    t.equal(await codeOf(log.getPrevious(1)), 'flumelog:not-found')
    await log.close()
  })

  test.onFinish(closeLogs)
})
