'use strict'

// A client of a shared log is told that blocks were rewritten, of which only FILE.meta says how: until it
// is read, no block is shown as the file has it.

const tape = require('tape')
const { Block } = require('../../lib/format/block')
const { storedChecksum, writeChecksum } = require('../../lib/format/checksum')
const { deletionOf } = require('../../lib/format/deletions')
const layout = require('../../lib/format/layout')
const { BlockCache } = require('../../lib/read/block-cache')
const { FollowedPoint } = require('../../lib/read/followed-point')
const { metadataOf } = require('../helpers/left-metadata')
const { pointOf } = require('../../lib/recovery/recovery-point')

const BLOCK_SIZE = 128
const BLOCKS = 3
/** It nearly fills a block. */
const RECORD = Buffer.alloc(100, 7)

/** @returns {Buffer} a sealed block with one record */
function sealedBlock (size = BLOCK_SIZE) {
  const block = Buffer.alloc(size)
  let end = 0
  while (end + RECORD.length + 4 < size - 10) end = layout.writeRecord(block, end, RECORD)
  layout.seal(block, end)
  writeChecksum(block)
  return block
}

/** Blocks that a client reads, whose FILE.meta is read when the test says so. */
async function clientBlocks (blockSize = BLOCK_SIZE, cacheSize = 0) {
  const file = Buffer.concat(Array.from({ length: BLOCKS }, () => sealedBlock(blockSize)))
  const without = sealedBlock(blockSize)
  layout.zeroRecord(without, 0)
  writeChecksum(without)
  const deletion = { ...deletionOf(blockSize, file.subarray(blockSize, 2 * blockSize), [0], storedChecksum(without)), number: 1 }
  const metadata = await metadataOf(file, { blockSize, end: 0 })
  /** @type {any} */
  let recorded = { metadata, version: 'a', size: 0, isHeld: true, published: file.length }
  /** @type {Array<{ answer: () => void, fail: (err: Error) => void }>} */
  const reads = []
  const io = {
    readMetadata: () => new Promise((resolve, reject) => reads.push({ answer: () => resolve(recorded), fail: reject })),
    size: async () => file.length,
    read: async (/** @type {number} */ offset, /** @type {number} */ size) => Buffer.from(file.subarray(offset, offset + size))
  }
  const blocks = new BlockCache(/** @type {any} */ ({
    filename: 'log',
    readSmall: (/** @type {number} */ offset, /** @type {number} */ size, /** @type {boolean} */ _, /** @type {Function} */ cb) => io.read(offset, size).then(data => cb(null, data))
  }), { blockSize, checksum: true, cacheSize })
  blocks.tail = new Block(BLOCKS, Buffer.alloc(0), 0, false)
  const point = blocks.followedPoint = new FollowedPoint(/** @type {any} */ (io), blocks, pointOf(metadata, 'a', file.length, true), () => {})
  return {
    blocks,
    reads,
    deleteRecord: () => {
      recorded = { ...recorded, version: 'a+1', metadata: { ...metadata, deletions: [deletion] } }
      point.outdate()
      blocks.invalidate(1)
    },
    get: (/** @type {number} */ number) => new Promise((resolve, reject) => blocks.get(number, false, (err, block) => err ? reject(err) : resolve(block)))
  }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

tape('a block that a client reads while it reads of a deletion is shown without the deleted record', async (t) => {
  const { reads, deleteRecord, get } = await clientBlocks()
  deleteRecord()
  const other = get(0)
  await turn()
  t.equal(reads.length, 1, 'another block has it read FILE.meta')
  const rewritten = get(1)
  let isShown = false
  rewritten.then(() => { isShown = true })
  await turn()
  t.notOk(isShown, 'the block waits')
  for (const isOther of [true, false]) {
    while (reads.length > 0) reads.shift()?.answer()
    if (isOther) await other
    await turn()
  }
  while (reads.length > 0) reads.shift()?.answer()
  const { buffer } = await rewritten
  t.ok(layout.isDeleted(buffer, 0), 'and lacks the record')
})

tape('a client that cannot read of a deletion that it was told of shows no block as the file has it', async (t) => {
  const { reads, deleteRecord, get } = await clientBlocks()
  deleteRecord()
  const rewritten = get(1).then(() => 'shown', (err) => err.code)
  await turn()
  reads.shift()?.fail(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
  t.equal(await rewritten, 'EMFILE')
  const again = get(1)
  await turn()
  reads.shift()?.answer()
  await turn()
  while (reads.length > 0) reads.shift()?.answer()
  t.ok(layout.isDeleted((await again).buffer, 0), 'the next one does, once it can')
})

tape('a client reads no single record of a block that may lack a deletion that it was told of', async (t) => {
  const { blocks, reads, deleteRecord } = await clientBlocks(65536, 1e6)
  const record = (/** @type {number} */ position) => new Promise(resolve => blocks.readRecord(1, position, (data, block) => resolve(data ?? block)))
  deleteRecord()
  const other = record(104)
  await turn()
  let isShown = false
  const deleted = record(0)
  deleted.then(() => { isShown = true })
  await turn()
  t.notOk(isShown, 'it waits')
  for (let i = 0; i < 3; i++) {
    while (reads.length > 0) reads.shift()?.answer()
    await turn()
  }
  await other
  t.ok(layout.isDeleted((await deleted).buffer, 0), 'and the record is not there')
})

tape('a block that was read while the log was moved to another file, or taken over, is looked at again as it is there', async (t) => {
  const { blocks, reads } = await clientBlocks()
  for (const isWriter of [false, true]) {
    const { followedPoint: before } = blocks
    const same = new Promise((resolve, reject) => before.compare(before.current, (err, isSame) => err ? reject(err) : resolve(isSame)))
    while (reads.length === 0) await new Promise(resolve => setImmediate(resolve))
    blocks.followedPoint = isWriter ? null : new FollowedPoint(before.io, blocks, null, () => {})
    reads.shift().answer()
    t.equal(await same, false)
  }
})
