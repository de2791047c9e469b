'use strict'

// append([...], { atomic: true }): all of a batch, or none of it. The simulator cuts the power.

const tape = require('tape')
const pull = require('pull-stream')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const FlumeLog = require('../..')
const { Block } = require('../../lib/format/block')
const { Packer } = require('../../lib/write/packer')
const { sizeOf } = require('../../lib/storage/buffers')

const BATCH = 8
const BLOCK_SIZE = 1024

tape('atomic batches follow what is in the block, and call back with the seqs of all their records', async (t) => {
  const log = open(newFile(), {})
  await log.append('before')
  const seqs = await log.append(batch(), { atomic: true })
  t.deepEqual(seqs, Array.from({ length: BATCH }, (_, i) => 10 + i * 104))
  t.equal(await log.append('after'), 842)
  t.deepEqual(await log.append(['alone'], { atomic: true }), [851])
  t.deepEqual(await log.append('no array', { atomic: true }), [860])
  t.deepEqual(await log.append([], { atomic: true }), [])
  t.equal((await log.append(batch(), { atomic: true }))[0], 1024, 'what does not fit starts the next one')
  t.deepEqual((await all(log)).slice(0, 12).map(({ seq }) => seq), [0, ...seqs, 842, 851, 860])
  await log.close()
})

tape('atomic batches in flight share one write and two fsyncs, and their blocks are full', async (t) => {
  const file = newFile()
  const log = open(file, {})
  await log.append('x', { sync: true })
  const { writes, syncs } = log.log.stats()
  const appended = [log.append('between')]
  for (let i = 0; i < 200; i++) appended.push(log.append([`${i}`, 'second'], { atomic: true }))
  const seqs = (await Promise.all(appended)).slice(1)
  const after = log.log.stats()
  t.deepEqual([after.writes - writes, after.syncs - syncs], [1, 2])
  t.ok(after.size < 200 * 18 * 1.05, `${after.size} bytes`)
  t.deepEqual((await all(log)).slice(2).map(({ seq }) => seq), seqs.flat())
  await log.close()
})

tape('no write ends between two atomic batches of a block, of which only the first has its length withheld', (t) => {
  const packer = new Packer(new Block(0, Buffer.alloc(BLOCK_SIZE), 0, false), BLOCK_SIZE, true)
  packer.addAtomic(batch())
  const end = packer.end
  packer.add(Buffer.alloc(10))
  packer.addAtomic([Buffer.alloc(10)])
  const all = packer.end
  t.equal(sizeOf(packer.nextWrite(0, end)), all, 'an operation that waits for the file gets it after both')
  t.equal(packer.withheld, 0)
  const start = packer.addAtomic([Buffer.alloc(20)])[0]
  packer.nextWrite(all, packer.end)
  t.equal(packer.withheld, start, 'the next one is on its own')
  t.end()
})

tape('a length that is withheld never lies in two sectors, which a power cut may leave in two versions', async (t) => {
  const log = open(newFile(), { blockSize: 4096 })
  // of this record's length, 0x0110, the lower half alone would be that of a record, too
  const record = Buffer.alloc(0x110, 1)
  record.writeUInt16LE(0x10, 0x10)
  await log.append(Buffer.alloc(511 - 4, 2))
  t.deepEqual(await log.append([record], { atomic: true }), [4096])
  await log.append(Buffer.alloc(511 - (0x110 + 4) - 4, 2))
  const [before, behind] = await Promise.all([log.append('x', { atomic: true }), log.append(record, { atomic: true })])
  t.deepEqual([before, behind], [[8192], [8197]], 'where the first of two would, both go to the next block')
  await log.close()
})

tape('an atomic batch that does not fit into one block is rejected, and nothing of it is stored', async (t) => {
  const log = open(newFile(), {})
  const fits = Array.from({ length: 9 }, (_, i) => Buffer.alloc(i < 8 ? 100 : 178, i + 1))
  t.equal((await log.append(fits, { atomic: true })).length, 9, 'to the last byte')
  fits[8] = Buffer.alloc(179, 9)
  const err = await log.append(fits, { atomic: true }).catch(err => err)
  t.equal(err.code, 'flumelog:too-large')
  t.match(err.message, /1011 bytes .* 1010 bytes, with blocks of 1024/)
  t.equal((await all(log)).length, 9)
  await log.close()
})

tape('a file with atomic batches is an ordinary log', async (t) => {
  const file = newFile()
  const log = open(file, { checksum: false })
  for (let i = 0; i < 20; i++) await log.append(batch(), { atomic: true })
  await log.close()
  const again = open(file, {})
  t.equal((await all(again)).length, 20 * BATCH)
  t.equal(again.log.stats().cut, null)
  await again.close()
})

function batch (from = 1) {
  return Array.from({ length: BATCH }, (_, i) => Buffer.alloc(100, from + i))
}

function open (file, options) {
  return promises(FlumeLog(file, { blockSize: BLOCK_SIZE, ...options }))
}

function all ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}
