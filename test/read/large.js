'use strict'

// Records that do not fit into a block: every way of reading gives them as they were appended, or an error.
// The comparison with an array is in log/model.js, crashes are in recovery/crash-machine.js.

const fs = require('fs')
const { isDeepStrictEqual, promisify } = require('util')
const { crc32 } = require('zlib')
const pull = require('pull-stream')
const test = require('tape')
const FlumeLog = require('../..')
const { wrap } = require('../../promises')
const { LAST, PART, kindOf } = require('../../lib/format/chunk')
const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')
const { sealedBlock, tailOf } = require('../helpers/bytes')
const { newFile, testFolder } = require('../helpers/folder')
const { gc } = require('../helpers/gc')
const { framesIn, isIntact, numberOf, numbered } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { codeOf, collect, collectSource, event } = require('../helpers/reading')

const MIB = 1024 * 1024
const MAGIC = Buffer.from('\xffchunked', 'latin1')

/** A log of records of these sizes, numbered from 1. */
async function logOf (sizes, { blockSize = 1024, storage = newFile(), ...options } = {}) {
  const log = promises(FlumeLog(storage, { blockSize, large: true, ...options }))
  log.storage = storage
  log.values = sizes.map((size, i) => numbered(i + 1, size))
  log.seqs = []
  for (const value of log.values) log.seqs.push(await log.append(value))
  return log
}

/** The chunks in a closed file. */
function chunksOf (file, blockSize) {
  const bytes = fs.readFileSync(file)
  return framesIn(bytes, blockSize).map(seq => ({ seq, kind: kindOf(layout.dataAt(bytes, seq)) }))
}

/** Changes bytes of a block, and its checksum with it. */
function change (file, blockSize, number, edit) {
  const bytes = fs.readFileSync(file)
  const block = bytes.subarray(number * blockSize, (number + 1) * blockSize)
  edit(block)
  if (block.length === blockSize) writeChecksum(block)
  fs.writeFileSync(file, bytes)
}

const SIZES = [20, 5000, 1010, 1011, 30, 3000, 20]

test('records that fit into a block are stored as they are without the option', async (t) => {
  const folder = testFolder(t)
  const values = Array.from({ length: 200 }, (_, i) => numbered(i + 1, 8 + i * 5))
  for (const large of [true, false]) {
    const log = promises(FlumeLog(folder(`${large}`), { blockSize: 1024, large }))
    for (const value of values) if (value.length <= 1010) await log.append(value)
    await log.close()
  }
  t.ok(fs.readFileSync(folder('true')).equals(fs.readFileSync(folder('false'))))
})

test('the log with promises gives and appends them, too', async (t) => {
  const log = await logOf(SIZES)
  const wrapped = wrap(log.log)
  const found = []
  for await (const { value } of wrapped.stream()) found.push(value)
  t.deepEqual(found, log.values)
  t.deepEqual(await wrapped.get(log.seqs[1]), log.values[1])
  t.deepEqual(await wrapped.getPrevious(log.seqs[2]), { seq: log.seqs[1], value: log.values[1] })
  t.equal((await wrapped.appendFrom([numbered(100, 4000), numbered(101, 9)])).bytes, 4009)
  await log.close()
})

test('a live stream gives a large record when all of it is there', async (t) => {
  const log = await logOf([10])
  const live = log.log.stream({ live: true, old: false, seqs: false })
  const next = () => event(resolve => live(null, (end, value) => resolve(end ?? value)))
  for (const size of [100_000, 10, 3 * MIB]) {
    const waiting = next()
    await log.append(numbered(size, size))
    t.ok((await waiting).equals(numbered(size, size)))
  }
  await log.close()
  t.equal(await next(), true)
})

test('an array of large and small values is appended in a row, and answered with the seq of the last', async (t) => {
  const log = await logOf([])
  const values = [5000, 20, 1500, 9].map((size, i) => numbered(i + 1, size))
  const seq = await log.append(values)
  const all = await collect(log.log)
  t.deepEqual(all.map(({ value }) => value), values)
  t.equal(all.at(-1).seq, seq)
  t.deepEqual(log.log.stats().appended, { records: 4, bytes: 6529 }, 'each counts as one')
  const sunk = await event(resolve => pull(pull.values(values), log.log.sink((err, stored) => resolve(err ?? stored))))
  t.deepEqual(sunk, { records: 4, bytes: 6529, seq: log.log.since.value })
  await log.close()
})

test('large records in a codec of objects, and of text', async (t) => {
  for (const codec of [{ encode: JSON.stringify, decode: JSON.parse }, { encode: value => Buffer.from(JSON.stringify(value)), decode: data => JSON.parse(data.toString()) }]) {
    const log = promises(FlumeLog(newFile(), { blockSize: 256, large: true, codec }))
    const values = [{ a: 'ä'.repeat(1000) }, { b: 1 }, 'text'.repeat(300), 'x']
    const seqs = []
    for (const value of values) seqs.push(await log.append(value))
    t.deepEqual(await collect(log.log, { seqs: false }), values)
    t.deepEqual(await collect(log.log, { seqs: false, reverse: true }), [...values].reverse())
    t.deepEqual(await log.get(seqs[0]), values[0])
    await log.close()
  }
})

test('a record that starts like a chunk comes back as it was', async (t) => {
  const log = await logOf([])
  // the third does not fit into a block once it is escaped
  const values = [MAGIC, Buffer.concat([MAGIC, Buffer.from([1]), Buffer.alloc(300, 5)]), Buffer.concat([MAGIC, Buffer.alloc(1000, 2)]), Buffer.concat([MAGIC, Buffer.alloc(5000, 3)])]
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  await log.append(values)
  t.deepEqual(await collect(log.log, { seqs: false }), [...values, ...values])
  t.deepEqual(await collect(log.log, { seqs: false, reverse: true }), [...values, ...values].reverse())
  for (const [i, seq] of seqs.entries()) t.deepEqual(await log.get(seq), values[i])
  const atomic = await log.append(values.slice(0, 2), { atomic: true })
  t.deepEqual(await log.get(atomic[1]), values[1])
  await log.close()
})

test('without the option, the chunks are records', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf(SIZES, { storage: file })
  await log.close()
  const plain = promises(FlumeLog(file))
  const records = await collect(plain.log)
  t.deepEqual(records.map(({ value }) => kindOf(value)), chunksOf(file, 1024).map(({ kind }) => kind))
  t.ok(records.filter(({ value }) => kindOf(value) === PART).length >= 8)
  t.deepEqual(records.filter(({ value }) => kindOf(value) !== PART).map(({ seq }) => seq), log.seqs, 'the last ones have the seqs of the large records')
  t.equal(await codeOf(plain.append(Buffer.alloc(2000, 1))), 'flumelog:too-large')
  await plain.close()
})

test('no record starts at a part', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([5000], { storage: file })
  await log.close()
  const again = promises(FlumeLog(file, { large: true }))
  await again.onReady()
  for (const { seq, kind } of chunksOf(file, 1024)) {
    if (kind !== PART) continue
    for (const call of ['get', 'del']) t.equal(await codeOf(again[call](seq)), 'flumelog:not-found', call)
  }
  t.deepEqual(await again.get(log.seqs[0]), log.values[0])
  await again.close()
})

test('a deleted large record is gone with all its chunks', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([...SIZES, 200_000], { storage: file })
  await log.del([log.seqs[1], log.seqs[3], log.seqs[7]])
  t.equal(await codeOf(log.get(log.seqs[1])), 'flumelog:deleted')
  await log.del(log.seqs[1])
  const left = [0, 2, 4, 5, 6]
  t.deepEqual(await collect(log.log, { seqs: false }), left.map(i => log.values[i]))
  // what is asked for before the log is closed is done
  const deleted = log.del(log.seqs[5])
  await log.close()
  await deleted
  const kinds = chunksOf(file, 1024).map(({ kind }) => kind)
  t.notOk(kinds.includes(PART) || kinds.includes(LAST), 'in the file, too')
})

test('a record of which a chunk is deleted is gone', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([20, 5000, 20], { storage: file })
  await log.close()
  const { seq } = chunksOf(file, 1024).filter(({ kind }) => kind === PART)[2]
  const plain = promises(FlumeLog(file))
  await plain.del(seq)
  await plain.close()
  const again = promises(FlumeLog(file, { large: true }))
  t.equal(await codeOf(again.get(log.seqs[1])), 'flumelog:deleted')
  for (const reverse of [false, true]) {
    t.deepEqual(await collect(again.log, { values: false, reverse }), reverse ? [log.seqs[2], log.seqs[0]] : [log.seqs[0], log.seqs[2]])
  }
  t.deepEqual(await again.getPrevious(log.seqs[2]), { seq: log.seqs[0], value: log.values[0] })
  await again.close()
})

test('parts without a last chunk, as a crash leaves them, are no records and no error', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([20, 5000], { storage: file })
  await log.close()
  const last = log.seqs[1]
  // the log ends before the last chunk
  fs.truncateSync(file, last)
  const again = promises(FlumeLog(file, { large: true }))
  await again.onReady()
  t.equal(again.log.since.value, log.seqs[0], 'nor the last record')
  t.deepEqual(await collect(again.log), [{ seq: log.seqs[0], value: log.values[0] }])
  t.deepEqual(await collect(again.log, { reverse: true }), [{ seq: log.seqs[0], value: log.values[0] }])
  const seqs = [await again.append(numbered(3, 5000)), await again.append(numbered(4, 20))]
  t.deepEqual(await collect(again.log, { seqs: false }), [log.values[0], numbered(3, 5000), numbered(4, 20)])
  t.deepEqual(await again.get(seqs[0]), numbered(3, 5000))
  const follower = promises(FlumeLog(file, { readOnly: true, large: true }))
  await follower.onReady()
  t.equal(follower.log.since.value, seqs[1])
  t.deepEqual(await follower.get(seqs[0]), numbered(3, 5000))
  await follower.close()
  await again.close()
})

test('a large record whose bytes have changed is corrupt, and can be skipped', async (t) => {
  const folder = testFolder(t)
  const edits = {
    'a byte': (block) => { block[500] ^= 1 },
    'the number of a part': (block) => { block.writeUInt32LE(7, 2 + 13) },
    'a part that is no part any more': (block) => { block[5] ^= 1 }
  }
  for (const [name, edit] of Object.entries(edits)) {
    const file = folder(name)
    const log = await logOf([1000, 5000, 20], { storage: file })
    await log.close()
    change(file, 1024, 2, edit)
    const again = promises(FlumeLog(file, { large: true }))
    t.equal(await codeOf(again.get(log.seqs[1])), 'flumelog:corrupt', name)
    for (const reverse of [false, true]) {
      t.equal(await codeOf(collect(again.log, { reverse })), 'flumelog:corrupt')
      const skipped = []
      const values = await collect(again.log, { reverse, skipCorrupt: true, onSkip: ({ start, error }) => skipped.push(start, error.code) })
      const expected = [log.values[0], log.values[2]]
      t.deepEqual(values.map(({ value }) => value).filter(isIntact), reverse ? expected.reverse() : expected)
      t.deepEqual(skipped, [log.seqs[1], 'flumelog:corrupt'], 'only this record is skipped')
    }
    await again.close()
  }
})

test('a corrupt block in the middle of a large record costs that record, and what is in the block', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([20, 5000, 20], { storage: file })
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[2500] ^= 1
  fs.writeFileSync(file, bytes)
  const again = promises(FlumeLog(file, { large: true }))
  t.equal(await codeOf(again.get(log.seqs[1])), 'flumelog:corrupt')
  for (const reverse of [false, true]) {
    t.equal(await codeOf(collect(again.log, { reverse })), 'flumelog:corrupt')
    const values = await collect(again.log, { reverse, skipCorrupt: true, seqs: false })
    t.deepEqual(values, reverse ? [log.values[2], log.values[0]] : [log.values[0], log.values[2]])
  }
  await again.close()
})

test('a batch that a record cannot be decoded in gives the others first', async (t) => {
  const codec = { encode: value => value, decode: (data) => { if (!isIntact(data)) throw new Error('no'); return data } }
  for (const reverse of [false, true]) {
    const log = await logOf([])
    const bad = Buffer.alloc(3000, 1)
    for (const value of [numbered(1, 100), bad, numbered(2, 1500), numbered(3, 20)]) await log.append(value)
    await log.close()
    const again = promises(FlumeLog(log.storage, { blockSize: 1024, large: true, codec }))
    await again.onReady()
    t.equal(await codeOf(collect(again.log, { reverse })), 'flumelog:corrupt')
    const batches = await collectSource(again.log.batches({ reverse, skipCorrupt: true }))
    const numbers = batches.flat().map(({ value }) => numberOf(value))
    t.deepEqual(numbers, reverse ? [3, 2, 1] : [1, 2, 3])
    await again.close()
  }
})

test('what is appended before the log is open is stored whole, whatever its blocks are', async (t) => {
  const folder = testFolder(t)
  const values = [3 * MIB, 20, 70_000, 1000].map((size, i) => numbered(i + 1, size))
  values.push(Buffer.concat([MAGIC, Buffer.alloc(100_000, 8)]))
  for (const [name, first] of [['new', null], ['small blocks', { blockSize: 1024 }], ['same blocks', {}], ['one record', {}]]) {
    const before = first === null ? [] : name === 'same blocks' ? [numbered(9, 30), numbered(8, 90_000)] : [numbered(9, 30)]
    if (first !== null) {
      const log = promises(FlumeLog(folder(name), { ...first, large: true }))
      await log.append(before)
      await log.close()
    }
    const log = promises(FlumeLog(folder(name), { large: true }))
    const appends = values.map(value => log.append(value))
    const batch = log.append(values)
    const seqs = await Promise.all(appends)
    t.deepEqual(await log.get(await batch), values.at(-1), name)
    for (const [i, seq] of seqs.entries()) if (!(await log.get(seq)).equals(values[i])) t.fail(`record ${i}`)
    t.deepEqual(await collect(log.log, { seqs: false }), [...before, ...values, ...values])
    await log.close()
  }
})

test('what cannot be stored gets an error that says what would be right', async (t) => {
  const log = await logOf([10])
  t.equal(await codeOf(log.append(Buffer.alloc(2000, 1), { atomic: true })), 'flumelog:too-large', 'a batch is in one block')
  t.equal(await codeOf(log.append([Buffer.alloc(2000, 1)], { atomic: true })), 'flumelog:too-large')
  t.equal(await codeOf(log.append(Buffer.alloc(256 * MIB + 1, 1))), 'flumelog:too-large', 'more than 256 MiB')
  t.equal(await codeOf(log.append(Buffer.alloc(100_000))), 'flumelog:invalid', 'all zeros')
  await log.close()
  const off = promises(FlumeLog(newFile()))
  const message = await off.append(Buffer.alloc(70_000, 1)).catch(err => err.message)
  t.ok(/65522 bytes, with blocks of 65536; use the option large/.test(message), message)
  await off.close()
  // the option cannot be refused before the block size is known
  const storage = newFile()
  const small = promises(FlumeLog(storage, { blockSize: 63 }))
  for (let i = 0; i < 3; i++) await small.append(Buffer.alloc(49, 1))
  await small.close()
  const tiny = promises(FlumeLog(storage, { large: true }))
  t.equal(await codeOf(tiny.append(Buffer.alloc(50, 1))), 'flumelog:too-large', 'blocks without room for chunks')
  await tiny.append(Buffer.alloc(49, 1))
  await tiny.close()
})

test('a large record in flight is counted with its bytes', async (t) => {
  const log = await logOf([10])
  const first = log.append(Buffer.alloc(3 * MIB, 1))
  t.deepEqual(log.log.stats().inFlight, { records: 1, bytes: 3 * MIB })
  await first
  t.deepEqual(log.log.stats().inFlight, { records: 0, bytes: 0 })
  await log.close()
})

test('a follower and a reader without locks see a large record when it is acknowledged', async (t) => {
  const file = testFolder(t)('log')
  const log = await logOf([20], { storage: file, sync: 'always' })
  const follower = promises(FlumeLog(file, { readOnly: true, large: true }))
  await follower.onReady()
  const seen = []
  const isOver = event(resolve => pull(follower.log.stream({ live: true, limit: 4, seqs: false }), pull.collect((err, all) => resolve(err ?? all))))
  for (const size of [50_000, 20, 2 * MIB]) {
    seen.push(numbered(size, size))
    await log.append(seen.at(-1))
  }
  t.deepEqual(await isOver, [log.values[0], ...seen])
  await follower.close()
  await log.close()
})

test('memory does not grow while large records are streamed, in either direction', async (t) => {
  const file = testFolder(t)('log')
  const SIZE = 8 * MIB
  const COUNT = 8
  const log = promises(FlumeLog(file, { large: true, cacheSize: MIB, sync: 'never' }))
  for (let i = 1; i <= COUNT; i++) await log.append(numbered(i, SIZE))
  for (const reverse of [false, true]) {
    let most = 0
    let count = 0
    gc()
    const { external, arrayBuffers } = process.memoryUsage()
    await event(resolve => pull(log.log.stream({ reverse, cache: false }), pull.drain(({ value }) => {
      count++
      if (value.length !== SIZE) t.fail('a record is not whole')
      gc()
      most = Math.max(most, process.memoryUsage().external - external)
    }, resolve)))
    t.equal(count, COUNT)
    t.ok(most < 3 * SIZE, `at most ${(most / MIB).toFixed()} MiB (${(arrayBuffers / MIB).toFixed()} before)`)
  }
  await log.close()
})

test('a large record that is deleted while it is read is read whole, or not at all', async (t) => {
  const readers = {
    get: (log, seq) => log.get(seq).then(value => [value], (err) => { if (err.code !== 'flumelog:deleted') throw err }),
    scan: async (log, seq) => {
      const found = []
      await promisify(log.log.scan)({ gte: seq }, (block, start, end) => { found.push(Buffer.from(block.subarray(start, end))) })
      return found
    },
    stream: (log, seq) => collect(log.log, { gte: seq, seqs: false }),
    reverse: async (log, seq) => (await collect(log.log, { gte: seq, seqs: false, reverse: true })).reverse(),
    batches: async (log, seq) => (await collectSource(log.log.batches({ gte: seq, seqs: false }))).flat()
  }
  const turns = async (count) => { for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve)) }
  for (const [name, read] of Object.entries(readers)) {
    for (let before = 0; before < 16; before++) {
      const log = await logOf([20, 5000, 1000, 1000], { cacheSize: 0, blocking: false })
      const [, seq] = log.seqs
      const [, large, ...after] = log.values
      const deletion = log.del(seq)
      await turns(before)
      const found = await read(log, seq)
      const expected = name === 'get' ? [[large], undefined] : [[large, ...after], after]
      if (!expected.some(values => isDeepStrictEqual(found, values))) t.fail(`${name}, ${before} turns after the deletion was asked for`)
      await deletion
      await log.close()
    }
    t.pass(name)
  }
})

test('a large record is put together whatever its chunks\' sizes are', async (t) => {
  const le32 = (n) => Buffer.from([n, n >>> 8, n >>> 16, n >>> 24])
  const part = (index, data) => Buffer.concat([MAGIC, Buffer.from([1]), Buffer.alloc(4), le32(index), le32(4), Buffer.from(data)])
  const last = Buffer.concat([MAGIC, Buffer.from([2]), Buffer.alloc(4), le32(2), le32(4), le32(crc32('abcd')), Buffer.from('d')])
  const bytes = Buffer.concat([sealedBlock(64, [part(0, 'a')]), sealedBlock(64, [part(1, 'bc')]), tailOf([last])])
  const log = promises(FlumeLog(newFile(bytes), { large: true }))
  t.deepEqual(await collect(log.log), [{ seq: 128, value: Buffer.from('abcd') }])
  t.equal(String(await log.get(128)), 'abcd')
  await log.close()
})

test('a log with large records and smaller blocks than these need is refused', (t) => {
  const file = testFolder(t)('log')
  t.throws(() => FlumeLog(file, { large: true, blockSize: 48 }), { code: 'flumelog:invalid', message: /large requires a blockSize of 64 or more; it is 48/ })
  t.notOk(fs.existsSync(file))
  t.end()
})
