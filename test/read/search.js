'use strict'

// Binary search: its results, and the number of blocks it reads.

const test = require('tape')
const FlumeLog = require('../..')
const { promises } = require('../helpers/promises')
const { ControlledFile } = require('../helpers/controlled-file')
const { sealedBlock, tailOf } = require('../helpers/bytes')
const { newFile } = require('../helpers/folder')
const { collect, codeOf } = require('../helpers/reading')

/** A record is a 4-byte number, large enough not to be all zeros. */
const codec = {
  encode: number => {
    const data = Buffer.alloc(4)
    data.writeUInt32BE(number)
    return data
  },
  decode: data => data.readUInt32BE()
}
const atLeast = wanted => value => value - wanted

/** In blocks of 64 bytes there are six such records. */
const A_BLOCK = 6
const BLOCK_SIZE = 64
/** Room for a block, with what one takes besides its data. */
const CACHE_SIZE = 500

/** Bytes of a log of these numbers; `null` is a deleted record. */
function bytesOf (numbers) {
  const records = numbers.map(number => number === null ? Buffer.alloc(4) : codec.encode(number))
  const blocks = []
  let from = 0
  for (; from + A_BLOCK < records.length; from += A_BLOCK) blocks.push(sealedBlock(BLOCK_SIZE, records.slice(from, from + A_BLOCK)))
  return Buffer.concat([...blocks, tailOf(records.slice(from))])
}

const seqOf = (index) => Math.floor(index / A_BLOCK) * BLOCK_SIZE + index % A_BLOCK * 8

function openOver (numbers, options) {
  const file = new ControlledFile(newFile(bytesOf(numbers)))
  return { file, ...file.open({ codec, blockSize: BLOCK_SIZE, ...options }) }
}

/** The expected result, by linear search. */
function firstOf (numbers, compare) {
  const index = numbers.findIndex(number => number !== null && compare(number) >= 0)
  return index === -1 ? 'flumelog:not-found' : { seq: seqOf(index), value: numbers[index] }
}

async function found (log, compare) {
  return log.search(compare).catch(err => err.code)
}

/** Searches for each target, and returns the wrong results. */
async function wrongAnswers (numbers, wanted, options) {
  const log = openOver(numbers, options)
  const wrong = []
  for (const number of wanted) {
    const is = await found(log, atLeast(number))
    const shouldBe = firstOf(numbers, atLeast(number))
    if (JSON.stringify(is) !== JSON.stringify(shouldBe)) wrong.push({ number, is, shouldBe })
  }
  await log.close()
  return wrong
}

const range = (length, of = i => i) => Array.from({ length }, (_, i) => of(i))

test('the layout of the log is as these tests assume', async (t) => {
  const log = openOver(range(20, i => i + 1))
  t.deepEqual(await collect(log.log), range(20, i => ({ seq: seqOf(i), value: i + 1 })))
  await log.close()
})

test('a search on a log of thousands of blocks reads at most log2(blocks) + 2 of them', async (t) => {
  const blocks = 5000
  const numbers = range(blocks * A_BLOCK, i => 2 * i + 2)
  const bytes = bytesOf(numbers)
  const name = newFile(bytes)
  t.equal(Math.ceil(bytes.length / BLOCK_SIZE), blocks)
  const most = Math.floor(Math.log2(blocks)) + 2
  const wanted = [0, 1, 2, 3, 13, 14, 15, 59998, 59999, 60000, 60001, ...range(150, i => (i * 7919 * 31) % 60003)]
  let worst = 0
  const wrong = []
  for (const number of wanted) {
    const file = new ControlledFile(name)
    const log = file.open({ codec, cacheSize: CACHE_SIZE })
    await log.onReady()
    file.reads.length = 0
    const is = await found(log, atLeast(number))
    const shouldBe = firstOf(numbers, atLeast(number))
    if (JSON.stringify(is) !== JSON.stringify(shouldBe)) wrong.push({ number, is, shouldBe })
    if (file.reads.some(({ offset, size }) => offset % BLOCK_SIZE !== 0 || size !== BLOCK_SIZE)) wrong.push({ number, reads: file.reads })
    worst = Math.max(worst, file.reads.length)
    await log.close()
  }
  t.deepEqual(wrong, [])
  t.ok(worst <= most, `at most ${worst} blocks were read, and ${most} may be`)
  t.ok(worst > 8, 'so they were really counted')
})

test('a search reads no block twice, and no cached block at all', async (t) => {
  const numbers = range(1000 * A_BLOCK, i => i + 1)
  const log = openOver(numbers)
  await log.onReady()
  log.file.reads.length = 0
  for (const number of [3000, 3001, 2999, 3000]) await log.search(atLeast(number))
  const offsets = log.file.reads.map(({ offset }) => offset)
  t.equal(new Set(offsets).size, offsets.length)
  t.ok(offsets.length <= 13, `${offsets.length} reads`)
  await log.close()
})

test('the first record not less than the target is found, for every number of records and every target', async (t) => {
  const wrong = []
  for (let records = 0; records <= 5 * A_BLOCK; records++) {
    const numbers = range(records, i => 2 * i + 2)
    for (const cacheSize of [0, 1 << 20]) wrong.push(...await wrongAnswers(numbers, range(2 * records + 4), { cacheSize }))
  }
  t.deepEqual(wrong, [])
})

test('the first of several equal records is found', async (t) => {
  const runs = [1, 1, 5, 6, 7, 12, 1, 13, 30, 2]
  const numbers = runs.flatMap((length, i) => new Array(length).fill(10 * i + 10))
  t.deepEqual(await wrongAnswers(numbers, range(115)), [])
  t.deepEqual(await wrongAnswers(new Array(100).fill(5), [4, 5, 6]), [])
})

test('a search skips deleted records, wherever they are', async (t) => {
  const numbers = range(5 * A_BLOCK + 3, i => 2 * i + 2)
  const wanted = range(2 * numbers.length + 4)
  for (const isDeleted of [
    i => i % 2 === 0, i => i % 2 === 1, i => i % A_BLOCK === 0, i => i % A_BLOCK === A_BLOCK - 1, i => i % A_BLOCK < A_BLOCK - 1,
    i => i < 3, i => i > 20, i => i !== 17, i => i === 0, i => i === numbers.length - 1
  ]) {
    const left = numbers.map((number, i) => isDeleted(i) ? null : number)
    for (const cacheSize of [0, 1 << 20]) t.deepEqual(await wrongAnswers(left, wanted, { cacheSize }), [], String(isDeleted))
  }
})

test('a search works with any of the blocks deleted', async (t) => {
  const blocks = 6
  const numbers = range(blocks * A_BLOCK, i => 2 * i + 2)
  const wanted = range(2 * numbers.length + 4)
  const wrong = []
  for (let deleted = 0; deleted < 1 << blocks; deleted++) {
    const left = numbers.map((number, i) => deleted & 1 << Math.floor(i / A_BLOCK) ? null : number)
    wrong.push(...await wrongAnswers(left, wanted))
  }
  t.deepEqual(wrong, [])
})

test('a search passes thousands of consecutive deleted blocks without overflowing the stack', async (t) => {
  const numbers = range(20000 * A_BLOCK, i => i > A_BLOCK && i < 19999 * A_BLOCK ? null : i + 1)
  const log = openOver(numbers)
  await collect(log.log, { limit: 1, reverse: true, gt: 0 })
  for (const number of [1, 7, 8, 100000, 119995, 119996, 120000, 120001]) {
    t.deepEqual(await found(log, atLeast(number)), firstOf(numbers, atLeast(number)), `${number}`)
  }
  await log.close()
})

test('a search reflects the latest appends and deletions', async (t) => {
  const log = openOver(range(10, i => i + 1))
  await log.append(11)
  t.deepEqual(await found(log, atLeast(11)), { seq: seqOf(10), value: 11 })
  await log.append(range(20, i => i + 12))
  t.deepEqual(await found(log, atLeast(31)), { seq: seqOf(30), value: 31 })
  await log.del(seqOf(30))
  t.equal(await found(log, atLeast(31)), 'flumelog:not-found')
  await log.del(seqOf(3))
  t.deepEqual(await found(log, atLeast(4)), { seq: seqOf(4), value: 5 })
  await log.close()
})

test('compare receives the decoded value and the seq', async (t) => {
  const log = openOver(range(100, i => i + 1))
  const seen = []
  await log.search((value, seq) => {
    seen.push([value, seq])
    return value - 50
  })
  t.ok(seen.length > 3)
  t.deepEqual(seen.filter(([value, seq]) => seq !== seqOf(value - 1)), [])
  t.deepEqual(await found(log, (value, seq) => seq - 100), { seq: 104, value: 12 }, 'so it may go by the seq')
  await log.close()
})

test('a search fails if compare throws or does not return a number', async (t) => {
  const log = openOver(range(100, i => i + 1))
  const thrown = new Error('from compare')
  t.equal(await log.search(() => { throw thrown }).catch(err => err), thrown)
  t.equal(await log.search(value => {
    if (value === 54) throw thrown
    return value - 54
  }).catch(err => err), thrown, 'also if it throws late, within a block')
  for (const rubbish of [undefined, null, NaN, 'x', {}, true]) {
    t.equal(await codeOf(log.search(() => rubbish)), 'flumelog:invalid', String(rubbish))
  }
  for (const rubbish of [undefined, null, 5, 'x', {}]) t.equal(await codeOf(log.search(rubbish)), 'flumelog:invalid', String(rubbish))
  t.deepEqual(await found(log, atLeast(50)), { seq: seqOf(49), value: 50 }, 'and the log goes on')
  await log.close()
})

test('a search that reads a corrupt block fails with flumelog:corrupt', async (t) => {
  const bytes = bytesOf(range(100, i => i + 1))
  bytes[8 * BLOCK_SIZE + 3] ^= 1 // the middle one of 17
  const log = promises(FlumeLog(newFile(bytes), { codec }))
  const err = await log.search(atLeast(50)).catch(err => err)
  t.equal(err.code, 'flumelog:corrupt')
  t.equal(err.block, 8)
  await log.close()
})
