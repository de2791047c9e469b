'use strict'

// The blocks of an open log, as /blocks gives them.

const tape = require('tape')
const { CopiedLog, blocksOf, recordsOf, dataOf, startOfLarge, chunk } = require('../../blocks')
const { verify } = require('../../maintenance')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { overwrite } = require('../helpers/logs')
const { codeOf } = require('../helpers/reading')

const BLOCK_SIZE = 256

/** A log of some blocks, with its records' seqs. */
async function filled (file, options = {}) {
  const log = await open(file, { blockSize: BLOCK_SIZE, ...options })
  const seqs = []
  for (let i = 0; i < 40; i++) seqs.push(await log.append(`record number ${i}`))
  return { log, seqs }
}

async function scanned (blocks, range) {
  const all = []
  for await (const batch of blocks.scan(range)) all.push(...batch)
  return all
}

tape('a scan gives every block once, forward and in reverse, up to what is acknowledged', async (t) => {
  const { log, seqs } = await filled(testFolder(t)('log'))
  const blocks = blocksOf(log)
  await blocks.ready()
  const forward = await scanned(blocks, { from: 0 })
  t.deepEqual(forward.map(({ offset }) => offset), forward.map((_, i) => i * BLOCK_SIZE))
  t.deepEqual(forward.flatMap(block => [...recordsOf(block)].map(({ seq }) => seq)), seqs)
  t.equal(forward.at(-1).offset + forward.at(-1).end, blocks.end)
  const reverse = await scanned(blocks, { from: blocks.end, reverse: true })
  t.deepEqual(reverse.map(({ number }) => number), forward.map(({ number }) => number).reverse())
  t.deepEqual((await scanned(blocks, { from: 3 * BLOCK_SIZE + 5 })).map(({ number }) => number), forward.slice(3).map(({ number }) => number), 'from the block of an offset on')
  await log.close()
})

tape('a scan ends with flumelog:compacted if the log is compacted before it begins, or between two of its steps', async (t) => {
  const { log } = await filled(testFolder(t)('log'))
  const blocks = blocksOf(log)
  await blocks.ready()
  for (const reverse of [false, true]) {
    const begun = blocks.scan({ from: blocks.end, reverse: true })
    await begun.next()
    const waiting = blocks.scan({ from: reverse ? blocks.end : blocks.start, reverse })
    await log.compact()
    for (const scan of [begun, waiting]) t.equal(await codeOf(scan.next()), 'flumelog:compacted')
  }
  await log.close()
})

tape('deleted records and chunks of large ones are among the records of a block', async (t) => {
  const { log, seqs } = await filled(testFolder(t)('log'), { large: true })
  const large = Buffer.alloc(1000, 'large ')
  const last = await log.append(large)
  await log.del(seqs[1])
  const blocks = blocksOf(log)
  await blocks.ready()
  const records = (await scanned(blocks, { from: 0 })).flatMap(block => [...recordsOf(block)])
  t.ok(records.find(({ seq }) => seq === seqs[1]).deleted)
  const end = records.find(({ seq }) => seq === last)
  t.deepEqual([end.kind, end.size], [chunk.LAST, large.length], 'the last chunk stands for the large record')
  t.ok(records.filter(({ kind }) => kind === chunk.PART).length > 1)
  t.deepEqual(await startOfLarge(blocks, end, 10), large.subarray(0, 10), 'whose start can be read')
  t.equal(String(dataOf(records[0])), 'record number 0')
  await log.close()
})

tape('a corrupt block is given, with an error that says where and why, and the others with their records', async (t) => {
  const file = testFolder(t)('log')
  const { log } = await filled(file)
  await log.close()
  overwrite(file, BLOCK_SIZE + 10, 'damage')
  const reader = await open(file, { readOnly: true })
  const blocks = blocksOf(reader)
  await blocks.ready()
  const all = await scanned(blocks, { from: 0 })
  t.deepEqual(all.filter(({ error }) => error !== null).map(({ number }) => number), [1])
  const { error, end } = all[1]
  t.deepEqual([error.code, error.block, end], ['flumelog:corrupt', 1, 0])
  t.match(error.reason, /checksum mismatch/)
  t.equal((await blocks.block(1)).error.code, 'flumelog:corrupt', 'also by its number')
  await reader.close()
})

tape('what is no log in blocks is refused', (t) => {
  for (const given of [{}, null, undefined, 'log']) t.throws(() => blocksOf(given), /must be a log that this package has opened/)
  t.end()
})

tape('what cannot be a record is not appended as one, nor what a log without large records has no place for', async (t) => {
  for (const large of [false, true]) {
    const file = testFolder(t)('log')
    const { log, seqs } = await filled(file, { large })
    const blocks = blocksOf(log)
    await blocks.ready()
    const codes = []
    for (const records of ['text', Buffer.from('bytes'), undefined, [5], [null], ['text'], [Buffer.alloc(0)], [Buffer.from('first'), Buffer.alloc(0)], [Buffer.alloc(1000, 'x')]]) {
      codes.push(await blocks.append(records).then(() => null, err => err.code))
    }
    t.deepEqual(codes, [...Array(8).fill('flumelog:invalid'), large ? null : 'flumelog:too-large'])
    const last = await blocks.append([Buffer.from('next'), Buffer.alloc(8), new Uint8Array([1])])
    t.deepEqual([...await log.get(last)], [1])
    await log.close()
    const { valid, counts } = await verify(file)
    t.deepEqual([valid, counts.records - counts.parts, counts.deleted], [true, seqs.length + 2 + (large ? 1 : 0), 1])
  }
})

tape('a scan starts at the end of the log if it is to start behind that, and is refused if it is to start nowhere', async (t) => {
  const { log } = await filled(testFolder(t)('log'))
  const blocks = blocksOf(log)
  await blocks.ready()
  const numbers = async (range) => (await scanned(blocks, range)).map(({ number }) => number)
  const all = await numbers({ from: 0 })
  for (const from of [blocks.end, blocks.end + 10 * BLOCK_SIZE, Infinity]) {
    t.deepEqual(await numbers({ from, reverse: true }), all.toReversed(), `${from}`)
    t.deepEqual(await numbers({ from: from + BLOCK_SIZE }), [], `after ${from}`)
  }
  t.deepEqual(await numbers({ from: -Infinity }), all)
  for (const from of [undefined, null, NaN, '0']) t.equal(await numbers({ from }).then(() => null, err => err.code), 'flumelog:invalid', `${from}`)
  for (const number of [undefined, NaN, 0.5, -1, '0']) t.equal(await blocks.block(number).then(() => null, err => err.code), 'flumelog:invalid', `block ${number}`)
  await log.close()
})

tape('who copies a log is told in which blocks records were deleted, as long as there are not too many of them', async (t) => {
  // blocks in which nothing is left are rewritten once more, when they are freed: not before `close`
  const log = await open(testFolder(t)('log'), { blockSize: 32, sync: 'never' })
  await log.append(Array.from({ length: 5000 }, () => 'a block of it'))
  const copied = new CopiedLog(log)
  await copied.ready()
  t.equal(copied.takeRewritten(), null, 'nobody has asked before')
  await log.del([32, 96])
  t.deepEqual([...copied.takeRewritten()], [1, 3])
  await log.del({ gte: 128, lt: 4900 * 32 })
  t.equal(copied.takeRewritten(), null)
  await log.del(4950 * 32)
  t.deepEqual([...copied.takeRewritten()], [4950])
  await log.close()
})
