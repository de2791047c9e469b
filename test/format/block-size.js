'use strict'

// lib/format/block-size.js and zeros.js: what bytes show without a file.

const test = require('tape')
const { blockSizeOfSample, detectBlockSize, firstPadding } = require('../../lib/format/block-size')
const { isZeros } = require('../../lib/format/zeros')
const { dataOf, sealedBlock, tailOf } = require('../helpers/bytes')

test('the first padding gives the block size, and a tail without one only where its records end', (t) => {
  for (const blockSize of [32, 100, 4096, 65536]) {
    const block = sealedBlock(blockSize, [dataOf(5), dataOf(9)])
    t.deepEqual(firstPadding(block), { blockSize, end: 22 })
    t.equal(detectBlockSize(Buffer.concat([block, tailOf([dataOf(3)])])), blockSize)
    t.equal(detectBlockSize(block.subarray(0, blockSize - 1)), undefined, 'not all of it is there')
  }
  t.deepEqual(firstPadding(tailOf([dataOf(5), dataOf(9)])), { end: 22 })
  t.deepEqual(firstPadding(Buffer.alloc(0)), { end: 0 })
  t.end()
})

test('a valid block anywhere in a sample gives its size, if it stands at a multiple of that', (t) => {
  const sample = Buffer.concat([Buffer.alloc(28, 0xee), sealedBlock(100, [dataOf(50)])])
  t.equal(blockSizeOfSample(sample, 100 - 28, [128, 100, 64]), 100)
  t.equal(blockSizeOfSample(sample, 0, [128, 100, 64]), undefined)
  t.equal(blockSizeOfSample(sample, 100 - 28, [128, 64]), undefined)
  t.end()
})

test('bytes are zeros only if every one of them is', (t) => {
  for (const length of [0, 1, 65535, 65536, 65537, 200000]) {
    const bytes = Buffer.alloc(length)
    t.ok(isZeros(bytes), `${length}`)
    for (const at of [0, length >> 1, length - 1].filter(at => at >= 0 && at < length)) {
      bytes[at] = 1
      t.notOk(isZeros(bytes), `${length}, with another byte at ${at}`)
      bytes[at] = 0
    }
  }
  t.end()
})
