'use strict'

// Large records in a log that is trimmed or compacted.

const fs = require('fs')
const { isDeepStrictEqual } = require('util')
const test = require('tape')
const FlumeLog = require('../..')
const { verify } = require('../../maintenance')
const { wrap } = require('../../promises')
const { MovingTail } = require('../../lib/space/moving-tail')
const { ControlledFile } = require('../helpers/controlled-file')
const { isIntact, numberOf, numbered } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { randomFrom } = require('../helpers/random')
const { until } = require('../helpers/followers')
const { testFolder } = require('../helpers/folder')
const { codeOf, collect, event } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const DAY = 24 * 60 * 60 * 1000
const SIZES = [300, 20_000, 40, 5000, 900, 1011, 60_000, 30]
const called = (start) => new Promise((resolve, reject) => start((err, result) => err ? reject(err) : resolve(result)))

async function filled (file, rounds = 3, options = {}) {
  const log = promises(FlumeLog(file, { blockSize: 1024, large: true, ...options }))
  log.values = Array.from({ length: rounds * SIZES.length }, (_, i) => numbered(i + 1, SIZES[i % SIZES.length]))
  log.seqs = []
  for (const value of log.values) log.seqs.push(await log.append(value))
  return log
}

test('a trim keeps all chunks of large records that are not before it', async (t) => {
  const log = await filled(testFolder(t)('log'))
  const { seqs, values } = log
  for (const lt of [seqs[1], seqs[1] + 1, seqs[3], seqs[6] - 30_000, seqs[6], seqs[7], seqs[8]]) {
    await called(cb => log.log.trim({ lt }, cb))
    const left = await collect(log.log, {})
    const count = seqs.length - left.length
    t.ok(count === 0 || seqs[count - 1] < lt, `${count} records are trimmed`)
    t.deepEqual(left, seqs.slice(count).map((seq, i) => ({ seq, value: values[count + i] })))
  }
  t.ok(log.log.start > seqs[6], 'large records are trimmed')
  await log.close()
})

test('a large record of which only some chunks were deleted stays deleted when the log is compacted', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = randomFrom(seed)
  const shown = async (log) => {
    const forward = await collect(log.log, { seqs: false })
    const backward = await collect(log.log, { seqs: false, reverse: true })
    if (!isDeepStrictEqual(forward, [...backward].reverse())) t.fail('backward, others are shown')
    return forward
  }
  for (let run = 0; run < (thorough ? 12 : 4); run++) {
    const file = testFolder(t)('log')
    const blockSize = random.pick([128, 1024])
    const log = await filled(file, 1, { blockSize })
    if (random() < 0.5) await log.append(Buffer.alloc(700, 1))
    await log.close()
    // as an interrupted deletion leaves it
    const plain = promises(FlumeLog(file))
    const chunks = await collect(plain.log, { values: false })
    const first = random.below(chunks.length)
    await plain.del(chunks.slice(first, first + 1 + random.below(random.pick([2, 20, 200]))))
    if (random() < 0.5) await plain.del([random.pick(chunks), chunks.at(-2)])
    await plain.close()
    const again = promises(FlumeLog(file, { large: true }))
    const before = await shown(again)
    for (let times = 0; times < 2; times++) {
      await called(cb => again.log.compact(cb))
      t.deepEqual(await shown(again), before, 'compacted')
    }
    await again.append(Buffer.alloc(300, 2))
    t.deepEqual(await shown(again), [...before, Buffer.alloc(300, 2)])
    await again.close()
    const { corrupt } = await verify(file)
    t.notOk(corrupt?.length)
  }
})

test('a large record is deleted while its parts are trimmed', async (t) => {
  for (let turns = 0; turns < 16; turns++) {
    const log = await filled(testFolder(t)('log'), 1)
    const seq = log.seqs[6]
    const deletion = codeOf(log.del(seq))
    for (let turn = 0; turn < turns; turn++) {
      log.append(numbered(100, 30))
      await new Promise(resolve => setImmediate(resolve))
    }
    log.append(numbered(100, 30))
    await log.trim({ lt: seq })
    const code = await deletion
    if (!code.startsWith('no error')) t.fail(`${code}, ${turns} turns before the trim`)
    t.deepEqual(await collect(log.log, { gte: seq, values: false, limit: 1 }), [log.seqs[7]])
    await log.close()
  }
})

test('a range that was trimmed, but not durably, does not come back after it was deleted', async (t) => {
  for (const large of [false, true]) {
    const file = new ControlledFile()
    const options = { blockSize: 1024, large, sync: 'always' }
    const log = file.open(options)
    const seqs = []
    for (let i = 1; i <= 20; i++) seqs.push(await log.append(numbered(i, 500)))
    file.fail('metadata.append')
    t.equal(await codeOf(log.trim({ lt: seqs[10] })), 'EIO')
    await log.del({ lte: seqs[2] })
    const again = file.afterKill().open(options)
    t.ok((await collect(again.log, { values: false }))[0] > seqs[2], large ? 'with large records' : 'without')
    await again.close()
  }
})

test('a large record that is trimmed while it is read is whole, or trimmed', async (t) => {
  for (let turns = 0; turns < 3; turns++) {
    const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024, large: true, cacheSize: 0 }))
    const seqs = []
    for (const size of [20_000, 3000, 900, 900]) seqs.push(await log.append(numbered(seqs.length + 1, size)))
    await log.sync()
    const reads = []
    const trim = { isOver: false }
    const trimmed = log.trim({ lt: seqs[3] }).then(() => { trim.isOver = true })
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
    while (!trim.isOver) {
      reads.push(log.get(seqs[1]).then(value => value.equals(numbered(2, 3000)) ? 'whole' : 'wrong', err => err.code))
      await new Promise(resolve => setImmediate(resolve))
    }
    const codes = new Set(await Promise.all(reads))
    codes.delete('whole')
    t.ok(codes.size === 0 || isDeepStrictEqual([...codes], ['flumelog:trimmed']), [...codes].join())
    await trimmed
    await log.close()
  }
})

test('retention keeps a large record as a whole until all of it may go, however many blocks it has', async (t) => {
  for (const retain of [{ bytes: 1000 }, { bytes: 50_000 }, { age: DAY / 2, time: (value) => numberOf(value) > 4 ? Date.now() : 0 }]) {
    const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024, large: true, retain, sync: 'always' }))
    const values = [300, 150_000, 300, 70_000, 20_000, 1000, 20_000, 20_000, 1000].map((size, i) => numbered(i + 1, size))
    const seqs = []
    for (const value of values) {
      seqs.push(await log.append(value))
      await log.sync()
      const left = await collect(log.log, {})
      const first = seqs.length - left.length
      t.deepEqual(left, seqs.slice(first).map((seq, i) => ({ seq, value: values[first + i] })), `${JSON.stringify(retain)}: ${left.length} of ${seqs.length}`)
      t.ok(!(seqs[first - 1] >= log.log.stats().size - retain.bytes), 'nothing goes that is to stay')
    }
    await until(() => log.log.start > seqs[1] - 1024)
    t.deepEqual(await log.get(seqs.at(-1)), values.at(-1))
    await log.close()
  }
})

test('a large record of which parts are trimmed, by a process without the option, is trimmed', async (t) => {
  const file = testFolder(t)('log')
  const { seqs, values, ...first } = await filled(file)
  await first.close()
  const plain = promises(FlumeLog(file))
  // in the middle of the second record
  await called(cb => plain.log.trim({ lt: seqs[1] - 5000 }, cb))
  await plain.close()
  const log = promises(FlumeLog(file, { large: true }))
  await log.get(seqs[2])
  t.ok(log.log.start > 0 && log.log.start < seqs[1])
  for (const i of [0, 1]) t.equal(await codeOf(log.get(seqs[i])), 'flumelog:trimmed')
  t.deepEqual(await log.get(seqs[3]), values[3])
  for (const reverse of [false, true]) {
    const left = seqs.slice(2).map((seq, i) => ({ seq, value: values[i + 2] }))
    t.deepEqual(await collect(log.log, { reverse }), reverse ? left.reverse() : left)
    t.deepEqual(await collect(log.log, { reverse, values: false }), left.map(({ seq }) => seq))
  }
  t.equal(await codeOf(log.getPrevious(seqs[2])), 'flumelog:not-found')
  t.deepEqual(await log.search(value => numberOf(value) - 1), { seq: seqs[2], value: values[2] })
  await log.close()
})

test('compaction keeps large records whole, and open streams go on with them', async (t) => {
  const file = testFolder(t)('log')
  const log = await filled(file)
  const { seqs, values } = log
  const deleted = [1, 4, 8, 14]
  await log.del(deleted.map(i => seqs[i]))
  const left = values.filter((_, i) => !deleted.includes(i))

  const streams = [false, true].map(reverse => {
    const source = log.log.stream({ reverse, seqs: false })
    const seen = []
    const next = () => event(resolve => source(null, (end, value) => { if (!end) seen.push(value); resolve(end) }))
    return { seen, next, reverse }
  })
  for (const { next } of streams) for (let i = 0; i < 4; i++) await next()
  const gets = log.seqs.filter((_, i) => !deleted.includes(i)).map(seq => codeOf(log.get(seq).then(value => isIntact(value))))
  await called(cb => log.log.compact(cb))
  for (const result of await Promise.all(gets)) if (!['no error, but true', 'flumelog:trimmed'].includes(result)) t.fail(result)
  for (const { seen, next, reverse } of streams) {
    while (await next() === null);
    t.deepEqual(seen, reverse ? [...left].reverse() : left, 'nothing is skipped, nothing comes twice')
  }
  t.deepEqual(await collect(log.log, { seqs: false }), left)
  await log.append(numbered(100, 30_000))
  const wrapped = wrap(log.log)
  t.deepEqual(await wrapped.get(wrapped.since.value), numbered(100, 30_000))
  await log.close()
  const again = promises(FlumeLog(file, { large: true }))
  t.deepEqual(await collect(again.log, { seqs: false }), [...left, numbered(100, 30_000)])
  await again.close()
})

test('a range of large records is deleted, also if the log becomes another file while it is looked up', async (t) => {
  const log = await filled(testFolder(t)('log'), 3, { cacheSize: 0 })
  const { values, seqs } = log
  const { move } = MovingTail.prototype
  t.teardown(() => { MovingTail.prototype.move = move })
  /** @type {Promise<void> | undefined} */
  let deleted
  MovingTail.prototype.move = function () {
    deleted = called(cb => log.log.del({ gte: seqs[10], lt: seqs[13] }, cb))
    return move.call(this)
  }
  await called(cb => log.log.compact(cb))
  await deleted
  t.deepEqual((await collect(log.log, { seqs: false })).map(numberOf), values.map(numberOf).filter(number => number < 11 || number > 13))
  await log.close()
})

test('a large record that is being deleted while a compaction moves it is deleted, with all of its chunks', async (t) => {
  const log = await filled(testFolder(t)('log'), 3, { cacheSize: 0, blocking: false })
  const { seqs, values } = log
  await log.del(seqs[0])
  // a small one, and large ones with many chunks
  const deleted = [2, 6, 9, 14]
  const { renameSync } = fs
  t.teardown(() => { fs.renameSync = renameSync })
  const deleting = []
  fs.renameSync = (from, to) => {
    renameSync(from, to)
    // their chunks are looked for in the file that the log moves away from
    if (from.endsWith('.unfinished')) for (const i of deleted) deleting.push(codeOf(log.del(seqs[i])))
  }
  await called(cb => log.log.compact(cb))
  t.deepEqual(await Promise.all(deleting), deleted.map(() => 'no error, but undefined'))
  await log.sync()
  const kept = values.filter((_, i) => i !== 0 && !deleted.includes(i))
  t.ok((await collect(log.log, {})).every(({ value }, i) => value.equals(kept[i])), 'the others are there')
  const { counts } = await verify(log.log.filename)
  await log.close()
  const packed = promises(FlumeLog(testFolder(t)('packed'), { blockSize: 1024, large: true }))
  for (const value of kept) await packed.append(value)
  await packed.close()
  const { counts: expected } = await verify(packed.log.filename)
  t.ok(counts.bytes <= expected.bytes + 3 * 64, `no parts are left: ${counts.bytes} bytes of records, ${expected.bytes} without the deleted ones`)
})

test('retention goes by the age of whole records: one that is young keeps its parts', async (t) => {
  const now = Date.now()
  const codec = { encode: value => JSON.stringify(value), decode: JSON.parse }
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024, large: true, codec, sync: 'always', retain: { age: DAY / 2, time: ({ at }) => at } }))
  const seqs = {}
  // its first part is in a block of old records
  for (const [name, at, length] of [['old', now - DAY, 100], ['oldLarge', now - DAY, 20_000], ['old again', now - DAY, 100], ['large', now, 20_000], ['young', now, 500]]) {
    seqs[name] = await log.append({ at, text: 'x'.repeat(length) })
  }
  for (let i = 0; i < 5; i++) await log.append({ at: now, text: 'y'.repeat(500) })
  await until(() => log.log.start > seqs.oldLarge - 1024)
  t.equal(await codeOf(log.get(seqs.oldLarge)), 'flumelog:trimmed', 'an old large record goes')
  t.equal((await log.get(seqs.large)).text.length, 20_000, 'a young one stays')
  t.ok(log.log.start > 0 && log.log.start <= seqs['old again'])
  await log.close()
})

test('a range deletes the large records whose seqs are in it, with all their chunks, and no others', async (t) => {
  for (const [from, to] of [[1, 3], [2, 5], [0, 1], [4, 6]]) {
    for (const offset of [0, -4000, -1000]) {
      const log = await filled(testFolder(t)('log'), 1)
      const { seqs, values } = log
      // the bounds may lie between the parts of a record
      await log.del({ gte: Math.max(0, seqs[from] + offset), lt: seqs[to] + offset })
      const left = seqs.map((seq, i) => ({ seq, value: values[i] })).filter(({ seq }) => !(seq >= seqs[from] + offset && seq < seqs[to] + offset))
      t.deepEqual(await collect(log.log), left, `${from} to ${to}, ${offset}`)
      await log.close()
    }
  }
})

test('a range with a corrupt block keeps a large record whose parts end it, and whose last chunk is behind it', async (t) => {
  const file = testFolder(t)('log')
  const open = () => promises(FlumeLog(file, { blockSize: 1024, large: true }))
  const values = [900, 1000, 5000, 30].map((size, i) => numbered(i + 1, size))
  const log = open()
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  await log.close()
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.from('x'), 0, 1, seqs[1] + 500)
  fs.closeSync(fd)
  const again = open()
  // between the corrupt block and the end of the range there are parts only
  const err = await again.del({ gte: 0, lt: seqs[2] - 2000 }).then(() => null, err => err)
  t.equal(err?.code, 'flumelog:corrupt')
  t.equal(err?.offset, seqs[1])
  t.equal(await codeOf(again.get(seqs[0])), 'flumelog:deleted', 'what is before the corrupt block')
  t.deepEqual(await again.get(seqs[2]).catch(err => err.code), values[2])
  t.deepEqual(await again.get(seqs[3]), values[3])
  await again.close()
})

for (const size of [1500, 40]) {
  test(`a reverse stream of batches that stops at a record of ${size} bytes names its seq of the moment, also after a compaction`, async (t) => {
    const codec = {
      encode: (value) => value,
      decode: (data) => {
        if (data[data.length - 1] === 66) throw new Error('not to be decoded')
        return data
      }
    }
    const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 1024, large: true, codec }))
    const gone = await log.append(Buffer.alloc(100, 64))
    // the first is deleted, so that the others move; the second starts like a chunk
    for (const value of [Buffer.alloc(1500, 65), Buffer.concat([Buffer.from('\xffchunked', 'latin1'), Buffer.alloc(size, 66)]), Buffer.alloc(100, 67)]) await log.append(value)
    await log.del(gone)
    const read = log.log.batches({ reverse: true })
    const next = () => new Promise((resolve, reject) => read(null, (end, batch) => end ? reject(end) : resolve(batch)))
    t.deepEqual((await next()).map(({ value }) => value[0]), [67])
    await called(cb => log.log.compact({}, cb))
    const seqs = await collect(log.log, { values: false })
    t.equal(await next().catch(({ offset }) => offset), seqs[1])
    await log.close()
  })
}
