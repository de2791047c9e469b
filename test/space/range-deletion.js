'use strict'

// del of a range of offsets.

const fs = require('fs')
const tape = require('tape')
const FlumeLog = require('../..')
const { newFile, testFolder } = require('../helpers/folder')
const { makeHoles } = require('../helpers/holes')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 1024
const openLog = (file, options) => promises(FlumeLog(file, { blockSize: BLOCK_SIZE, ...options }))
const seqsIn = (log) => collect(log.log, { values: false })

async function fill (log, count = 100) {
  await log.append(Array.from({ length: count }, (_, i) => Buffer.alloc(100, 1 + i)))
  return seqsIn(log)
}

const RANGES = [
  (seqs) => [{ gte: seqs[10], lte: seqs[60] }, 10, 61],
  (seqs) => [{ gt: seqs[10], lt: seqs[60] }, 11, 60],
  (seqs) => [{ gt: seqs[10] + 1, lt: seqs[60] + 1 }, 11, 61],
  (seqs) => [{ lt: seqs[50] }, 0, 50],
  (seqs) => [{ gte: seqs[50] }, 50, 100],
  (seqs) => [{ gt: -1 }, 0, 100],
  (seqs) => [{ gte: -Infinity, lte: Infinity }, 0, 100],
  (seqs) => [{ gte: 0, gt: seqs[3], lt: seqs[9], lte: seqs[6] }, 4, 7],
  (seqs) => [{ gte: seqs[7], lte: seqs[7] }, 7, 8],
  (seqs) => [{ gt: seqs[97], lt: null }, 98, 100],
  (seqs) => [{ gt: seqs[60], lt: seqs[10] }, 0, 0],
  (seqs) => [{ gt: seqs[60], lt: seqs[61] }, 0, 0],
  (seqs) => [{ gt: seqs[99] }, 0, 0],
  (seqs) => [{ gte: 2 ** 60 }, 0, 0],
  (seqs) => [{ lt: 0 }, 0, 0],
  (seqs) => [{ lt: -5, gt: 5 }, 0, 0]
]

for (const sync of ['always', 'interval', 'never']) {
  tape(`all records in the range are deleted, and no others: ${sync}`, async (t) => {
    for (const rangeOf of RANGES) {
      const log = openLog(newFile(), { sync })
      const seqs = await fill(log)
      const [range, from, to] = rangeOf(seqs)
      await log.del(range)
      const expected = seqs.filter((_, i) => i < from || i >= to)
      t.deepEqual(await seqsIn(log), expected, JSON.stringify(range))
      await log.del(range)
      t.deepEqual(await seqsIn(log), expected, 'again, nothing changes')
      await log.close()
    }
  })
}
tape('what is no range is flumelog:invalid, and nothing is deleted', async (t) => {
  const log = openLog(testFolder(t)('log'))
  const seqs = await fill(log)
  const cases = [
    [{}, /needs at least one bound/], [{ gt: undefined }, /needs at least one bound/], [{ lt: null }, /needs at least one bound/],
    [{ gt: 1.5 }, /gt must be an integer/], [{ lte: '7' }, /lte must be an integer/], [{ gte: NaN }, /gte must be an integer/],
    [{ gte: 0, reverse: true }, /unknown option `reverse`/], [{ start: 0 }, /unknown option `start`/], [{ seq: 5 }, /unknown option `seq`/]
  ]
  for (const [range, message] of cases) {
    const err = await log.del(range).then(() => null, err => err)
    t.equal(err?.code, 'flumelog:invalid', JSON.stringify(range))
    t.match(err?.message ?? '', message)
  }
  t.deepEqual(await seqsIn(log), seqs)
  await log.close()
})

tape('a range cannot be deleted from a log that is closed, or read-only', async (t) => {
  const file = testFolder(t)('log')
  const log = openLog(file)
  await fill(log)
  await log.close()
  t.equal(await codeOf(log.del({ gte: 0 })), 'flumelog:closed')
  const reader = openLog(file, { readOnly: true })
  t.equal(await codeOf(reader.del({ gte: 0 })), 'flumelog:read-only')
  await reader.close()
})

tape('records that are appended after the call are not deleted', async (t) => {
  const log = openLog(testFolder(t)('log'))
  const seqs = await fill(log)
  const deleted = log.del({ gt: seqs[0] })
  const appended = []
  for (let i = 0; i < 50; i++) appended.push(await log.append(Buffer.alloc(100, 1)))
  await deleted
  t.deepEqual(await seqsIn(log), [seqs[0], ...appended])
  await log.close()
})

tape('a range with a corrupt block is deleted but for that block, and the error says which it is', async (t) => {
  const file = testFolder(t)('log')
  const log = openLog(file)
  const seqs = await fill(log)
  await log.close()
  const fd = fs.openSync(file, 'r+')
  // as bytes: of a string, Deno ignores the position
  fs.writeSync(fd, Buffer.from('x'), 0, 1, 3 * BLOCK_SIZE + 500)
  fs.closeSync(fd)
  const again = openLog(file)
  const err = await again.del({ gte: 0 }).then(() => null, err => err)
  t.equal(err?.code, 'flumelog:corrupt')
  t.equal(Math.floor(err?.offset / BLOCK_SIZE), 3)
  t.deepEqual(await collect(again.log, { values: false, skipCorrupt: true }), [], 'the others are deleted')
  t.equal(await codeOf(again.get(seqs[30])), 'flumelog:corrupt', 'that block is as it was')
  await again.close()
})

tape('many ranges and records at once are deleted as they would be one after the other', async (t) => {
  const log = openLog(testFolder(t)('log'))
  const seqs = await fill(log)
  await Promise.all([
    log.del({ gte: seqs[5], lt: seqs[40] }), log.del(seqs[20]), log.del([seqs[60], seqs[61]]), log.del({ gte: seqs[30], lte: seqs[59] }),
    log.del({ lt: seqs[2] }), makeHoles(log.log), log.del(seqs[62])
  ])
  t.deepEqual(await seqsIn(log), seqs.filter((_, i) => (i >= 2 && i < 5) || i > 62))
  await log.close()
})

const onSmallDisk = (name, test) => tape(name, { skip: noSmallDisk === null ? false : `no small disk: ${noSmallDisk}` }, test)

onSmallDisk('on a full disk, deleting a range makes room, or gets ENOSPC and deletes what it can', async (t) => {
  const disk = smallDisk(t)
  const file = disk.file('log')
  disk.leave(500000)
  const log = promises(FlumeLog(file, { sync: 'always' }))
  const seqs = []
  const append = () => log.append(Buffer.alloc(1000, 1)).then(seq => seqs.push(seq), err => err.code)
  while (await append() !== 'ENOSPC');
  const before = seqs.length
  const code = await log.del({ lt: seqs[before - 100] }).then(() => null, err => err.code)
  t.ok([null, 'ENOSPC'].includes(code), `del: ${code}`)
  const left = await seqsIn(log)
  t.deepEqual(left.slice(-100), seqs.slice(before - 100), 'nothing else is gone')
  disk.makeRoom()
  await log.del({ lt: seqs[before - 100] })
  t.deepEqual(await seqsIn(log), seqs.slice(before - 100))
  await makeHoles(log.log)
  for (let i = 0; i < 100; i++) await append()
  t.equal(seqs.length, before + 100, 'there is room again')
  await log.close()
  const again = promises(FlumeLog(file))
  t.deepEqual(await seqsIn(again), seqs.slice(before - 100))
  await again.close()
})
