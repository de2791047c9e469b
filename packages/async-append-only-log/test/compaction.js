'use strict'

// Compaction through the interface of async-append-only-log: its events, what waits for it, and where offsets are afterwards.

const fs = require('fs')
const { promisify } = require('util')
const tape = require('tape')
const fc = require('fast-check')
const { openLog, collect } = require('./helpers/open')
const { SyncIoBudget } = require('../../../lib/storage/sync-io')
const { testFolder } = require('../../../test/helpers/folder')
const { machine } = require('../../../test/helpers/simulator/machine')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const BLOCK_SIZE = 64
const IDLE = { percent: 1, done: true, sizeDiff: 0 }
const record = (i) => Buffer.alloc(6, i)
const records = (count) => Array.from({ length: count }, (_, i) => record(i + 1))

/** Records of 10 bytes, five in a block. */
async function filled (t, count, deleted = [], options = {}) {
  const file = testFolder(t)('log')
  const log = openLog(file, { blockSize: BLOCK_SIZE, ...options })
  const offsets = await log.store(...records(count))
  for (const i of deleted) await log.del(offsets[i])
  await log.onDeletesFlushed()
  return { ...log, file, offsets }
}

/** A log with a deleted record on a simulated machine. `failToCompact`: the folder cannot be fsynced once the compacted file has the log's name. */
async function simulated () {
  const { world, settled, codeOf } = machine()
  const process = world.start()
  const open = () => process.require('./packages/async-append-only-log')('/log', { blockSize: BLOCK_SIZE })
  const call = (log, name, ...args) => promisify(log[name])(...args)
  const log = open()
  await settled(call(log, 'append', records(2)))
  await settled(call(log, 'onDrain'))
  await settled(call(log, 'del', 0))
  const failToCompact = async () => {
    let isRenamed = false
    world.fault = (caller, name, [path, to]) => {
      isRenamed ||= to === '/log' && name.startsWith('rename')
      return isRenamed && path === '/' ? 'ENOSPC' : null
    }
    const code = await codeOf(call(log, 'compact'))
    world.fault = () => null
    return code
  }
  return { world, settled, codeOf, open, call, log, failToCompact }
}

/** @returns {object[]} that grows with each event */
function eventsOf (log) {
  const events = []
  log.compactionProgress((event) => { events.push(event) })
  return events
}

tape('a compaction leaves deleted records out, and tells its progress', async (t) => {
  const { log, compact, stats, close } = await filled(t, 15, [6, 7, 8, 9, 10])
  const events = eventsOf(log)
  t.equal(log.since.value, 168)
  await compact()
  t.deepEqual(events, [
    IDLE,
    { percent: 0, done: false },
    { startOffset: 64, compactedOffset: 64, unshiftedOffset: 64, percent: 0, done: false },
    { sizeDiff: 64, holesFound: 5, percent: 1, done: true }
  ])
  t.deepEqual(await collect(log, { offsets: false }), [1, 2, 3, 4, 5, 6, 12, 13, 14, 15].map(record))
  t.equal(log.since.value, 104)
  t.deepEqual(await stats(), { totalBytes: 104, deletedBytes: 0 })
  await close()
})

tape('one that finds nothing deleted tells only that', async (t) => {
  const { log, compact, close } = await filled(t, 7)
  const events = eventsOf(log)
  await compact()
  t.deepEqual(events, [IDLE, { percent: 0, done: false }, { percent: 1, done: true, sizeDiff: 0, holesFound: 0 }])
  t.equal((await collect(log)).length, 7)
  await close()
})

tape('offsets start at 0 after each compaction, also in a log that is opened again, and no offset leads to another record than it says', async (t) => {
  const { file, log, compact, append, onDrain, del, close } = await filled(t, 12, [0])
  await compact()
  t.deepEqual((await collect(log, { values: false })).slice(0, 6), [0, 10, 20, 30, 40, 64])
  const next = await append(record(13))
  await onDrain()
  t.equal(next, log.since.value)
  await del(0)
  await compact()
  const expected = (await collect(log)).map(({ offset, value }) => [offset, value[0]])
  t.equal(expected[0][0], 0)
  t.deepEqual(expected.map(([, i]) => i), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  await close()
  const again = openLog(file, { blockSize: BLOCK_SIZE })
  t.deepEqual((await again.collect()).map(({ offset, value }) => [offset, value[0]]), expected)
  for (const [offset, i] of expected) t.equal((await again.get(offset))[0], i)
  await again.close()
})

tape('all records before `startOffset` keep their offsets, whatever was appended, deleted and compacted before', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const step = fc.record({ sizes: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }), isBatch: fc.boolean(), deleted: fc.array(fc.nat(40), { maxLength: 3 }) })
  const folder = testFolder(t)
  let logs = 0
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
    const { log, append, appendTransaction, onDrain, del, compact, close } = openLog(folder(`log-${logs++}`), { blockSize: BLOCK_SIZE })
    let id = 0
    const data = (size) => Buffer.alloc(size, 1 + id++ % 255)
    for (const { sizes, isBatch, deleted } of steps) {
      if (isBatch) await appendTransaction(sizes.slice(0, 2).map(size => data(Math.min(size, 15))))
      else await append(sizes.map(data))
      await onDrain()
      const before = await collect(log)
      for (const i of deleted) if (i < before.length) await del(before[i].offset)
      const expected = (await collect(log)).filter(({ value }) => value !== null)
      const events = eventsOf(log)
      await compact()
      const start = events.find(({ startOffset }) => startOffset !== undefined)?.startOffset ?? (events.at(-1).sizeDiff > 0 ? 0 : Infinity)
      const after = await collect(log)
      // where nothing is left, one deleted record stays
      if (expected.length === 0 && after.length === 1 && after[0].value === null) continue
      if (after.length !== expected.length) throw new Error(`${expected.length} records became ${after.length}`)
      for (const [i, { offset, value }] of expected.entries()) {
        if (!after[i].value.equals(value)) throw new Error(`record ${i} differs`)
        if (offset < start && after[i].offset !== offset) throw new Error(`the record at ${offset}, before ${start}, is at ${after[i].offset}`)
      }
    }
    await close()
  }), { numRuns: 25, seed: SEED })
  t.pass('25 random logs')
})

tape('appends, transactions, `onDrain` and a second `compact` wait for it, and `del` is an error', async (t) => {
  const { log, close } = await filled(t, 7, [1])
  const order = []
  const note = (name) => (err, result) => { order.push(err ? `${name}: ${err.message}` : name); return result }
  log.compact(note('compact'))
  log.append(record(8), note('append'))
  log.appendTransaction([record(9)], note('appendTransaction'))
  log.del(0, note('del'))
  log.compact(note('second compact'))
  await new Promise(resolve => log.onDrain(() => { note('onDrain')(); resolve() }))
  t.deepEqual(order, ['del: Cannot delete while compaction is in progress', 'append', 'appendTransaction', 'second compact', 'compact', 'onDrain'])
  t.deepEqual(await collect(log, { offsets: false }), [1, 3, 4, 5, 6, 7, 8, 9].map(record))
  await close()
})

tape('it waits for streams that have not got all there is, and for what is not stored', async (t) => {
  const { log, compact, append, close } = await filled(t, 7, [1])
  const sink = { paused: false, write () { sink.paused = true }, end () {} }
  log.stream({}).pipe(sink)
  await append(record(8))
  const events = eventsOf(log)
  const compacted = compact()
  await new Promise(resolve => setImmediate(resolve))
  t.deepEqual(events, [IDLE])
  t.equal(await append(record(9)) > 0, true, 'appends need not wait then')
  sink.write = () => {}
  sink.paused = false
  sink.source.resume()
  await compacted
  t.deepEqual(await collect(log, { offsets: false }), [1, 3, 4, 5, 6, 7, 8, 9].map(record))
  await close()
})

tape('live streams go on behind the last record, wherever that is now', async (t) => {
  const { log, offsets, compact, store, close } = await filled(t, 12, [0, 1, 2, 3, 4, 5])
  const given = []
  log.stream({ live: true, gt: offsets[9] }).pipe({ paused: false, write: ({ offset, value }) => { given.push([offset, value[0]]) } })
  await compact()
  const [next] = await store(record(13))
  t.deepEqual(given, [[offsets[10], 11], [offsets[11], 12], [next, 13]])
  t.ok(next < offsets[10])
  await close()
})

tape('it is refused while a live stream has an upper bound', async (t) => {
  const { log, compact, close } = await filled(t, 3, [1])
  for (const bound of [{ lt: 1000 }, { lte: 1000 }]) {
    const stream = log.stream({ live: true, ...bound })
    stream.pipe({ paused: false, write () {}, end () {} })
    t.match(await compact().then(() => 'done', err => err.message), /^Compaction cannot run/)
    stream.abort()
  }
  await compact()
  await close()
})

tape('it is refused, too, if such a stream is opened while it waits', async (t) => {
  const { log, compact, append, onDrain, close } = await filled(t, 3, [1])
  for (const waitsForStream of [true, false]) {
    const sink = { paused: true, write () {} }
    const other = log.stream({})
    if (waitsForStream) other.pipe(sink)
    else other.abort()
    await append(record(4))
    const compacted = compact().then(() => 'done', err => err.message)
    const bounded = log.stream({ live: true, gt: 1000, lt: 2000 })
    bounded.pipe({ paused: false, write () {}, end () {} })
    if (waitsForStream) other.abort()
    t.match(await compacted, /^Compaction cannot run/)
    bounded.abort()
    await onDrain()
  }
  await compact()
  t.equal((await collect(log)).length, 4)
  await close()
})

tape('streams that are started meanwhile give the records with the offsets that they have afterwards', async (t) => {
  const { log, compact, close } = await filled(t, 12, [0])
  const compacted = compact()
  const meanwhile = collect(log)
  await compacted
  t.deepEqual(await meanwhile, await collect(log))
  await close()
})

tape('one that waits for a stream when the log is closed is not started any more', async (t) => {
  const { file, log, close } = await filled(t, 12, [0])
  log.stream({}).pipe({ paused: true, write () {} })
  const codes = []
  log.compact((err) => codes.push(err?.code))
  await close()
  t.deepEqual(codes, ['flumelog:closed'])
  t.notOk(fs.existsSync(file + '.compaction'))
})

tape('`close` waits for one that starts when all is stored', async (t) => {
  const { file, log, append, close } = await filled(t, 12, [0])
  const order = []
  const { writeFile } = fs.promises
  t.teardown(() => { fs.promises.writeFile = writeFile })
  // as on a slow disk
  fs.promises.writeFile = (...args) => new Promise(resolve => setTimeout(resolve, 20)).then(() => writeFile(...args))
  await append(record(13))
  log.compact((err) => order.push(err?.code ?? 'compact'))
  await close()
  order.push('close')
  t.deepEqual(order, ['compact', 'close'])
  t.notOk(fs.existsSync(file + '.compaction'))
  const again = openLog(file, { blockSize: BLOCK_SIZE })
  t.equal((await again.collect()).length, 12)
  await again.close()
})

tape('live streams that are started meanwhile give what there is afterwards, within their bounds, then what is appended', async (t) => {
  const { log, compact, store, close } = await filled(t, 12, [0])
  const compacted = compact()
  await new Promise(resolve => log.compactionProgress(({ done }) => { if (!done) resolve() }))
  /** What a stream gives until the record with that number. */
  const given = (options, last) => {
    const numbers = []
    const over = new Promise(resolve => log.stream({ live: true, ...options }).pipe({
      paused: false,
      write ({ value: [number] }) {
        numbers.push(number)
        if (number === last) resolve()
      }
    }))
    return { numbers, over }
  }
  const all = given({}, 13)
  const bounded = given({ lt: 20 }, 3)
  t.deepEqual(all.numbers, [])
  await compacted
  await store(record(13))
  await Promise.all([all.over, bounded.over])
  t.deepEqual(all.numbers, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  t.deepEqual(bounded.numbers, [2, 3])
  await close()
})

tape('a compaction that was interrupted is done when the log is opened again, and says so, also if only its end was not told', async (t) => {
  const { file, log, close } = await filled(t, 12, [0])
  t.deepEqual(log.compactionProgress.value, IDLE)
  await close()
  fs.writeFileSync(file + '.compaction', '')
  for (const holesFound of [1, 0]) {
    const again = openLog(file, { blockSize: BLOCK_SIZE })
    const events = eventsOf(again.log)
    t.deepEqual(events, [{ percent: 0, done: false }], 'at once')
    await again.onDrain()
    const last = events.at(-1)
    t.equal(last.done, true)
    t.equal(last.holesFound, holesFound)
    t.ok(last.sizeDiff > 0, 'so that indexes are made again')
    t.equal((await again.collect()).length, 11)
    t.notOk(fs.existsSync(file + '.compaction'))
    await again.close()
    fs.writeFileSync(file + '.compaction', '')
  }
})

tape('it runs once, whatever ends or begins while it runs', async (t) => {
  for (const disturb of [
    ({ live }) => live.abort(),
    ({ log }) => log.stream({}).pipe({ paused: false, write () {}, end () {} }),
    ({ log }) => log.stream({ live: true }).abort()
  ]) {
    const { log, compact, append, get, onDrain, close } = await filled(t, 200, [3])
    const live = log.stream({ live: true, gt: log.since.value })
    live.pipe({ paused: false, write () {}, end () {} })
    const events = eventsOf(log)
    let isDisturbed = false
    log.compactionProgress(({ done }) => {
      if (done || isDisturbed) return
      isDisturbed = true
      setImmediate(() => disturb({ log, live }))
      process.nextTick(() => disturb({ log, live }))
    })
    await compact()
    t.deepEqual(events.map(({ done }) => done), [true, false, false, true])
    const offset = await append(record(201))
    await onDrain()
    t.deepEqual(await get(offset), record(201))
    t.equal((await collect(log)).length, 200)
    await close()
  }
})

tape('a stream that ends while a compaction is waited for does not disturb it, and the queued append has the offset that it called back with', async (t) => {
  const { log, compact, append, get, onDrain, close } = await filled(t, 100, [3])
  const sink = { paused: false, write () { sink.paused = true }, end () {} }
  log.stream({}).pipe(sink)
  const compacted = compact()
  sink.write = () => {}
  sink.paused = false
  sink.source.resume()
  const offset = await append(record(101))
  await compacted
  await onDrain()
  t.deepEqual(await get(offset), record(101))
  t.equal(log.since.value, offset)
  await close()
})

tape('an interrupted one that is resumed runs once, also if streams were asked for before the log was open', async (t) => {
  const { file, close } = await filled(t, 100, [0])
  await close()
  fs.writeFileSync(file + '.compaction', '')
  const again = openLog(file, { blockSize: BLOCK_SIZE })
  const events = eventsOf(again.log)
  const given = await again.collect()
  await again.onDrain()
  t.ok(given.length === 99 || given.length === 100)
  t.deepEqual(events.map(({ done }) => done), [false, false, true])
  t.equal((await again.collect()).length, 99)
  t.notOk(fs.existsSync(file + '.compaction'))
  await again.close()
})

tape('an interrupted one that cannot be resumed is a warning, says that indexes have to be made again, and is tried again later', async (t) => {
  const { file, close } = await filled(t, 100, [0])
  await close()
  fs.writeFileSync(file + '.compaction', '')
  const warned = new Promise(resolve => process.once('warning', resolve))
  const again = openLog(file, { blockSize: BLOCK_SIZE })
  const events = eventsOf(again.log)
  const bounded = again.log.stream({ live: true, lt: 1e6 })
  bounded.pipe({ paused: false, write () {}, end () {} })
  const { code, message } = await warned
  t.equal(code, 'FLUMELOG_COMPACTION')
  t.match(message, /could not go on: Compaction cannot run/)
  t.deepEqual([events.at(-1).done, events.at(-1).sizeDiff], [true, 1])
  t.ok(fs.existsSync(file + '.compaction'))
  bounded.abort()
  await again.compact()
  t.equal((await again.collect()).length, 99)
  t.notOk(fs.existsSync(file + '.compaction'))
  await again.close()
})

tape('all callers of one that fails get its error, and the log goes on', async (t) => {
  const { file, log, append, onDrain, compact, close } = await filled(t, 20, [0])
  fs.mkdirSync(file + '.compaction')
  const codes = []
  log.compact((err) => codes.push(err?.code))
  log.compact((err) => codes.push(err?.code))
  await append(record(21))
  await onDrain()
  t.deepEqual(codes, ['EISDIR', 'EISDIR'])
  t.equal((await collect(log)).length, 21)
  // Deno's unlink has removed the empty folder already
  fs.rmSync(file + '.compaction', { recursive: true, force: true })
  await compact()
  t.equal((await collect(log)).length, 20)
  await close()
})

tape('if a compaction leaves a log that takes no more appends, all calls get its error, also those that waited, and the file can be opened again', async (t) => {
  const { world, settled, codeOf, open, call, log, failToCompact } = await simulated()
  const calls = [['appendTransaction', [record(3)]], ['append', record(3)], ['get', 10], ['onDrain'], ['onDeletesFlushed'], ['compact']]
  const codes = []
  log.compactionProgress.once(() => { for (const [name, ...args] of calls.slice(0, 2)) log[name](...args, (err) => codes.push(err?.code)) }, false)
  t.equal(await failToCompact(), 'ENOSPC')
  for (const args of calls) t.equal(await codeOf(call(log, ...args)), 'flumelog:failed', args[0])
  t.deepEqual(codes, ['flumelog:failed', 'flumelog:failed'])
  const other = open()
  await settled(call(other, 'append', record(3)))
  await settled(call(other, 'close'))
  t.equal(await codeOf(call(log, 'close')), 'flumelog:failed')
  t.deepEqual(world.problems, [])
  world.end()
})

tape('a compaction after which only the next opening knows where the records are says that indexes have to be made again, then and at that opening', async (t) => {
  const { world, settled, codeOf, open, call, log, failToCompact } = await simulated()
  const events = eventsOf(log)
  t.equal(await failToCompact(), 'ENOSPC')
  t.deepEqual([events.at(-1).done, events.at(-1).sizeDiff], [true, 1])
  await codeOf(call(log, 'close'))
  const again = open()
  const later = eventsOf(again)
  await settled(call(again, 'onDrain'))
  t.deepEqual(later.map(({ done, sizeDiff }) => [done, sizeDiff]), [[false, undefined], [true, 1]])
  t.deepEqual(await settled(collect(again, { offsets: false })), [record(2)])
  await settled(call(again, 'close'))
  world.end()
})

tape('a live stream that waits gets all there is before a compaction that another stream lets start', async (t) => {
  for (const resumesInSince of [false, true]) {
    const { log, compact, append, onDrain, close } = await filled(t, 10, [3])
    const given = []
    const sink = { paused: true, write () {}, end () {} }
    log.stream({ live: true }).pipe(sink)
    log.stream({ live: true }).pipe({ paused: false, write: ({ value }) => { given.push(value?.[0]) } })
    const compacted = compact()
    await append(record(11))
    if (resumesInSince) {
      log.since(() => {
        sink.paused = false
        sink.source.resume()
      }, false)
    } else sink.paused = false
    await compacted
    await append(record(12))
    await onDrain()
    t.deepEqual(given, [1, 2, 3, undefined, 5, 6, 7, 8, 9, 10, 11, 12])
    await close()
  }
})

tape('live streams of one who has the file open lose nothing of what another appends before a compaction', async (t) => {
  const { file, log, store, del, compact, close } = await filled(t, 2)
  const other = openLog(file)
  await other.onDrain()
  const given = []
  other.log.stream({ live: true }).pipe({ paused: false, write: ({ value }) => { given.push(value[0]) } })
  await store(record(3))
  await del(0)
  await compact()
  t.equal(other.log.since.value, log.since.value)
  await other.store(record(4))
  t.deepEqual(given, [1, 2, 3, 4])
  await other.close()
  await close()
})

tape('the file can be opened again while a compaction gives it its name', async (t) => {
  const { file, log, compact, close } = await filled(t, 100, [3])
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  let other = null
  fs.renameSync = (from, to) => {
    renameSync(from, to)
    if (to === fs.realpathSync(file)) other ??= openLog(file, { blockSize: BLOCK_SIZE })
  }
  await compact()
  t.equal((await collect(log)).length, 99)
  t.equal((await collect(other.log)).length, 99)
  t.equal(other.log.since.value, log.since.value)
  await other.close()
  await close()
})

tape('who opens the file while a compaction ends is told where the last record is since', async (t) => {
  const { file, log, compact, close } = await filled(t, 100, [3])
  const { rename } = fs.promises
  t.teardown(() => { fs.promises.rename = rename })
  let other = null
  const told = []
  // the last step: the map of the new file gets its name
  fs.promises.rename = (from, to) => {
    if (to === `${fs.realpathSync(file)}.offset-map`) {
      other = openLog(file, { blockSize: BLOCK_SIZE })
      other.log.since((offset) => { told.push(offset) })
    }
    return rename(from, to)
  }
  await compact()
  await other.onDrain()
  t.deepEqual([...new Set(told)], [log.since.value])
  await other.close()
  await close()
})

tape('the bytes of deleted records that are counted while a compaction ends are those that it has left', async (t) => {
  const { append, onDrain, del, onDeletesFlushed, collect, stats, compact, close } = openLog(testFolder(t)('log'), { blockSize: 1024, cacheSize: 0 })
  await append(Array.from({ length: 100_000 }, (_, i) => Buffer.from(`record ${i}`)))
  await onDrain()
  const offsets = await collect({ values: false })
  let bytes = 0
  for (let i = 0; i < 1000; i++) {
    await del(offsets[100 * i])
    bytes += `record ${100 * i}`.length + 4
  }
  await onDeletesFlushed()
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  let counted = null
  fs.renameSync = (from, to) => {
    if (from.endsWith('.unfinished')) counted ??= stats()
    renameSync(from, to)
  }
  await compact()
  t.ok([0, bytes].includes((await counted).deletedBytes), 'those, or those from before')
  t.equal((await stats()).deletedBytes, 0)
  await close()
})

tape('a record that is read while a compaction moves it is given', async (t) => {
  const { start } = SyncIoBudget.prototype
  const { readv, renameSync } = fs
  t.teardown(() => {
    SyncIoBudget.prototype.start = start
    Object.assign(fs, { readv, renameSync })
  })
  const { get, offsets, compact, close } = await filled(t, 200, [3, 40], { cacheSize: 0 })
  let reading = null
  const held = []
  fs.renameSync = (from, to) => {
    if (from.endsWith('.unfinished') && reading === null) {
      // as on a slow disk
      SyncIoBudget.prototype.start = () => false
      fs.readv = (...args) => { held.push(() => readv(...args)) }
      reading = Promise.allSettled([50, 150, 40].map(i => get(offsets[i])))
      fs.readv = readv
    }
    renameSync(from, to)
  }
  await compact()
  for (const call of held) call()
  const [first, second, deleted] = await reading
  t.deepEqual([first.value, second.value], [record(51), record(151)])
  t.equal(deleted.reason.code, 'ERR_AAOL_DELETED_RECORD')
  await close()
})

tape('what listeners throw is thrown once, and stops neither a compaction nor what waits for it', async (t) => {
  const { log, compact, append, onDrain, close } = await filled(t, 100, [3])
  const thrown = []
  const catching = (err) => { thrown.push(err.message) }
  process.on('uncaughtException', catching)
  let calls = 0
  log.compactionProgress(({ done }) => { if (calls++ > 0) throw new Error(`done: ${done}`) })
  const events = eventsOf(log)
  await compact()
  log.compact(() => { throw new Error('compact') })
  await append(record(101))
  await onDrain()
  await compact()
  process.off('uncaughtException', catching)
  t.equal(thrown.length, calls, 'with that of the callback')
  t.equal(events.length, calls, 'other listeners get all')
  t.ok(events.at(-1).done)
  t.equal((await collect(log)).length, 100)
  await close()
})
