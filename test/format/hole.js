'use strict'

// lib/format/hole.js: a hole is a valid block of one deleted record.

const tape = require('tape')
const fc = require('fast-check')
const { detectBlockSize } = require('../../lib/format/block-size')
const { holeOf, isHole } = require('../../lib/format/hole')
const layout = require('../../lib/format/layout')
const { findProblem } = require('../../lib/format/validation')
const { dataOf, sealedBlock } = require('../helpers/bytes')

tape('a hole is a valid block of one deleted record, as large as one can be, which shows the block size', (t) => {
  const wrong = []
  for (const blockSize of [32, 33, 63, 64, 65, 128, 1000, 4096, 10007, 65535, 65536]) {
    for (const checksum of [true, false]) {
      const hole = holeOf(blockSize, checksum)
      const end = layout.nextPosition(hole, 0)
      const isRight = hole.length === blockSize && findProblem(hole, true) === null && layout.isDeleted(hole, 0) && end === layout.paddingStart(hole) &&
        layout.readLength(hole, 0) === layout.maxRecordSize(blockSize, checksum) && isHole(hole) && holeOf(blockSize, checksum) === hole &&
        detectBlockSize(Buffer.concat([hole, hole])) === blockSize && detectBlockSize(hole) === blockSize
      if (!isRight) wrong.push([blockSize, checksum])
    }
  }
  t.deepEqual(wrong, [])
  t.end()
})

tape('no other block is a hole', (t) => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 8 }), fc.boolean(), fc.boolean(), (sizes, checksum, isErased) => {
    const block = sealedBlock(1024, sizes.map(size => isErased ? Buffer.alloc(size) : dataOf(size)), { checksum })
    return !isHole(block)
  }))
  for (const [length, checksum] of [[1024 - 14, true], [1024 - 10, false], [1024 - 14, false]]) {
    t.notOk(isHole(sealedBlock(1024, [dataOf(length)], { checksum })), 'a record that is as large')
    t.ok(isHole(sealedBlock(1024, [Buffer.alloc(length)], { checksum })), 'but that record, deleted, is')
  }
  t.end()
})
