'use strict'

// The shelf: what a view tells of blocks, and of one block byte by byte.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('flumelog-random-access-file')
const layout = require('../../../lib/format/layout')
const { makeLog, overwrite } = require('../../../test/helpers/logs')
const { newFile, testFolder } = require('../../../test/helpers/folder')
const { promises } = require('../../../test/helpers/promises')
const { viewOf } = require('./helpers/view')

/** Whole blocks and a tail: trimmed, with a deleted record, all deleted, corrupt. */
async function shelfIn (t) {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, Array.from({ length: 200 }, (_, i) => `record ${1000 + i}`), { blockSize: 128 })
  const inBlock = (number) => seqs.filter(seq => Math.floor(seq / 128) === number)
  const log = promises(FlumeLog(file))
  await log.trim({ lt: 256 })
  await log.del(inBlock(4)[1])
  await log.del({ gte: 5 * 128, lt: 6 * 128 })
  await log.close()
  overwrite(file, 7 * 128 + 3, 'XX')
  const open = promises(FlumeLog(file, { readOnly: true }))
  await open.onReady()
  t.teardown(() => open.close())
  return { file, inBlock, last: Math.floor(seqs.at(-1) / 128), ...await viewOf(t, open.log) }
}

test('the shelf tells what each block is: trimmed, full, with deleted records, a hole, corrupt, the tail', async (t) => {
  const { api, inBlock, last } = await shelfIn(t)
  const { from, blocks } = await api('blocks')
  t.equal(from, 0)
  t.equal(blocks.length, last + 1)
  t.deepEqual(blocks.map(({ kind }) => kind), ['trimmed', 'trimmed', 'records', 'records', 'records', 'hole', 'records', 'corrupt', ...Array(last - 8).fill('records'), 'tail'])
  const count = inBlock(3).length
  t.deepEqual(blocks[3], { fill: count * 15 / 128, kind: 'records', deleted: 0, records: count, checksum: true })
  t.deepEqual(blocks[4], { fill: (count - 1) * 15 / 128, kind: 'records', deleted: 1, records: count - 1, checksum: true })
  t.deepEqual(blocks[5], { fill: 0, kind: 'hole', deleted: 1, records: 0, checksum: true })
  t.deepEqual([blocks[7].checksum, blocks.at(-1).checksum], [false, null])
  for (const [first, number] of [[0, 1], [1, 3], [4, 2], [last, 5], [last + 1, 5]]) {
    t.deepEqual((await api(`blocks?from=${first}&count=${number}`)).blocks, blocks.slice(first, first + number), `${number} from ${first}`)
  }
})

test('a block is told byte by byte: its records, its padding and what that points to, its checksum', async (t) => {
  const { api, file, inBlock, last } = await shelfIn(t)
  const bytes = fs.readFileSync(file)
  const block = await api('block?number=4')
  const own = bytes.subarray(4 * 128, 5 * 128)
  t.equal(Buffer.from(block.bytes, 'base64').compare(own), 0)
  t.deepEqual([block.start, block.end, block.kind, block.problem], [512, 640, 'records', null])
  t.deepEqual(block.records.map(({ position, length, deleted }) => [512 + position, length, deleted]), inBlock(4).map((seq, i) => [seq, 11, i === 1]))
  t.equal(block.records[0].line, own.toString('utf8', 2, 13))
  const position = layout.paddingStart(own)
  t.deepEqual(block.padding, { position, length: 128 - position, pointer: position })
  t.equal(block.checksum.stored, own.readUInt32LE(120))
  t.equal(block.checksum.computed, block.checksum.stored)

  const corrupt = await api('block?number=7')
  t.equal(corrupt.kind, 'corrupt')
  t.notEqual(corrupt.checksum.computed, corrupt.checksum.stored)
  t.match(corrupt.problem.reason, /checksum mismatch/)
  t.equal(corrupt.records.length, inBlock(7).length, 'its records can be followed: only data has changed')
  const tail = await api(`block?number=${last}`)
  t.deepEqual([tail.kind, tail.padding, tail.checksum], ['tail', null, null])
})

test('blocks of any bytes are told without harm', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, Array.from({ length: 100 }, (_, i) => `record ${i}`), { blockSize: 64 })
  const size = fs.statSync(file).size
  for (let round = 0; round < 5; round++) {
    for (let block = 1; block < 8; block++) overwrite(file, block * 64 + (round * 7 + block * 13) % 60, Buffer.from([round * 31 % 256, block * 77 % 256, 255, round]))
    const log = promises(FlumeLog(file, { readOnly: true, blockSize: 64 }))
    await log.onReady()
    const { get } = await viewOf(t, log.log)
    for (let number = 0; number < size / 64 - 1; number++) if ((await get(`/api/block?number=${number}`)).status !== 200) t.fail(`round ${round}, block ${number}`)
    if ((await get('/api/blocks')).status !== 200 || (await get('/api/records?count=200&deleted=1')).status !== 200) t.fail(`round ${round}`)
    await log.close()
  }
  t.pass('each answer has status 200')
})

test('a log of a few records has a shelf, and an empty one has none', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 64 }))
  const { api } = await viewOf(t, log.log)
  await log.onReady()
  t.deepEqual((await api('blocks')).blocks, [])
  t.deepEqual((await api('records')).rows, [])
  t.equal((await api('log')).end, 0)
  await log.append(['one', 'two'])
  t.deepEqual((await api('blocks')).blocks.map(({ kind, records }) => [kind, records]), [['tail', 2]])
  await log.close()
})

test('numbers and verify count what is there, and find what is corrupt', async (t) => {
  const { events, file } = await shelfIn(t)
  const { verify } = require('flumelog-random-access-file/maintenance')
  const report = await verify(file)
  const { data } = (await events('numbers')).at(-1)
  const { records, bytes, deleted, freed, deletedBytes, framing } = report.counts
  t.ok(freed > 0, 'a block was freed, which is no record')
  t.deepEqual([data.records, data.bytes, data.deleted, data.freed, data.deletedBytes, data.framing, data.padding, data.corrupt], [records, bytes, deleted - freed, freed, deletedBytes, framing, report.padding, report.corruptBlocks])
  t.equal(data.histogram.reduce((sum, { count }) => sum + count, 0), records)
  const found = await events('verify')
  t.deepEqual(found.filter(({ event }) => event === 'finding').map(({ data }) => data.block), report.ranges.map(({ start }) => start / 128))
  t.deepEqual(found.filter(({ event }) => event === 'finding').map(({ data }) => data.offset), report.ranges.map(({ start }) => start))
  t.deepEqual(found.filter(({ event, data }) => event === 'finding' && !/ \(at \d+\)$/.test(data.message)), [], 'the block is not named twice')
  t.deepEqual(found.at(-1), { event: 'end', data: { corrupt: report.corruptBlocks, records, deleted, checksummed: report.checksummed, torn: 0 } })
})

test('a large record is counted once, and its other chunks beside it', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: 128, large: true }))
  for (const size of [10, 1000, 20]) await log.append('x'.repeat(size))
  const { events } = await viewOf(t, log.log)
  const { data: { records, parts, histogram } } = (await events('numbers')).at(-1)
  t.equal(records, 3)
  t.equal(histogram.reduce((sum, { count }) => sum + count, 0), records + parts)
  t.equal((await events('verify')).at(-1).data.records, 3)
  await log.close()
})

test('verify finds what an interrupted write has left at the end', async (t) => {
  const file = testFolder(t)('log')
  await makeLog(file, ['one', 'two'])
  fs.appendFileSync(file, Buffer.from([200, 0, 1, 2, 3]))
  const log = promises(FlumeLog(file, { readOnly: true }))
  await log.onReady()
  const { events } = await viewOf(t, log.log)
  const found = await events('verify')
  t.deepEqual(found.filter(({ event }) => event === 'finding').map(({ data }) => data.offset), [14])
  t.equal(found.at(-1).data.torn, 5)
  await log.close()
})

test('numbers tell of cursors and the recovery point of a log that is open', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append(['one', 'two', 'three'])
  const cursor = log.log.cursor('mailer')
  await new Promise((resolve, reject) => cursor.commit(7, err => err ? reject(err) : resolve()))
  const { events } = await viewOf(t, log.log)
  const { data } = (await events('numbers')).at(-1)
  t.deepEqual(data.cursors, [{ name: 'mailer', seq: 7, held: true, lag: 9 }])
  t.deepEqual([data.recoveryPoint.acknowledged, data.recoveryPoint.deletions], [23, 0])
  await log.close()
})
