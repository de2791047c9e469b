'use strict'

// Appends through the interface of async-append-only-log: offsets at once, stored a little later.

const fs = require('fs')
const { promisify } = require('util')
const tape = require('tape')
const { storeFor } = require('../lib/stores')
const { openLog } = require('./helpers/open')
const { testFolder } = require('../../../test/helpers/folder')
const { codeOf } = require('../../../test/helpers/reading')
const { machine, pathOf } = require('../../../test/helpers/simulator/machine')
const { uncaughtDuring } = require('../../../test/helpers/uncaught')

const A = Buffer.from('first')
const B = Buffer.from('second')

tape('an append calls back at once, with the offset of its last record, before it is written', async (t) => {
  const file = testFolder(t)('log')
  const { log, stats, onDrain, close } = openLog(file)
  // open
  await stats()
  let offset = null
  log.append(A, (err, given) => { offset = err ?? given })
  t.equal(offset, 0)
  log.append([B, A, B], (err, given) => { offset = err ?? given })
  t.equal(offset, 9 + 10 + 9)
  t.equal(log.since.value, -1)
  t.equal(fs.statSync(file).size, 0)
  await onDrain()
  t.equal(log.since.value, 28)
  t.equal(fs.statSync(file).size, 38)
  await close()
})

tape('a record that is larger than a block throws, and so does one that cannot be a record', async (t) => {
  const { log, stats, close } = openLog(testFolder(t)('log'), { blockSize: 64 })
  await stats()
  t.throws(() => log.append(Buffer.alloc(65, 1), () => t.fail('called back')), { message: 'Data to be appended is larger than block size', code: 'flumelog:too-large' })
  t.throws(() => log.append(Buffer.alloc(0), () => t.fail('called back')), { code: 'flumelog:invalid' })
  await close()
})

tape('what a codec throws is the error of `get` and `appendTransaction`, whether the log is open, and the record in memory, or not', async (t) => {
  const file = testFolder(t)('log')
  const encode = (value) => { if (value === null) throw new Error('encode'); return value }
  const codec = { encode, decode () { throw new Error('decode') } }
  const errorOf = (promise) => promise.then(() => 'none', ({ message }) => message)
  const first = openLog(file)
  await first.store(A)
  await first.close()
  for (const cacheSize of [0, 65536]) {
    const log = openLog(file, { codec, cacheSize })
    t.deepEqual(await Promise.all([errorOf(log.get(0)), errorOf(log.appendTransaction([A, null]))]), ['decode', 'encode'], 'opening')
    t.deepEqual(await Promise.all([errorOf(log.get(0)), errorOf(log.appendTransaction([A, null]))]), ['decode', 'encode'], 'open')
    t.deepEqual(await log.stats(), { totalBytes: 0, deletedBytes: 0 }, 'nothing was appended')
    await log.close()
  }
})

tape('what is not written yet is read by `get` at once', async (t) => {
  const { log, stats, close } = openLog(testFolder(t)('log'), { blockSize: 64 })
  await stats()
  const read = []
  for (let i = 1; i <= 20; i++) log.append(Buffer.alloc(10, i), (err, offset) => log.get(offset, (err2, data) => { read.push(err ?? err2 ?? data[0]) }))
  t.deepEqual(read, Array.from({ length: 20 }, (_, i) => i + 1))
  await close()
})

tape('a `get` from within the callback of the one before answers, however often that is repeated', async (t) => {
  const { log, store, close } = openLog(testFolder(t)('log'))
  await store(A)
  const left = await new Promise((resolve) => {
    const next = (left) => left === 0 ? resolve(left) : log.get(0, (err, data) => err || !data.equals(A) ? resolve(left) : next(left - 1))
    next(50000)
  })
  t.equal(left, 0)
  await close()
})

tape('`since` and `onDrain` come when the timeout has passed since the last append, and all is stored', async (t) => {
  const file = testFolder(t)('log')
  const { log, append, onDrain, close } = openLog(file, { writeTimeout: 20 })
  const seen = []
  log.since((offset) => { seen.push(offset) })
  await append(A)
  await append(B)
  t.equal(log.since.value, -1)
  await onDrain()
  t.equal(log.since.value, 9)
  t.deepEqual(seen, [-1, 9], 'both at once')
  t.equal(fs.statSync(file).size, 19)
  let isCalled = false
  log.onDrain(() => { isCalled = true })
  t.ok(isCalled, 'with nothing to wait for, at once')
  await close()
})

tape('what `onDrain` appends is stored without another timeout', async (t) => {
  const file = testFolder(t)('log')
  let fired = 0
  const { setTimeout } = global
  global.setTimeout = (run, time, ...args) => setTimeout((...given) => { if (time === 54) fired++; run(...given) }, time, ...args)
  t.teardown(() => { global.setTimeout = setTimeout })
  const { log, close } = openLog(file, { writeTimeout: 54 })
  await new Promise((resolve) => {
    const next = (left) => left === 0 ? resolve() : log.append(A, () => log.onDrain(() => next(left - 1)))
    next(20)
  })
  t.equal(log.since.value, 19 * 9)
  t.equal(fired, 1)
  await close()
})

tape('a transaction tells all offsets at once, in the block that is being filled if it fits there', async (t) => {
  const { log, append, appendTransaction, collect, onDrain, close } = openLog(testFolder(t)('log'), { blockSize: 64 })
  await append(A)
  t.deepEqual(await appendTransaction([A, B]), [9, 18])
  t.deepEqual(await appendTransaction([Buffer.alloc(20, 1), Buffer.alloc(20, 2)]), [64, 88], 'one that does not fit starts the next block')
  t.deepEqual(await appendTransaction([]), [])
  await onDrain()
  t.deepEqual((await collect({ values: false })), [0, 9, 18, 64, 88])
  let error = null
  log.appendTransaction(A, (err) => { error = err })
  t.equal(error.message, 'appendTransaction expects first argument to be an array')
  log.appendTransaction([Buffer.alloc(20, 1), Buffer.alloc(40, 2)], (err) => { error = err })
  t.equal(error.message, 'Data to be appended is larger than block size', 'all together')
  log.appendTransaction([Buffer.alloc(70, 1)], (err) => { error = err })
  t.equal(error.message, 'Data to be appended is larger than block size', 'one of them')
  await close()
})

tape('a codec encodes what is appended, and decodes what is read', async (t) => {
  const codec = { encode: JSON.stringify, decode: (data) => JSON.parse(data) }
  const { append, get, collect, onDrain, close } = openLog(testFolder(t)('log'), { codec })
  const offset = await append([{ a: 1 }, { b: 2 }])
  t.deepEqual(await get(offset), { b: 2 })
  await onDrain()
  t.deepEqual(await collect({ offsets: false }), [{ a: 1 }, { b: 2 }])
  await close()
})

tape('the same file may be opened twice in one process, without a close in between', async (t) => {
  const file = testFolder(t)('log')
  const first = openLog(file)
  await first.store(A)
  const second = openLog(file)
  t.deepEqual(await second.collect({ offsets: false }), [A])
  t.equal(second.log.since.value, 0)
  await second.store(B)
  t.equal(second.log.since.value, 9)
  t.equal(first.log.since.value, 0, 'each knows of its own appends')
  t.deepEqual(await first.get(9), B, 'and reads all')
  await first.close()
  t.deepEqual(await second.collect({ offsets: false }), [A, B], 'the other one can still be used')
  await second.close()
  const third = openLog(file)
  t.deepEqual(await third.collect({ offsets: false }), [A, B])
  await third.close()
})

tape('a file that was deleted while it was open, and is opened again, is a new log', async (t) => {
  const file = testFolder(t)('log')
  await openLog(file).store(A)
  fs.unlinkSync(file)
  const again = openLog(file)
  await again.store(B)
  t.deepEqual(await again.collect({ offsets: false }), [B])
  await again.close()
})

tape('offsets that are none, and deleted records, have the codes of async-append-only-log', async (t) => {
  const { log, store, del, close } = openLog(testFolder(t)('log'))
  await store(A, B)
  const problemAt = (offset) => new Promise(resolve => log.get(offset, (err) => resolve([err.message, err.code])))
  t.deepEqual(await problemAt(NaN), ['Offset NaN is not a number', 'ERR_AAOL_INVALID_OFFSET'])
  t.deepEqual(await problemAt('0'), ['Offset 0 is not a number', 'ERR_AAOL_INVALID_OFFSET'])
  t.deepEqual(await problemAt(null), ['Offset null is not a number', 'ERR_AAOL_INVALID_OFFSET'])
  t.deepEqual(await problemAt(false), ['Offset false is not a number', 'ERR_AAOL_INVALID_OFFSET'])
  t.deepEqual(await problemAt(-1), ['Offset -1 is negative', 'ERR_AAOL_INVALID_OFFSET'])
  t.deepEqual(await problemAt(19), ['Offset 19 is beyond log size 19', 'ERR_AAOL_OFFSET_OUT_OF_BOUNDS'])
  t.deepEqual(await problemAt(3), ['No record starts at offset 3', 'ERR_AAOL_INVALID_OFFSET'])
  await del(9)
  t.deepEqual(await problemAt(9), ['Record has been deleted', 'ERR_AAOL_DELETED_RECORD'])
  await close()
})

tape('a log that cannot be opened gives its error to every call, and ends streams with it', async (t) => {
  const folder = testFolder(t)
  fs.mkdirSync(folder('log'))
  const { append, get, onDrain, stats, close, collect } = openLog(folder('log'))
  for (const call of [append(A), get(0), onDrain(), stats(), collect()]) t.equal(await call.then(() => 'done', err => err.code), 'EISDIR')
  t.equal(await close().then(() => 'done', err => err.code), 'EISDIR')
})

tape('a log that could not be opened, or whose write has failed, can be opened again, without a close of the one before', async (t) => {
  const file = testFolder(t)('log')
  fs.mkdirSync(file)
  const first = openLog(file)
  t.equal(await first.append(A).then(() => 'done', err => err.code), 'EISDIR')
  fs.rmdirSync(file)
  const second = openLog(file)
  await second.store(A)
  await second.append(B)
  storeFor(file, {}).log.sync = (cb) => process.nextTick(cb, Object.assign(new Error('no space'), { code: 'ENOSPC' }))
  t.equal(await second.onDrain().then(() => 'done', err => err.code), 'ENOSPC')
  const third = openLog(file)
  t.deepEqual((await third.collect({ offsets: false }))[0], A)
  t.equal(await second.append(A).then(() => 'done', err => err.code), 'ENOSPC')
  for (const { close } of [first, second, third]) await close().catch(() => {})
})

tape('a write that fails is told to `onDrain`, and to every call after it; if nobody waits there, it is thrown', async (t) => {
  const folder = testFolder(t)
  for (const isWaiting of [true, false]) {
    const file = folder(`log-${isWaiting}`)
    const { log, append, get, store, onDrain, close, collect } = openLog(file)
    await store(A)
    storeFor(file, {}).log.sync = (cb) => process.nextTick(cb, Object.assign(new Error('no space'), { code: 'ENOSPC' }))
    const thrown = await uncaughtDuring(async () => {
      await append(B)
      if (isWaiting) t.equal(await codeOf(onDrain()), 'ENOSPC')
      else while (await get(0).then(() => true, () => false)) await new Promise(resolve => setImmediate(resolve))
      await new Promise(resolve => setImmediate(resolve))
    })
    t.deepEqual(thrown.map(({ code }) => code), isWaiting ? [] : ['ENOSPC'])
    t.equal(log.since.value, 0)
    for (const call of [append(A), get(0), onDrain(), collect()]) t.equal(await codeOf(call), 'ENOSPC')
    t.equal(await codeOf(close()), 'ENOSPC')
  }
})

/** A log on a simulated machine, with one record. */
async function withFirst () {
  const m = machine()
  const process = m.world.start()
  const log = process.require('./packages/async-append-only-log')('/log')
  const call = (name, ...args) => promisify(log[name])(...args)
  await m.settled(call('append', A))
  await m.settled(call('onDrain'))
  return { ...m, process, log, call }
}

for (const other of ['a stream', '`onDeletesFlushed`']) {
  tape(`a write that fails is told to \`onDrain\` also if ${other} waits for it, and \`since\` stays at what is stored`, async (t) => {
    const { world, codeOf, until, process, log, call } = await withFirst()
    let isTold = false
    const tell = () => { isTold = true }
    world.fault = (caller, name, [fd]) => /^writev?$/.test(name) && pathOf(process, fd) === '/log' ? 'ENOSPC' : null
    log.append(B, () => {
      if (other === 'a stream') log.stream().pipe({ paused: false, write () {}, end: tell })
      else log.del(0, () => log.onDeletesFlushed(tell))
    })
    const drained = codeOf(call('onDrain'))
    await until(() => isTold)
    world.fault = () => null
    t.equal(await drained, 'ENOSPC')
    t.equal(log.since.value, 0)
    t.deepEqual(world.problems, [])
    t.equal(await codeOf(call('close')), 'ENOSPC')
    world.end()
  })
}

tape('no record gets the offset that one had whose write failed, once that has failed', async (t) => {
  const { world, settled, codeOf, until, process, call } = await withFirst()
  // the second attempt is that of the thread pool
  let failures = 0
  world.fault = (caller, name, [fd]) => failures < 2 && /^writev?$/.test(name) && pathOf(process, fd) === '/log' && ++failures > 0 ? 'ENOSPC' : null
  const offset = await settled(call('append', B))
  // long before `writeTimeout`
  let isLater = false
  await until(() => failures === 2)
  world.timeline.add(50, () => { isLater = true })
  await until(() => isLater)
  t.equal(await codeOf(call('append', A)), 'ENOSPC')
  t.equal(await codeOf(call('get', offset)), 'ENOSPC')
  t.match(world.problems.join(), /uncaught exception: Error: ENOSPC/, 'nobody waits, so it is thrown')
  t.equal(await codeOf(call('close')), 'ENOSPC')
  world.end()
})

tape('where a record of an array does not fit, those before it are stored as others are', async (t) => {
  const { log, append, onDrain, collect, close } = openLog(testFolder(t)('log'), { blockSize: 64 })
  await onDrain()
  const given = []
  log.stream({ live: true, offsets: false }).pipe({ paused: false, write: (value) => { given.push(String(value)) } })
  await append([Buffer.from('one'), Buffer.from('two'), Buffer.alloc(100, 1)]).then(() => t.fail('it fits'), ({ code }) => t.equal(code, 'flumelog:too-large'))
  await onDrain()
  t.equal(log.since.value, 7)
  t.deepEqual(given, ['one', 'two'])
  t.equal((await collect()).length, 2)
  await close()
})

tape('what is appended while the log is being closed is stored and called back, or an error', async (t) => {
  const file = testFolder(t)('log')
  const { log, append, close } = openLog(file)
  const again = openLog(file)
  for (const one of [log, again.log]) {
    await new Promise(resolve => one.onDrain(resolve))
    one.append(Buffer.from('before'), () => {})
    const drained = new Promise((resolve) => one.onDrain(() => one.append(Buffer.from('in the drain'), () => one.onDrain(resolve))))
    const closed = one === log ? close() : again.close()
    t.notOk(await drained)
    await closed
    for (const name of ['append', 'appendTransaction', 'get', 'del', 'onDrain', 'onDeletesFlushed', 'compact', 'stats']) {
      const value = { append: Buffer.from('late'), appendTransaction: [Buffer.from('late')], get: 0, del: 0 }[name]
      const err = await new Promise(resolve => value === undefined ? one[name](resolve) : one[name](value, resolve))
      t.equal(err?.code, 'flumelog:closed', name)
    }
    const ended = await new Promise(resolve => one.stream({}).pipe({ paused: false, write () {}, end: resolve }))
    t.equal(ended?.code, 'flumelog:closed')
  }
  t.equal(await append(Buffer.from('late')).then(() => null, ({ code }) => code), 'flumelog:closed')
  const last = openLog(file)
  await last.onDrain()
  t.deepEqual((await last.collect({ offsets: false })).map(String), ['before', 'in the drain', 'before', 'in the drain'])
  await last.close()
})

tape('a transaction with what cannot be a record is an error for its callback, and null for an option means its default', async (t) => {
  const { appendTransaction, collect, close } = openLog(testFolder(t)('log'), { codec: null, validateRecord: null })
  for (const value of [Buffer.alloc(4), Buffer.alloc(0), 5, null]) {
    t.equal(await appendTransaction([Buffer.from('x'), value]).then(() => null, ({ code }) => code), 'flumelog:invalid')
  }
  t.deepEqual(await collect(), [])
  await close()
})

tape('a `validateRecord` that throws ends the opening, and nothing is cut', async (t) => {
  const file = testFolder(t)('log')
  const copy = testFolder(t)('copy')
  const { store, close } = openLog(file)
  await store(...Array.from({ length: 20 }, (_, i) => Buffer.from(`record ${i}`)))
  // what a crash leaves
  for (const suffix of ['', '.meta']) fs.copyFileSync(file + suffix, copy + suffix)
  await close()
  const before = [copy, copy + '.meta'].map(name => fs.readFileSync(name, 'hex'))
  const broken = openLog(copy, { validateRecord () { throw new Error('broken') } })
  const problem = await broken.onDrain().then(() => null, err => err)
  t.equal(problem.code, 'flumelog:invalid')
  t.match(problem.message, /validateRecord threw.*broken/)
  await broken.close().catch(() => {})
  t.deepEqual([copy, copy + '.meta'].map(name => fs.readFileSync(name, 'hex')), before)
  t.notOk(fs.existsSync(copy + '.cut-0'))
  const again = openLog(copy, { validateRecord: () => true })
  t.equal((await again.collect()).length, 20)
  await again.close()
})

tape('if a file that is open is deleted, and opened again, calls and streams of the one that had it open before end', async (t) => {
  const file = testFolder(t)('log')
  const first = openLog(file)
  await first.store(A)
  const ended = new Promise(resolve => first.log.stream({ live: true }).pipe({ paused: false, write () {}, end: resolve }))
  await first.append(B)
  const drained = codeOf(first.onDrain())
  fs.unlinkSync(file)
  const second = openLog(file)
  t.equal(await drained, 'flumelog:closed')
  t.equal((await ended).code, 'flumelog:closed')
  t.deepEqual(await second.collect(), [])
  await first.close().catch(() => {})
  await second.close()
})
