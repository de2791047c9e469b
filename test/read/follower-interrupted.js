'use strict'

// FILE.meta of another log beside a log, as when a file was restored from elsewhere.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { testFolder } = require('../helpers/folder')
const { sealedBlock, tailOf, dataOf } = require('../helpers/bytes')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
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
