'use strict'

// lib/format/checksum.js: where a block's checksum is, and what it covers.

const test = require('tape')
const { crc32 } = require('zlib')
const layout = require('../../lib/format/layout')
const { checksumOf, storedChecksum, writeChecksum } = require('../../lib/format/checksum')
const { findProblem } = require('../../lib/format/validation')
const { bytes, le32, used, write } = require('../helpers/block-bytes')

test('the checksum is that of all the other bytes', (t) => {
  const block = used(32)
  layout.seal(block, write(block, 'abc'))
  writeChecksum(block)
  const checksum = crc32(bytes("03 00 'abc' 03 00 1f 00 00*15 07 00 00 00"))
  t.equal(checksum, 0xd90ec312)
  t.deepEqual(block, bytes(`03 00 'abc' 03 00 1f 00 00*15 ${le32(checksum)} 07 00 00 00`))
  t.equal(storedChecksum(block), checksum)
  t.equal(checksumOf(block), checksum)
  writeChecksum(block)
  t.equal(storedChecksum(block), checksum, 'to do it twice changes nothing')
  t.end()
})

test('a block without room for a checksum has none, whatever bytes are in its place', (t) => {
  // start is 23, so the place, positions 24 to 27, has the second byte of the mark
  const block = used(32)
  layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(19, 0xff)))
  const before = Buffer.from(block)
  writeChecksum(block)
  t.deepEqual(block, before)
  t.equal(storedChecksum(block), 0)
  t.equal(findProblem(block, true), null)

  // start is 26: a record's bytes reach into the place
  layout.seal(block, layout.writeRecord(block, 0, Buffer.alloc(22, 0xff)))
  writeChecksum(block)
  t.deepEqual(block, bytes('16 00 ff*22 16 00 1f 00 1a 00 00 00'))
  t.equal(findProblem(block, true), null)
  t.end()
})
