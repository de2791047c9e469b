'use strict'

// Readers of a log whose FILE.meta has deletions: those that were interrupted in this
// log are shown as complete, those of another log are ignored.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { testFolder } = require('../helpers/folder')
const { until } = require('../helpers/followers')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { promises } = require('../helpers/promises')
const { collect, codeOf } = require('../helpers/reading')
const { leaveMetadata } = require('../helpers/left-metadata')
const { deletionOf } = require('../../lib/format/deletions')

const BLOCK_SIZE = 512
const SIZE = 100
const FRAME = SIZE + layout.FRAME_SIZE

/** Makes the two blocks of a log: one that is sealed without a checksum, and a tail. */
const blocksOf = (first) => [
  sealedBlock(BLOCK_SIZE, [1, 2, 3, 4].map(i => dataOf(SIZE, first + i)), { checksum: false }),
  tailOf([dataOf(SIZE, first + 5), dataOf(SIZE, first + 6), dataOf(SIZE, first + 7)])
]

/** The blocks with the second record of each deleted. */
const deletedIn = (blocks) => blocks.map((block) => {
  const after = Buffer.from(block)
  layout.zeroRecord(after, FRAME)
  return after
})

const deletionsOf = (blocks) => blocks.map((block, i) => deletionOf(i * BLOCK_SIZE, block, [FRAME], null))

const SEQS = [0, FRAME, 2 * FRAME, 3 * FRAME, BLOCK_SIZE, BLOCK_SIZE + FRAME, BLOCK_SIZE + 2 * FRAME]

tape('deletions in the metadata of another log hide no records from a reader', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, Buffer.concat(blocksOf(1)))
  await leaveMetadata(file, Buffer.concat(blocksOf(101)), { blockSize: BLOCK_SIZE, deletions: deletionsOf(blocksOf(101)) })
  const reader = promises(FlumeLog(file, { readOnly: true, blockSize: BLOCK_SIZE, cacheSize: 0 }))
  t.deepEqual((await collect(reader.log)).map(({ seq }) => seq), SEQS)
  t.deepEqual(await reader.get(FRAME), dataOf(SIZE, 3), 'nor from a get')
  await reader.close()
})

tape('deletions that were interrupted in this log are shown as complete', async (t) => {
  const file = testFolder(t)('log')
  const blocks = blocksOf(1)
  fs.writeFileSync(file, Buffer.concat(blocks))
  await leaveMetadata(file, Buffer.concat(blocks), { blockSize: BLOCK_SIZE, deletions: deletionsOf(blocks) })
  const halfway = deletedIn(blocks).map((after, i) => Buffer.concat([after.subarray(0, FRAME + 50), blocks[i].subarray(FRAME + 50)]))
  for (const current of [blocks, halfway]) {
    fs.writeFileSync(file, Buffer.concat(current))
    const reader = promises(FlumeLog(file, { readOnly: true, blockSize: BLOCK_SIZE, cacheSize: 0 }))
    t.deepEqual((await collect(reader.log)).map(({ seq }) => seq), SEQS.filter(seq => seq % BLOCK_SIZE !== FRAME))
    t.equal(await codeOf(reader.get(FRAME)), 'flumelog:deleted')
    await reader.close()
  }
})

tape('deletions are found to be those of this log when its block size is known only later', async (t) => {
  const file = testFolder(t)('log')
  const blocks = blocksOf(1)
  fs.writeFileSync(file, blocks[0].subarray(0, FRAME))
  await leaveMetadata(file, Buffer.concat(blocks), { blockSize: BLOCK_SIZE, deletions: deletionsOf(blocks) })
  const reader = FlumeLog(file, { readOnly: true, cacheSize: 0 })
  const seqs = []
  pull(reader.stream({ live: true, values: false }), pull.drain(seq => { seqs.push(seq) }, () => {}))
  await until(() => seqs.length === 1)
  fs.writeFileSync(file, Buffer.concat(blocks))
  await until(() => seqs.length === 5)
  t.deepEqual(seqs, SEQS.filter(seq => seq % BLOCK_SIZE !== FRAME))
  t.equal(await codeOf(promises(reader).get(FRAME)), 'flumelog:deleted')
  await promises(reader).close()
})
