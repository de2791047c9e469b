'use strict'

// Compaction of a log that is open.

const fs = require('fs')
const tape = require('tape')
const { openOffsetMap, restore } = require('../../maintenance')
const { open } = require('../../promises')
const { CompactedFile } = require('../../lib/space/compacted-file')
const { Compaction } = require('../../lib/space/compaction')
const { OffsetMap, headerPage } = require('../../lib/space/offset-map')
const { OffsetMapWriter } = require('../../lib/space/offset-map-writer')
const { Writer } = require('../../lib/write/writer')
const { filesIn, testFolder } = require('../helpers/folder')
const { codeOf, until } = require('../helpers/reading')

const SMALL = { blockSize: 1024 }

tape('compaction drops deleted records and keeps all others, in order, under new seqs that are greater than all old ones', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  const seqs = await appendAll(log, 500)
  await log.del(seqs.filter((_, i) => i % 3 === 0))
  const before = log.stats().size
  const progress = []
  const compacted = await log.compact({ onProgress: (at) => progress.push(at) })
  t.deepEqual({ records: compacted.records, deleted: compacted.deleted }, { records: 333, deleted: 167 })
  t.equal(compacted.before, before)
  t.ok(compacted.after < 0.75 * before, `${before} bytes became ${compacted.after}`)
  t.ok(progress.length > 0 && progress.every(({ bytes, total }) => bytes > 0 && bytes <= total), 'progress was told')
  const kept = await all(log)
  t.deepEqual(kept.map(({ value }) => value), numbers(500).filter((_, i) => i % 3 !== 0))
  t.ok(kept[0].seq > seqs.at(-1))
  t.equal(log.flumelog.start, kept[0].seq)
  t.equal(log.since.value, kept.at(-1).seq)
  for (const { seq, value } of kept) if (String(await log.get(seq)) !== value) t.fail(`the record at ${seq} is another one`)
  t.equal(await codeOf(log.get(seqs[1])), 'flumelog:trimmed', 'a seq from before is refused')
  t.equal(await codeOf(log.stream({ gt: seqs[1] }).next()), 'flumelog:trimmed')
  const next = await log.append('next')
  t.ok(next > kept.at(-1).seq)
  await log.close()

  t.deepEqual(filesIn(file.slice(0, -4)), ['log', 'log.offset-map'])
  const again = await open(file)
  t.deepEqual(await all(again), [...kept, { seq: next, value: 'next' }], 'the same when it is opened again')
  t.equal(again.id, compacted.id)
  await again.close()
})

tape('the id changes with each compaction, and the offset map leads from old seqs to new ones', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  t.equal(log.id, '0')
  const seqs = await appendAll(log, 300)
  await log.del([seqs[0], seqs[150], seqs[151]])
  const told = []
  // `map` works by itself
  const stop = log.onCompact(({ id, previousId, map }) => told.push({ id, previousId, map }))
  const { id } = await log.compact()
  t.equal(log.id, id)
  t.deepEqual(told.map(({ id, previousId }) => ({ id, previousId })), [{ id, previousId: '0' }])
  const map = await OffsetMap.open(file, id)
  const kept = await all(log)
  const expected = new Map(kept.map(({ seq, value }) => [value, seq]))
  for (let i = 0; i < 300; i++) {
    const now = expected.get(String(i)) ?? null
    if (map.at(seqs[i]) !== now || await told[0].map(seqs[i]) !== now) t.fail(`record ${i} is at ${now}`)
  }
  t.equal(map.down(seqs[0]), -1)
  t.equal(map.down(seqs[151]), expected.get('149'))
  t.equal(map.down(1e15), kept.at(-1).seq)
  map.close()
  stop()
  await log.del(expected.get('1'))
  await log.compact()
  t.equal(await codeOf(told[0].map(seqs[1])), 'flumelog:invalid', 'a map is valid until the next compaction')
  t.equal(told.length, 1, 'a listener that was removed is not called')
  t.notEqual(log.id, id)
  await log.close()
})

tape('a loaded offset map is looked up without reads, however large it is: what moves in one step needs none that may fail', async (t) => {
  const filename = testFolder(t)('map')
  const runs = 400_000
  const writer = await OffsetMapWriter.create(filename, { id: 'b', previousId: 'a', base: 0 }, fs.statSync('.'))
  for (let i = 0; i < runs; i++) writer.add({ old: 10 * i, now: 5 * i, length: 5, last: 0 })
  const map = await writer.finish(5 * runs)
  map.load()
  const { readSync } = fs
  fs.readSync = () => { throw new Error('EIO: made to fail') }
  try {
    t.deepEqual([0, 10, 17, 10 * runs - 10].map(seq => map.at(seq)), [0, 5, null, 5 * runs - 5])
  } finally {
    fs.readSync = readSync
  }
  map.unload()
  t.deepEqual([0, 10, 17, 10 * runs - 10].map(seq => map.at(seq)), [0, 5, null, 5 * runs - 5], 'the same when it is not loaded any more')
  map.close()
})

tape('an offset map with a corrupt page is refused when it is loaded, before anything moves', async (t) => {
  const filename = testFolder(t)('map')
  const writer = await OffsetMapWriter.create(filename, { id: 'b', previousId: 'a', base: 0 }, fs.statSync('.'))
  for (let i = 0; i < 1000; i++) writer.add({ old: 10 * i, now: 5 * i, length: 5, last: 0 })
  const map = await writer.finish(5000)
  fs.writeSync(map.fd, Buffer.from('x'), 0, 1, 3 * 4096 + 100)
  t.throws(() => map.load(), { code: 'flumelog:corrupt', message: /page 2 is corrupt/ })
  map.close()
})

tape('the offset map has the mode of the log, whatever the umask, also in a backup and what is restored from it', async (t) => {
  const umask = process.umask(0o077)
  t.teardown(() => process.umask(umask))
  const name = testFolder(t)
  const log = await open(name('log'), SMALL)
  fs.chmodSync(name('log'), 0o644)
  await log.del((await appendAll(log, 300))[0])
  await log.compact()
  await log.backup(name('backup'))
  await log.close()
  await restore(name('backup'), name('restored'))
  for (const file of ['log', 'backup', 'restored']) {
    t.deepEqual(['', '.offset-map'].map(suffix => (fs.statSync(name(file + suffix)).mode & 0o777).toString(8)), ['644', '644'], file)
  }
})

for (const large of [false, true]) {
  tape(`the map of a compaction leads to no record that is deleted, also if an append is in flight${large ? ', with large records' : ''}`, async (t) => {
    const log = await open(testFolder(t)('log'), { ...SMALL, large })
    const values = numbers(100)
    const seqs = await appendAll(log, 100)
    const isKept = (n) => Number(values[n]) % 3 > 0 && n !== 50 && n !== 98
    await log.del(seqs.filter((_, n) => !isKept(n)))
    let find = null
    log.onCompact(({ map }) => { find = map })
    const { catchUp } = Compaction.prototype
    t.teardown(() => { Compaction.prototype.catchUp = catchUp })
    let appended = null
    Compaction.prototype.catchUp = async function () {
      await catchUp.call(this)
      if (!this.isCopying) appended = log.append('in flight')
    }
    await log.compact()
    const found = await Promise.all(seqs.map(seq => find(seq)))
    t.deepEqual(found.map(seq => seq !== null), values.map((_, n) => isKept(n)))
    for (const [n, seq] of found.entries()) if (seq !== null) t.equal(String(await log.get(seq)), values[n])
    t.equal(String(await log.get(await appended)), 'in flight')
    await log.close()
  })
}

tape('an offset from before a compaction gives an error that says that its record may have moved, one that was trimmed since does not', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  const seqs = await appendAll(log, 300)
  await log.del(seqs[0])
  const messageOf = async (log, seq) => {
    const { code, message } = await log.get(seq).catch(err => err)
    return [code, /trimmed, or has moved in a compaction \(openOffsetMap finds it\)$/.test(message) ? 'compacted' : /what was there was trimmed$/.test(message) ? 'trimmed' : message]
  }
  const reader = await open(file, { readOnly: true })
  await log.compact()
  const { start } = log
  await log.trim({ lt: log.stats().size })
  t.ok(log.start > start)
  await log.append('for the reader')
  await reader.since.next()
  const expect = async (log, what) => {
    for (const [seq, why] of [[seqs[1], 'compacted'], [start, 'trimmed']]) t.deepEqual(await messageOf(log, seq), ['flumelog:trimmed', why], `${what}: ${why}`)
    t.match((await log.stream({ gte: seqs[1] }).next().catch(err => err)).message, /moved in a compaction/, `${what}: a stream`)
  }
  await expect(log, 'the writer')
  await expect(reader, 'a reader that has followed it')
  await reader.close()
  await log.close()
  for (const options of [{}, { readOnly: true }, { shared: true }]) {
    const again = await open(file, options)
    await expect(again, JSON.stringify(options))
    await again.close()
  }
})

tape('the offset map of a log can be opened without the log', async (t) => {
  const name = testFolder(t)
  const log = await open(name('log'), SMALL)
  const seqs = await appendAll(log, 300)
  t.equal(await openOffsetMap(name('log')), null, 'a log that was never compacted has none')
  await log.del(seqs[7])
  const { id } = await log.compact()
  fs.symlinkSync('log', name('link'))
  for (const file of ['log', 'link']) {
    const map = await openOffsetMap(name(file))
    t.deepEqual([map.id, map.previousId], [id, '0'])
    const kept = await all(log)
    t.deepEqual(await Promise.all(seqs.map(map.map)), [...kept.slice(0, 7).map(({ seq }) => seq), null, ...kept.slice(7).map(({ seq }) => seq)])
    for (const seq of [-1, 1.5, '7', NaN]) t.equal(await codeOf(map.map(seq)), 'flumelog:invalid')
    await map.close()
    await map.close()
    const { map: find } = map
    t.equal(await codeOf(find(0)), 'flumelog:closed', 'not when it is closed')
  }
  await log.close()
  const before = fs.readFileSync(name('log.offset-map'))
  // as if a second one had been stopped before its file took the log's place
  fs.writeFileSync(name('log.offset-map'), headerPage({ id: 'another', previousId: id, base: 2 ** 40, end: 2 ** 40, pages: 0 }))
  t.equal(await openOffsetMap(name('log')), null, 'a map that is not in effect is none')
  fs.writeFileSync(name('log.offset-map'), before)
  t.equal(await codeOf(openOffsetMap(name('missing'))), 'ENOENT')
  t.equal(await codeOf(openOffsetMap('')), 'flumelog:invalid')
})

tape('a compaction that fails leaves the log as it was', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), SMALL)
  const seqs = await appendAll(log, 300)
  await log.del(seqs.shift())
  const error = new Error('mine')
  const failing = (options) => log.compact(options).then(() => t.fail('it did not fail'), err => err)
  t.equal(await failing({ signal: AbortSignal.abort(null) }), null, 'aborted with null')
  t.equal(await failing({ onProgress: () => { throw null } }), null, '`onProgress` throws null') // eslint-disable-line no-throw-literal
  t.equal((await new Promise(resolve => log.flumelog.compact({ signal: AbortSignal.abort(null) }, resolve)))?.reason, null, 'a callback gets an error')
  t.equal(await failing({ onProgress: () => { throw error } }), error, '`onProgress` throws')
  t.equal(await failing({ signal: AbortSignal.abort(error) }), error, 'aborted before it')
  const interrupt = new AbortController()
  t.equal(await failing({ onProgress: () => interrupt.abort(error), signal: interrupt.signal }), error, 'aborted in the middle')
  for (const options of [{ onProgress: 1 }, { signal: 1 }, { keep: () => true }]) t.equal((await failing(options)).code, 'flumelog:invalid', JSON.stringify(options))
  const first = log.compact()
  t.equal((await failing()).code, 'flumelog:invalid', 'one at a time')
  await first
  const { id } = log
  t.equal((await failing({ onProgress: () => { throw error } })), error)
  t.deepEqual([log.id, (await all(log)).length], [id, seqs.length])
  t.deepEqual(filesIn(folder('')).filter(name => name.includes('unfinished')), [])
  const closing = log.compact().catch(err => err.code)
  await log.close()
  t.equal(await closing, 'flumelog:closed')
  t.equal(await codeOf(log.compact()), 'flumelog:closed')
  const reader = await open(folder('log'), { readOnly: true })
  t.equal(await codeOf(reader.compact()), 'flumelog:read-only')
  t.deepEqual([reader.id, (await all(reader)).length], [id, seqs.length])
  await reader.close()
})

tape('a corrupt block ends a compaction with its error, and nothing is changed', async (t) => {
  const folder = testFolder(t)
  const log = await open(folder('log'), { ...SMALL, cacheSize: 0 })
  await appendAll(log, 1000)
  await log.sync()
  const bytes = fs.readFileSync(folder('log'))
  bytes[2500] ^= 1
  fs.writeFileSync(folder('log'), bytes)
  const err = await log.compact().catch(err => err)
  t.deepEqual([err.code, err.block], ['flumelog:corrupt', 2])
  t.ok(fs.readFileSync(folder('log')).equals(bytes))
  t.equal(log.id, '0')
  await log.close()
  t.deepEqual(filesIn(folder('')).filter(name => /unfinished|map/.test(name)), [])
})

tape('open streams go on at the record that comes next, in either direction, without skipping or repeating one', async (t) => {
  const log = await open(testFolder(t)('log'), { ...SMALL, cacheSize: 4096 })
  const seqs = await appendAll(log, 400)
  const streams = [{}, { reverse: true }, { live: true }, { gt: seqs[20], lt: seqs[390] }, { reverse: true, live: true, gte: seqs[10] }, { limit: 300 }, { live: true, lte: seqs[350] }]
    .map(options => ({ options, source: log.flumelog.stream(options), given: [] }))
  for (const stream of streams) for (let i = 0; i < 123; i++) stream.given.push(await read(stream.source))
  const unread = log.flumelog.stream({ old: false })
  await log.del([50, 100, 200, 201, 202, 380].map(i => seqs[i]))
  const waiting = log.flumelog.stream({ old: false })
  const next = read(waiting)
  for (let round = 0; round < 2; round++) {
    await log.compact()
    for (const stream of streams) for (let i = 0; i < 20; i++) stream.given.push(await read(stream.source))
  }
  await log.append('new')
  t.equal(await next, 'new')
  t.equal(await read(unread), 'new')
  const left = numbers(400).filter(n => !['50', '100', '200', '201', '202', '380'].includes(n))
  const from = (first, last) => numbers(400).slice(first, last)
  const later = (list, given) => [...list.slice(0, given), ...list.slice(given).filter(n => left.includes(n))]
  const expected = [
    [...later(from(0), 123), 'new'],
    later(from(0).reverse(), 123),
    [...later(from(0), 123), 'new'],
    later(from(21, 390), 123),
    [...later(from(10).reverse(), 123), 'new'],
    later(from(0), 123).slice(0, 300),
    later(from(0, 351), 123)
  ]
  for (const [i, { options, source, given }] of streams.entries()) {
    while (given.length < expected[i].length) given.push(await read(source).catch(err => { throw new Error(`${JSON.stringify(options)} ${given.length} of ${expected[i].length}, last ${given.at(-1)}: ${err.message}`) }))
    t.deepEqual(given, expected[i], JSON.stringify(options))
  }
  await log.close()
})

tape('after a compaction, an offset from before it is refused as a bound of a stream, a scan or a deletion, in each role', async (t) => {
  const file = testFolder(t)('log')
  const owner = await open(file, { ...SMALL, shared: true })
  const client = await open(file, { ...SMALL, shared: true })
  const seqs = await appendAll(owner, 100)
  await owner.del(seqs[0])
  await owner.compact()
  const kept = await all(owner)
  await until(() => client.since.value === owner.since.value)
  const old = seqs[50]
  const reader = await open(file, { readOnly: true })
  for (const log of [owner, client, reader]) {
    for (const range of [{ gt: old }, { gte: old }, { lt: old }, { lte: old }, { gte: seqs[10], lt: old }, { gte: 0, lte: old }, { gte: old, lte: kept[5].seq }]) {
      for (const reverse of [false, true]) {
        t.equal(await codeOf(log.stream({ ...range, reverse }).next()), 'flumelog:trimmed', `stream ${JSON.stringify({ ...range, reverse })}`)
        t.equal(await codeOf(log.scan({ ...range, reverse }, () => t.fail('nothing is passed'))), 'flumelog:trimmed', 'and a scan')
      }
      if (log !== reader) t.equal(await codeOf(log.del(range)), 'flumelog:trimmed', 'and a deletion')
    }
    t.equal((await log.stream({ gte: old, fromStart: true }).next()).value.seq, kept[0].seq, 'unless `fromStart` says to go on at the start')
  }
  t.deepEqual(await all(owner), kept, 'nothing is deleted')
  await client.del({ gte: kept[90].seq })
  t.deepEqual(await all(owner), kept.slice(0, 90), 'bounds since the compaction are the log\'s')
  await owner.del({ gte: 0, lt: kept[10].seq })
  t.deepEqual(await all(owner), kept.slice(10, 90), 'and 0 is its start')
  await Promise.all([owner, client, reader].map(log => log.close()))
})

tape('a log beyond 4 GiB is compacted as any other', async (t) => {
  const file = testFolder(t)('log')
  let log = await open(file, SMALL)
  await appendAll(log, 300)
  await log.compact()
  const { start } = log.flumelog
  await log.close()
  // the same blocks at 6 GiB
  const bytes = fs.readFileSync(file)
  const fd = fs.openSync(file, 'r+')
  const base = 6 * 2 ** 30
  fs.ftruncateSync(fd, 1024)
  fs.writeSync(fd, bytes, start, bytes.length - start, base)
  fs.closeSync(fd)
  log = await open(file)
  const kept = await all(log)
  t.equal(kept[0].seq, base)
  await log.del(kept.slice(0, 100).map(({ seq }) => seq))
  const source = log.flumelog.stream({ gt: kept[119].seq })
  t.equal(await read(source), '120')
  const compacted = await log.compact()
  t.ok(compacted.start > base)
  t.equal(await read(source), '121')
  t.deepEqual((await all(log)).map(({ value }) => value), numbers(300).slice(100))
  await log.close()
})

tape('a compaction that is overtaken by appends starts again, with more room for offsets', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 65536 })
  const record = Buffer.alloc(60000, 1)
  await log.append(record)
  let calls = 0
  const appended = []
  const { add } = CompactedFile.prototype
  t.teardown(() => { CompactedFile.prototype.add = add })
  CompactedFile.prototype.add = function (...args) {
    // while the first block is copied, more than the headroom
    if (calls++ === 0) for (let i = 0; i < 80; i++) appended.push(log.append(record))
    add.apply(this, args)
  }
  const { records } = await log.compact()
  const seqs = await Promise.all(appended)
  t.equal((await all(log)).length, 81)
  t.ok(records <= 81 && Math.max(...seqs) < log.since.value + 1)
  await log.close()
})

tape('a deletion of several records of which one was trimmed is refused, also if the log moves to the new file meanwhile', async (t) => {
  const log = await open(testFolder(t)('log'), SMALL)
  const seqs = await appendAll(log, 1500)
  await log.trim({ lt: seqs[1000] })
  await log.del(seqs[1300])
  let deleted
  duringNextOperation(t, () => { deleted = codeOf(log.del([seqs[0], seqs[1400]])) })
  await log.compact()
  t.equal(await deleted, 'flumelog:trimmed')
  t.ok((await all(log)).some(({ value }) => value === '1400'), 'none of them is deleted')
  await log.close()
})

tape('a log whose fsync has failed removes no file of a compaction: another process may own the log by then', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, SMALL)
  await appendAll(log, 100)
  const { fdatasync } = fs
  t.teardown(() => { fs.fdatasync = fdatasync })
  fs.fdatasync = (fd, cb) => process.nextTick(cb, Object.assign(new Error('made to fail'), { code: 'EIO' }))
  t.equal(await codeOf(log.sync()), 'flumelog:failed')
  fs.fdatasync = fdatasync
  const others = [`${file}.unfinished`, `${file}.unfinished.offset-map`]
  for (const other of others) fs.writeFileSync(other, 'of another process')
  t.equal(await codeOf(log.compact()), 'flumelog:failed')
  t.deepEqual(others.map(other => fs.readFileSync(other, 'utf8')), others.map(() => 'of another process'))
  await codeOf(log.close())
})

tape('what is to be deleted while the log moves to the new file is deleted there', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 1024, sync: 'always' })
  const seqs = await Promise.all(numbers(1500).map(n => log.append(n.padEnd(300))))
  let deleting
  let deletingOne
  duringNextOperation(t, () => {
    deleting = new Promise((resolve, reject) => log.flumelog.del({ gte: seqs[10], lte: seqs[1400] }, err => err ? reject(err) : resolve()))
    deletingOne = log.del(seqs[5])
  })
  await log.compact()
  await Promise.all([deleting, deletingOne])
  const left = [...numbers(10).filter(n => n !== '5'), ...numbers(1500).slice(1401)]
  t.equal((await all(log)).map(({ value }) => value.trim()).join(), left.join())
  await log.close()
})

/** Calls `run` once, when the next operation of a writer has started: the end of a compaction. */
function duringNextOperation (t, run) {
  const { exclusively } = Writer.prototype
  t.teardown(() => { Writer.prototype.exclusively = exclusively })
  Writer.prototype.exclusively = function (operation) {
    Writer.prototype.exclusively = exclusively
    return this.exclusively(() => {
      const result = operation()
      run()
      return result
    })
  }
}

function numbers (count) {
  return Array.from({ length: count }, (_, i) => String(i))
}

async function appendAll (log, count) {
  return Promise.all(numbers(count).map(n => log.append(n)))
}

async function all (log) {
  const found = []
  for await (const { seq, value } of log.stream()) found.push({ seq, value: String(value) })
  return found
}

/** @returns {Promise<string>} the next value of a pull-stream */
function read (source) {
  return new Promise((resolve, reject) => source(null, (end, record) => end ? reject(end === true ? new Error('the stream has ended') : end) : resolve(String(record.value ?? record))))
}
