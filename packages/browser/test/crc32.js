'use strict'

const test = require('tape')
const { randomFrom } = require('../../../test/helpers/random')
const { crc32, crc32ByTable } = require('../lib/crc32')

const RUNS = 500
const MAX_LENGTH = 200000
const seed = Number(process.env.SEED ?? Date.now() % 1000000)

test(`crc32 is that of zlib for bytes of any length, in WebAssembly and by a table (SEED=${seed})`, (t) => {
  const { below } = randomFrom(seed)
  for (let run = 0; run < RUNS; run++) {
    const bytes = Uint8Array.from({ length: below(run % 50 === 0 ? MAX_LENGTH : 100) }, () => below(256))
    const before = below(2 ** 32)
    const expected = bitwise(bytes, before)
    if (crc32(bytes, before) !== expected || crc32ByTable(bytes, before) !== expected) return t.fail(`${bytes.length} bytes after ${before}`)
  }
  t.equal(crc32(Buffer.from('123456789')), 0xCBF43926)
  t.equal(crc32(Buffer.alloc(0), 7), 7)
  t.end()
})

/** By its definition. */
function bitwise (bytes, before) {
  let crc = ~before
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xEDB88320 : crc >>> 1
  }
  return ~crc >>> 0
}
