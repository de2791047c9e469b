'use strict'

// lib/format/layout.js block by block, byte by byte: what is written where.

const test = require('tape')
const { crc32 } = require('zlib')
const layout = require('../../lib/format/layout')
const { checksumOf, storedChecksum, writeChecksum } = require('../../lib/format/checksum')
const { findProblem } = require('../../lib/format/validation')
const { bytes, le16, le32, used, write } = require('../helpers/block-bytes')

const SIZES = [32, 33, 64, 100, 255, 256, 257, 1024, 4096, 32767, 65535, 65536]

test('a record is its length, its data, and its length again', (t) => {
  const block = used(32)
  t.equal(layout.writeRecord(block, 0, Buffer.from('abc')), 7)
  t.deepEqual(block, bytes("03 00 'abc' 03 00 ee*25"))
  t.equal(layout.writeRecord(block, 7, Buffer.from('d')), 12)
  t.deepEqual(block, bytes("03 00 'abc' 03 00 01 00 'd' 01 00 ee*20"))
  t.end()
})

test('a length has its low byte first', (t) => {
  for (const length of [1, 255, 256, 257, 65522, 65526]) {
    const block = used(65536)
    t.equal(layout.writeRecord(block, 0, Buffer.alloc(length, 1)), length + 4)
    t.deepEqual(block, bytes(`${le16(length)} 01*${length} ${le16(length)} ee*${65532 - length}`), `${length}`)
  }
  t.end()
})

test('a Uint8Array is written like a Buffer', (t) => {
  const block = used(32)
  t.equal(layout.writeRecord(block, 3, new Uint8Array([1, 2, 3]).subarray(1)), 9)
  t.deepEqual(block, bytes('ee*3 02 00 02 03 02 00 ee*23'))
  t.end()
})

test('sealing overwrites the rest of the block with mark, zeros and start', (t) => {
  const block = used(32)
  layout.seal(block, write(block, 'abc'))
  t.deepEqual(block, bytes("03 00 'abc' 03 00 1f 00 00*19 07 00 00 00"))
  t.end()
})

test('at every block size, the largest record fits, one more byte does not, and the block is as the format says', (t) => {
  for (const blockSize of SIZES) {
    for (const checksum of [true, false]) {
      const padding = checksum ? 10 : 6
      const most = blockSize - padding - 4
      t.equal(layout.paddingSize(checksum), padding)
      t.equal(layout.maxRecordSize(blockSize, checksum), most)
      t.ok(layout.fits(blockSize, checksum, 0, most))
      t.notOk(layout.fits(blockSize, checksum, 0, most + 1))

      const block = used(blockSize)
      layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(most, 1)))
      if (checksum) writeChecksum(block)
      const crc = checksum ? le32(checksumOf(block)) : ''
      t.deepEqual(block, bytes(`${le16(most)} 01*${most} ${le16(most)} ${le16(blockSize - 1)} ${crc} ${le32(blockSize - padding)}`), `${blockSize}`)
      t.equal(findProblem(block, true), null)
    }
  }
  t.end()
})

test('for every position and length in a small block, a record fits exactly if its end leaves room for the padding', (t) => {
  const wrong = []
  for (const blockSize of [32, 33, 48]) {
    for (const checksum of [true, false]) {
      const padding = checksum ? 10 : 6
      for (let position = 0; position <= blockSize; position++) {
        for (let length = 1; length <= blockSize; length++) {
          const fits = position + 2 + length + 2 + padding <= blockSize
          if (layout.fits(blockSize, checksum, position, length) !== fits) wrong.push({ blockSize, checksum, position, length })
        }
      }
    }
  }
  t.deepEqual(wrong, [])
  t.end()
})

test('a small block is valid wherever its records end', (t) => {
  for (const blockSize of [32, 33, 48]) {
    const wrong = []
    for (let start = 5; start <= blockSize - 6; start++) {
      for (const checksum of [true, false]) {
        const block = used(blockSize)
        layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(start - 4, 1)))
        const hasRoom = start <= blockSize - 10
        const plain = bytes(`${le16(start - 4)} 01*${start - 4} ${le16(start - 4)} ${le16(blockSize - 1)} 00*${blockSize - 6 - start} ${le32(start)}`)
        if (checksum) {
          writeChecksum(block)
          if (hasRoom) plain.writeUInt32LE(crc32(Buffer.concat([plain.subarray(0, -8), plain.subarray(-4)])), blockSize - 8)
        }
        const isExpected = block.equals(plain) &&
          findProblem(block, true) === null && findProblem(block, false) === null &&
          layout.paddingStart(block) === start &&
          (storedChecksum(block) !== 0) === (checksum && hasRoom)
        if (!isExpected) wrong.push({ start, checksum })
      }
    }
    t.deepEqual(wrong, [], `${blockSize}`)
  }
  t.end()
})

test('records can be iterated forward, and backward from where they end', (t) => {
  const block = used(64)
  const records = ['a', 'bcdef', 'gh', 'ijklmnopqrs']
  const starts = [0, 5, 14, 20]
  const end = write(block, ...records)
  t.equal(end, 35)
  let position = 0
  for (let i = 0; i < records.length; i++) {
    t.equal(position, starts[i])
    t.equal(layout.readLength(block, position), records[i].length)
    t.equal(String(layout.dataAt(block, position)), records[i])
    position = layout.nextPosition(block, position)
  }
  t.equal(position, end)
  for (let i = records.length - 1; i >= 0; i--) {
    position = layout.previousPosition(block, position)
    t.equal(position, starts[i])
  }
  t.end()
})

test('the data of a record is a view of the block, not a copy', (t) => {
  const block = used(32)
  write(block, 'abc')
  const data = layout.dataAt(block, 0)
  t.equal(data.buffer, block.buffer)
  t.equal(data.byteOffset, block.byteOffset + 2)
  t.end()
})

test('deleting zeroes the data of a record and nothing else', (t) => {
  const block = used(32)
  write(block, 'ab', 'cde', 'f')
  t.notOk(layout.isDeleted(block, 6))
  layout.zeroRecord(block, 6)
  t.deepEqual(block, bytes("02 00 'ab' 02 00 03 00 00 00 00 03 00 01 00 'f' 01 00 ee*14"))
  t.deepEqual([0, 6, 13].map(position => layout.isDeleted(block, position)), [false, true, false])
  t.end()
})

test('a record is deleted only if all of its bytes are zero', (t) => {
  const wrong = []
  for (let length = 1; length <= 18; length++) {
    const block = Buffer.alloc(32)
    layout.writeRecord(block, 0, new Uint8Array(length))
    if (!layout.isDeleted(block, 0) || layout.isStorable(layout.dataAt(block, 0))) wrong.push(length)
    for (let i = 0; i < length; i++) {
      const data = Buffer.alloc(length)
      data[i] = 1
      layout.writeRecord(block, 0, data)
      if (layout.isDeleted(block, 0) || !layout.isStorable(data)) wrong.push({ length, i })
    }
  }
  t.deepEqual(wrong, [])
  t.notOk(layout.isStorable(new Uint8Array(0)))
  t.end()
})
