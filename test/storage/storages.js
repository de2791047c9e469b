'use strict'

// Runs the same tests on every kind of storage: a path, an instance of random-access-file,
// and random-access-memory.

const fs = require('fs')
const { promisify } = require('util')
const test = require('tape')
const RAF = require('random-access-file')
const RAM = require('random-access-memory')
const RandomAccessStorage = require('random-access-storage')
const FlumeLog = require('../..')
const { pathFile } = require('../../lib/storage/path-file')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { collect, codeOf, event, isSame } = require('../helpers/reading')

/** A file, and how a log on it is opened. */
function onDisk (t, open, cutName) {
  const filename = testFolder(t)('log')
  return {
    filename,
    open: (options) => open(filename, options),
    bytes: async () => fs.readFileSync(filename),
    add: async (bytes) => fs.appendFileSync(filename, bytes),
    cutName: (offset) => cutName(filename, offset)
  }
}

function inMemory (pageSize) {
  let storage = null
  return {
    filename: null,
    open (options) {
      storage = storage === null ? new RAM({ pageSize }) : storage.clone()
      return FlumeLog(storage, options)
    },
    bytes: async () => storage.toBuffer(),
    add: async (bytes) => event(resolve => {
      storage = storage.clone()
      storage.write(storage.length, bytes, resolve)
    }),
    cutName: () => null
  }
}

/**
 * Each kind makes, for a test, something that opens a log, and opens it again; and
 * that can look at its bytes and change them between.
 */
const KINDS = {
  'a path': (t) => onDisk(t, FlumeLog, (filename, offset) => `${filename}.cut-${offset}`),
  'a random-access-file': (t) => onDisk(t, (filename, options) => FlumeLog(new RAF(filename), options), () => null),
  'a random-access-memory': () => inMemory(),
  'a random-access-memory with small pages': () => inMemory(50)
}

const json = { encode: value => JSON.stringify(value), decode: data => JSON.parse(data) }
const numbered = (count, from = 0) => Array.from({ length: count }, (_, i) => ({ number: from + i, text: 'x'.repeat((from + i) % 30) }))

for (const [name, make] of Object.entries(KINDS)) {
  test(`${name}: a new log is empty`, async (t) => {
    const file = make(t)
    const log = promises(file.open())
    t.equal(log.log.since.value, undefined, 'not known before it is open')
    await log.onReady()
    t.equal(log.log.since.value, -1)
    t.equal(log.log.filename, file.filename)
    t.equal(log.log.blockSize, 65536)
    t.deepEqual(await collect(log.log), [])
    t.equal(await codeOf(log.get(0)), 'flumelog:not-found')
    t.equal(await codeOf(log.getPrevious(0)), 'flumelog:not-found')
    t.equal(await codeOf(log.search(() => 0)), 'flumelog:not-found')
    await log.close()
    const again = promises(file.open())
    await again.onReady()
    t.equal(again.log.since.value, -1, 'and is when it is opened again')
    await again.close()
  })

  test(`${name}: appended records are there, also after reopening`, async (t) => {
    const file = make(t)
    const records = numbered(200)
    let log = promises(file.open({ blockSize: 256, codec: json }))
    const seqs = []
    for (const record of records.slice(0, 20)) seqs.push(await log.append(record))
    await log.append(records.slice(20, 100))
    await Promise.all(records.slice(100).map(record => log.append(record)))
    const all = await collect(log.log)
    t.ok(isSame(all.map(({ value }) => value), records))
    t.deepEqual(all.slice(0, 20).map(({ seq }) => seq), seqs)
    t.equal(log.log.since.value, all.at(-1).seq)
    for (const reopened of [false, true]) {
      if (reopened) {
        await log.close()
        log = promises(file.open({ codec: json }))
        await log.onReady()
        t.equal(log.log.blockSize, 256)
        t.equal(log.log.since.value, all.at(-1).seq)
      }
      t.ok(isSame(await collect(log.log), all))
      t.ok(isSame(await collect(log.log, { reverse: true }), all.toReversed()))
      t.ok(isSame(await Promise.all(all.map(({ seq }) => log.get(seq))), records))
      const before = await Promise.all(all.slice(1).map(({ seq }) => log.getPrevious(seq)))
      t.ok(isSame(before, all.slice(0, -1)))
      t.deepEqual(await log.search(({ number }) => number - 150), all[150])
    }
    await log.close()
  })

  test(`${name}: appends continue at the end, however often the log is reopened`, async (t) => {
    const file = make(t)
    const records = numbered(60)
    for (let i = 0; i < 60; i += 3) {
      const log = promises(file.open({ blockSize: 100, codec: json }))
      log.append(records[i])
      log.append([records[i + 1], records[i + 2]])
      await log.close()
    }
    const log = promises(file.open({ codec: json }))
    t.deepEqual(await collect(log.log, { seqs: false }), records)
    await log.close()
  })

  test(`${name}: deleted records are gone, also after reopening`, async (t) => {
    const file = make(t)
    let log = promises(file.open({ blockSize: 128 }))
    for (let i = 0; i < 30; i++) await log.append(Buffer.alloc(20, i + 1))
    const seqs = await collect(log.log, { values: false })
    const deleted = seqs.filter((_, i) => i % 4 === 0 || i === 29)
    for (const seq of deleted) await log.del(seq)
    for (const reopened of [false, true]) {
      if (reopened) {
        await log.close()
        log = promises(file.open())
      }
      t.deepEqual(await collect(log.log, { values: false }), seqs.filter(seq => !deleted.includes(seq)))
      for (const seq of deleted) if (await codeOf(log.get(seq)) !== 'flumelog:deleted') t.fail(`${seq}`)
      t.equal(log.log.since.value, seqs.at(-1))
    }
    await log.close()
  })

  test(`${name}: calls made before the log is open run in order once it is`, async (t) => {
    const file = make(t)
    const log = file.open({ blockSize: 128 })
    const order = []
    const done = event(resolve => {
      log.append('a', (err, seq) => order.push(['append', err, seq]))
      log.append(['b', 'c'], (err, seq) => order.push(['batch', err, seq]))
      log.onDrain(err => order.push(['drain', err ?? null]))
      log.sync(err => {
        order.push(['sync', err ?? null])
        resolve()
      })
    })
    await done
    t.deepEqual(order, [['append', null, 0], ['batch', null, 10], ['drain', null], ['sync', null]])
    t.deepEqual((await collect(log, { seqs: false })).map(String), ['a', 'b', 'c'])
    await promises(log).close()
  })

  test(`${name}: a live stream yields appended records`, async (t) => {
    const file = make(t)
    const log = promises(file.open({ blockSize: 64, codec: json }))
    const got = []
    const source = log.log.stream({ live: true, seqs: false })
    const ended = event(resolve => source(null, function next (end, value) {
      if (end) return resolve(end)
      got.push(value)
      source(null, next)
    }))
    await log.append(1)
    await log.append([2, 3, 4])
    await log.close()
    t.equal(await ended, true)
    t.deepEqual(got, [1, 2, 3, 4])
  })

  test(`${name}: a torn record at the end is truncated`, async (t) => {
    const file = make(t)
    let log = promises(file.open({ blockSize: 64 }))
    await log.append(['first', 'second'])
    await log.close()
    const whole = await file.bytes()
    await file.add(Buffer.from([20, 0, 1, 2, 3]))
    log = promises(file.open({ blockSize: 64 }))
    const cut = await log.onReady()
    t.deepEqual(cut, { offset: whole.length, bytes: 5, filename: file.cutName(whole.length) })
    t.deepEqual(log.log.stats().cut, cut)
    t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['first', 'second'])
    t.equal(await log.append('third'), whole.length)
    await log.close()
    t.ok((await file.bytes()).subarray(0, whole.length).equals(whole))
    if (cut.filename !== null) t.deepEqual([...fs.readFileSync(cut.filename)], [20, 0, 1, 2, 3])
  })

  test(`${name}: a log opened with readOnly can be read, and is not changed`, async (t) => {
    const file = make(t)
    let log = promises(file.open({ blockSize: 64 }))
    await log.append(['first', 'second'])
    await log.close()
    await file.add(Buffer.from([20, 0, 1, 2, 3]))
    const before = await file.bytes()
    log = promises(file.open({ readOnly: true }))
    t.deepEqual((await collect(log.log, { seqs: false })).map(String), ['first', 'second'])
    t.equal(await codeOf(log.append('x')), 'flumelog:read-only')
    t.equal(await codeOf(log.append(['x'])), 'flumelog:read-only')
    t.equal(await codeOf(log.del(0)), 'flumelog:read-only')
    t.equal(await codeOf(log.onDrain()), 'no error, but undefined')
    t.equal(await codeOf(log.sync()), 'no error, but undefined')
    await log.close()
    t.ok((await file.bytes()).equals(before))
  })

  test(`${name}: many concurrent appends of various sizes are all stored`, async (t) => {
    const file = make(t)
    let log = promises(file.open({ blockSize: 4096 }))
    const records = Array.from({ length: 3000 }, (_, i) => Buffer.alloc(1 + (i * 7919) % 4000, 1 + i % 255))
    const seqs = await Promise.all(records.map(record => log.append(record)))
    t.ok(isSame(seqs, seqs.toSorted((a, b) => a - b)))
    await log.close()
    log = promises(file.open())
    const all = await collect(log.log)
    t.ok(isSame(all.map(({ seq }) => seq), seqs))
    t.ok(all.every(({ value }, i) => value.equals(records[i])))
    await log.close()
  })
}

test('a random-access-file that is already open is used', async (t) => {
  const file = testFolder(t)
  const storage = new RAF(file('log'))
  await event(resolve => storage.write(0, Buffer.alloc(0), resolve))
  const log = promises(FlumeLog(storage))
  t.equal(await log.append('first'), 0)
  await log.close()
  t.ok(storage.closed, 'and closed with the log')
})

test('a storage with a sync method is synced', async (t) => {
  let syncs = 0
  const storage = new RAM()
  storage.sync = (cb) => {
    syncs++
    setImmediate(cb, null)
  }
  const log = promises(FlumeLog(storage, { sync: 'always' }))
  await log.append('first')
  t.equal(syncs, 1)
  await log.append('second')
  t.equal(syncs, 2)
  await log.close()
})

test('any object with the methods of a random-access-storage can be used', async (t) => {
  let bytes = Buffer.alloc(0)
  const storage = new RandomAccessStorage({
    read: (req) => setImmediate(() => req.callback(null, Buffer.from(bytes.subarray(req.offset, req.offset + req.size)))),
    write: (req) => setImmediate(() => {
      if (req.offset > bytes.length) throw new Error('a hole')
      bytes = Buffer.concat([bytes.subarray(0, req.offset), req.data, bytes.subarray(req.offset + req.size)])
      req.callback(null)
    }),
    stat: (req) => setImmediate(() => req.callback(null, { size: bytes.length })),
    truncate: (req) => setImmediate(() => {
      bytes = bytes.subarray(0, req.offset)
      req.callback(null)
    })
  })
  const log = promises(FlumeLog(storage, { blockSize: 64, cacheSize: 0 }))
  for (let i = 0; i < 50; i++) await log.append(Buffer.alloc(10, i + 1))
  t.deepEqual((await collect(log.log, { seqs: false })).map(value => value[9]), Array.from({ length: 50 }, (_, i) => i + 1))
  await log.del(0)
  t.equal((await collect(log.log)).length, 49)
  await log.close()
})

test('one read fills several buffers, and a short read is an error', async (t) => {
  const name = testFolder(t)('log')
  fs.writeFileSync(name, Buffer.from('0123456789'))
  const file = pathFile(name, { readOnly: true, lock: false })
  await promisify(file.open)()
  const readMany = promisify(file.readMany)
  t.deepEqual((await readMany(1, [3, 4, 2], null)).map(String), ['123', '4567', '89'])
  await readMany(1, [3, 4, 3], null).then(() => t.fail('read past the end'), (err) => t.equal(err.code, 'EPARTIALREAD'))
  await promisify(file.close)()
})

test('a file is closed after the reads in progress, and not read again', async (t) => {
  const name = testFolder(t)('log')
  fs.writeFileSync(name, Buffer.from('0123456789'))
  const file = pathFile(name, { readOnly: true, lock: false })
  await promisify(file.open)()
  const readMany = promisify(file.readMany)
  const reads = Promise.all([readMany(0, [5, 5], null), readMany(5, [5], null)])
  const closed = promisify(file.close)()
  t.deepEqual((await reads).flat().map(String), ['01234', '56789', '56789'])
  await closed
  await readMany(0, [10], null).then(() => t.fail('read a closed file'), (err) => t.equal(err.code, 'flumelog:closed'))
})

test('a file whose place another one takes is not closed before all that was asked of it is answered', async (t) => {
  const inFolder = testFolder(t)
  fs.writeFileSync(inFolder('log'), 'old')
  fs.writeFileSync(inFolder('other'), 'other')
  const file = pathFile(inFolder('log'), { readOnly: true, lock: false })
  await promisify(file.open)()
  const answers = []
  for (const [name, call] of [['fstat', promisify(file.size)], ['readv', () => promisify(file.read)(0, 5)]]) {
    const real = fs[name]
    const isAsked = new Promise(resolve => {
      fs[name] = (...args) => {
        fs[name] = real
        resolve(() => real(...args))
      }
    })
    const answer = call()
    const goOn = await isAsked
    file.moveTo(fs.openSync(inFolder('other'), 'r'), 0)
    // as long as closing it would take
    for (let i = 0; i < 3; i++) await promisify(fs.stat)(inFolder('log'))
    goOn()
    answers.push(String(await answer))
  }
  t.deepEqual(answers, ['3', 'other'])
  await promisify(file.close)()
})
