'use strict'

// lib/recovery/whole-records.js: what of a block belongs to the log after a crash, decided on
// bytes alone.

const test = require('tape')
const { endOfLastBlock, endOfUnsynced, isRefusedByCodec } = require('../../lib/recovery/whole-records')
const { dataOf, sealedBlock, tailOf } = require('../helpers/bytes')

const BLOCK_SIZE = 64
const OPTIONS = { blockSize: BLOCK_SIZE, checksum: true, isWhole: () => true }
const RECORDS = [dataOf(10), dataOf(12), dataOf(8)] // at 0, 14 and 30, to 42

test('behind the recovery point, a block ends with its last whole record, and a sealed one with all of it', (t) => {
  const tail = tailOf(RECORDS)
  for (let length = 0; length <= tail.length; length++) {
    t.equal(endOfUnsynced(tail.subarray(0, length), 0, OPTIONS), [0, 14, 30, 42].findLast(end => end <= length), `${length} bytes`)
  }
  for (const checksum of [true, false]) t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, RECORDS, { checksum }), 0, OPTIONS), BLOCK_SIZE)
  t.end()
})

test('behind the recovery point, a record of zeros is torn; before it, and in a block with a checksum, it is deleted', (t) => {
  const records = [dataOf(10), Buffer.alloc(12), dataOf(8)]
  t.equal(endOfUnsynced(tailOf(records), 0, OPTIONS), 14)
  t.equal(endOfUnsynced(tailOf(records), 14, OPTIONS), 14)
  t.equal(endOfUnsynced(tailOf(records), 30, OPTIONS), 42)
  t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, records), 0, OPTIONS), BLOCK_SIZE)
  t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, records, { checksum: false }), 0, OPTIONS), 14)
  t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, records), 0, { ...OPTIONS, checksum: false }), 14, 'if it is not compared')
  t.end()
})

test('behind the recovery point, a record that the codec refuses is torn, unless a checksum covers it', (t) => {
  const options = { ...OPTIONS, isWhole: data => data.length !== 12 }
  t.equal(endOfUnsynced(tailOf(RECORDS), 0, options), 14)
  t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, RECORDS, { checksum: false }), 0, options), 14)
  t.equal(endOfUnsynced(sealedBlock(BLOCK_SIZE, RECORDS), 0, options), BLOCK_SIZE)
  t.end()
})

test('behind the recovery point, a block ends where a length was withheld, whatever is behind it', (t) => {
  for (const checksum of [true, false]) {
    for (const at of [0, 14, 30]) {
      const block = sealedBlock(BLOCK_SIZE, RECORDS, { checksum })
      block.writeUInt16LE(0, at)
      for (const length of [42, BLOCK_SIZE]) t.equal(endOfUnsynced(block.subarray(0, length), 0, OPTIONS), at, `${length} bytes`)
      t.equal(endOfUnsynced(block, at, { ...OPTIONS, checksum: false }), at, 'also if it is where the recovery point is')
    }
  }
  t.end()
})

test('a record that the codec refuses was torn if a sector of it is missing, and else it was not', (t) => {
  const options = { blockSize: 4096, checksum: true, isWhole: () => false }
  const data = Buffer.alloc(1500, 'x')
  t.ok(isRefusedByCodec(tailOf([data]), 0, 0, options), 'all of it is there')
  t.ok(isRefusedByCodec(tailOf([Buffer.alloc(12, 'x')]), 0, 0, options), 'nor can less than a sector be missing')
  const torn = tailOf([data])
  torn.fill(0, 512, 1024)
  t.notOk(isRefusedByCodec(torn, 0, 0, options))
  t.ok(isRefusedByCodec(torn, 100, 0, options), 'the same zeros elsewhere in the file are no sector')
  t.notOk(isRefusedByCodec(torn.subarray(0, 1000), 0, 0, options), 'it is not all there')
  t.notOk(isRefusedByCodec(tailOf([Buffer.alloc(12)]), 0, 0, options), 'zeros were not written')
  t.end()
})

test('without a recovery point, the last block ends behind its whole records, and corruption in front of one stays', (t) => {
  const tail = tailOf(RECORDS)
  t.equal(endOfLastBlock(tail, BLOCK_SIZE), 42)
  t.equal(endOfLastBlock(Buffer.concat([tail, Buffer.from([20, 0, 1])]), BLOCK_SIZE), 42)
  t.equal(endOfLastBlock(Buffer.concat([tail, Buffer.alloc(22)]), BLOCK_SIZE), 42, 'zeros up to the block\'s end are not a padding')
  const corrupt = Buffer.from(tail)
  corrupt[14] = 99
  t.equal(endOfLastBlock(corrupt, BLOCK_SIZE), 42)
  t.equal(endOfLastBlock(sealedBlock(BLOCK_SIZE, RECORDS), BLOCK_SIZE), BLOCK_SIZE)
  t.equal(endOfLastBlock(Buffer.alloc(BLOCK_SIZE, 7), BLOCK_SIZE), BLOCK_SIZE, 'a corrupt block is a block')
  t.end()
})
