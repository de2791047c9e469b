'use strict'

// CRC-32 of two byte sequences in a row.

const zlib = require('zlib')
const fc = require('fast-check')
const test = require('tape')
const { combine } = require('../../lib/format/crc32-combine')

test('a property: the CRC-32 of two sequences in a row follows from those of the two', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 100 }), fc.integer({ min: 0, max: 70000 }), (a, b, zeros) => {
    const second = Buffer.concat([Buffer.alloc(zeros), b])
    return combine(zlib.crc32(a), zlib.crc32(second), second.length) === zlib.crc32(Buffer.concat([a, second]))
  }), { verbose: 1 })
  t.equal(combine(123, 0, 0), 123, 'nothing appended')
  t.end()
})
