'use strict'

// lib/sharing/stored-runs.js: what a journal and a log say together, whether or not they
// belong together.

const test = require('tape')
const fc = require('fast-check')
const { CLIENT, RUN, VOID, FORGET, MOVE } = require('../../lib/sharing/journal-entries')
const { storedRuns } = require('../../lib/sharing/stored-runs')
const { nextPosition } = require('../../lib/format/layout')
const { dataOf, sealedBlock, tailOf } = require('../helpers/bytes')

const BLOCK_SIZE = 64
const A = Buffer.alloc(16, 0xa)
const B = Buffer.alloc(16, 0xb)

const client = (slot, id, stored = 0) => ({ type: CLIENT, slot, id, stored })
const run = (slot, first, count, seq) => ({ type: RUN, slot, first, count, seq })
const voidFrom = (offset) => ({ type: VOID, offset })
const forget = (slot) => ({ type: FORGET, slot })

/** Four blocks of four records each, and two records: at 0, 10, 20, 30, 64, 74, … 256, 266. */
function logOfTens () {
  const six = () => dataOf(6)
  return Buffer.concat([...Array.from({ length: 4 }, () => sealedBlock(BLOCK_SIZE, [six(), six(), six(), six()])), tailOf([six(), six()])])
}

/** What is stored, with the bytes that were read to find it out. */
async function resolve (entries, log = logOfTens(), end = log.length, start = 0) {
  const reads = []
  const found = await storedRuns(entries, end, async (offset, size) => {
    reads.push({ offset, size })
    return log.subarray(offset, offset + size)
  }, BLOCK_SIZE, start)
  const clients = Object.fromEntries([...found].map(([key, { stored, runs }]) => [key[1], { stored, runs }]))
  return { clients, reads, found }
}

const runsOfA = async (...args) => (await resolve(...args)).clients.a.runs

test('of a log that was compacted, what was acknowledged before is stored, and nothing else before the new start', async (t) => {
  const move = (offset, base) => ({ type: MOVE, offset, base })
  const before = [client(0, A), run(0, 1, 2, 10), run(0, 3, 1, 30), run(0, 4, 1, 64)]
  const acknowledged = [{ first: 1, count: 2, seq: 10 }, { first: 3, count: 1, seq: 30 }]
  const log = logOfTens()
  const stored = (entries, start) => resolve(entries, log, log.length, start).then(({ clients }) => clients.a.runs)
  t.deepEqual(await stored([...before, move(64, 128)], 128), acknowledged)
  t.deepEqual(await stored([...before, move(64, 128), run(0, 4, 1, 128)], 128), [...acknowledged, { first: 4, count: 1, seq: 128 }], 'with another place')
  t.deepEqual(await stored([...before, run(0, 5, 1, 138), move(64, 128)], 128), acknowledged, 'also where the new file has other records since')
  t.deepEqual(await stored([...before, run(0, 5, 1, 148), move(64, 128), run(0, 4, 1, 128)], 128), [...acknowledged, { first: 4, count: 1, seq: 128 }], 'with another place in front of that')
  t.deepEqual(await stored([...before, move(64, 128)], 0), [...acknowledged, { first: 4, count: 1, seq: 64 }], 'it had not moved yet')
  t.deepEqual(await stored([...before, move(64, 128), move(64, 0)], 128), [...acknowledged, { first: 4, count: 1, seq: 64 }], 'it did not, and was trimmed later')
})

test('a client is known with its id and the highest number that is stored', async (t) => {
  const { clients, found } = await resolve([client(0, A, 3), client(1, B), run(0, 5, 2, 0), client(0, A, 4)])
  t.deepEqual(clients, { a: { stored: 6, runs: [{ first: 5, count: 2, seq: 0 }] }, b: { stored: 0, runs: [] } })
  t.ok(found.get(A.toString('hex')).id.equals(A))
  t.equal((await resolve([client(0, A, 9), run(0, 5, 2, 0)])).clients.a.stored, 9)
})

test('of the last run, the records in front of the end of the log are stored, over several blocks', async (t) => {
  const seqs = [10, 20, 30, 64, 74, 84, 94, 128, 138]
  for (let count = 1; count <= seqs.length; count++) {
    const last = seqs[count - 1]
    const log = logOfTens().subarray(0, last + 10)
    t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 10)], log), [{ first: 1, count, seq: 10 }], `end ${log.length}`)
  }
  t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 10)], logOfTens(), 10), [], 'none')
  t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 10)], logOfTens(), 64), [{ first: 1, count: 3, seq: 10 }], 'a whole block')
})

test('of a run in front of a void, the records in front of it are stored, whatever follows', async (t) => {
  for (const [offset, count] of [[30, 0], [64, 1], [74, 2], [94, 4]]) {
    const expected = count === 0 ? [] : [{ first: 1, count, seq: 30 }]
    t.deepEqual(await runsOfA([client(0, A), run(0, 1, 4, 30), voidFrom(offset)]), expected, `void from ${offset}`)
    t.deepEqual(await runsOfA([client(0, A), client(1, B), run(0, 1, 4, 30), voidFrom(offset), run(1, 1, 1, 128)]), expected, 'and another run')
  }
  const twice = [client(0, A), run(0, 1, 4, 30), voidFrom(84), voidFrom(64), voidFrom(128)]
  t.deepEqual(await runsOfA(twice), [{ first: 1, count: 1, seq: 30 }], 'the lowest counts')
  const replaced = [client(0, A), client(1, B), run(0, 1, 20, 30), voidFrom(200), run(1, 1, 1, 74)]
  t.deepEqual(await runsOfA(replaced), [{ first: 1, count: 2, seq: 30 }], 'a run in the place of others replaces them')
})

test('a deleted record is stored', async (t) => {
  const log = logOfTens()
  log.fill(0, 76, 82)
  t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 64)], log, 94), [{ first: 1, count: 3, seq: 64 }])
})

test('runs in front of others are not read, and of the last one no more than its blocks', async (t) => {
  const { clients, reads } = await resolve([client(0, A), run(0, 1, 4, 0), run(0, 5, 4, 64), run(0, 9, 3, 138)])
  t.equal(clients.a.runs.length, 3)
  t.deepEqual(reads, [{ offset: 128, size: 64 }])
  t.deepEqual((await resolve([client(0, A), run(0, 1, 3, 138), forget(0)])).reads, [], 'nor those of a client that is forgotten')
})

test('a client that is forgotten is unknown, and its slot may be that of another', async (t) => {
  const { clients } = await resolve([client(0, A), run(0, 1, 2, 0), forget(0), run(0, 3, 1, 20), client(0, B), run(0, 1, 1, 30)])
  t.deepEqual(clients, { b: { stored: 1, runs: [{ first: 1, count: 1, seq: 30 }] } })
  const back = await resolve([client(0, A), run(0, 1, 2, 0), forget(0), client(1, A), run(1, 1, 1, 30)])
  t.ok((await resolve([client(0, A), forget(0), client(1, A), forget(0)])).clients.a, 'and is not forgotten with the one before')
  t.deepEqual(back.clients, { a: { stored: 1, runs: [{ first: 1, count: 1, seq: 30 }] } }, 'an id that comes back is another client')
})

test('a run that starts at no record of the log is not stored', async (t) => {
  for (const seq of [1, 9, 11, 40, 41, 63, 65, 255, 275, 276, 1e6, 2 ** 52]) {
    t.deepEqual(await runsOfA([client(0, A), run(0, 1, 5, seq)]), [], `seq ${seq}`)
  }
})

test('a run ends where the log is corrupt', async (t) => {
  const log = logOfTens()
  log[84] = 7
  t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 20)], log), [{ first: 1, count: 4, seq: 20 }])
  t.deepEqual(await runsOfA([client(0, A), run(0, 1, 9, 94)], log), [], 'behind it in its block')
})

test('a journal of another log does no harm: each block is read at most once, and what is counted are records', async (t) => {
  const offset = fc.oneof(fc.nat(300), fc.maxSafeNat())
  const slot = fc.nat(2)
  const entry = fc.oneof(
    fc.record({ slot }).map(({ slot }) => client(slot, Buffer.alloc(16, 0xa + slot))),
    fc.record({ slot, first: fc.maxSafeNat(), count: fc.oneof(fc.nat(20), fc.nat(2 ** 32 - 1)), seq: offset })
      .map(({ slot, first, count, seq }) => run(slot, first, count, seq)),
    offset.map(voidFrom),
    slot.map(forget)
  )
  const garbage = fc.uint8Array({ maxLength: 300, size: 'max' }).map(bytes => Buffer.from(bytes))
  await fc.assert(fc.asyncProperty(fc.array(entry, { maxLength: 30, size: 'max' }), fc.oneof(fc.constant(logOfTens()), garbage), fc.nat(300), async (entries, log, end) => {
    end = Math.min(end, log.length)
    const { clients, reads } = await resolve(entries, log, end)
    if (new Set(reads.map(({ offset }) => offset)).size !== reads.length) throw new Error('a block was read twice')
    if (reads.some(({ offset, size }) => offset % BLOCK_SIZE !== 0 || size <= 0 || size > BLOCK_SIZE || offset + size > end)) throw new Error('a read out of bounds')
    for (const { runs } of Object.values(clients)) {
      if (runs.some(({ count, seq }) => count === 0 || seq >= end)) throw new Error('a run that is not stored')
    }
  }), { numRuns: 2000 })
  t.pass('2000 journals')
})

test('the log of the tests is as they take it', (t) => {
  const log = logOfTens()
  t.equal(log.length, 276)
  t.equal(nextPosition(log, 256), 266)
  t.end()
})
