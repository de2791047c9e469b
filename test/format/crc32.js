'use strict'

// The checksum is that of zlib, whoever computes it.

const Module = require('module')
const zlib = require('zlib')
const fc = require('fast-check')
const test = require('tape')
const { crc32 } = require('../../lib/format/crc32')
const { runtime } = require('../helpers/runtime')

test('the checksum equals that of zlib, for any non-empty bytes, initial value and alignment', (t) => {
  const bytes = fc.uint8Array({ minLength: 21, maxLength: 5000 }).map(Buffer.from)
  fc.assert(fc.property(bytes, fc.nat(20), fc.integer({ min: 0, max: 0xFFFFFFFF }), (all, from, before) => {
    const data = all.subarray(from)
    return crc32(data, before) === zlib.crc32(data, before) && crc32(data) === zlib.crc32(data)
  }), { numRuns: 300 })
  t.pass()
  t.end()
})

test('the optional package is used if it is installed', (t) => {
  t.notEqual(crc32, zlib.crc32)
  t.end()
})

/** What is used where the optional package is another one. */
function chosenBeside (load) {
  const name = require.resolve('../../lib/format/crc32')
  const { _load } = Module
  const before = require.cache[name]
  delete require.cache[name]
  Module._load = (request, ...rest) => request === '@node-rs/crc32' ? load() : _load(request, ...rest)
  try {
    return require('../../lib/format/crc32').crc32
  } finally {
    Module._load = _load
    require.cache[name] = before
  }
}

// Bun does not ask Module._load
test('zlib is used if the optional package is missing or returns different results', { skip: runtime === 'bun' }, (t) => {
  const wrong = [
    () => { throw new Error('Cannot find module') },
    () => ({}),
    () => ({ crc32: () => 0 }),
    () => ({ crc32: (data) => zlib.crc32(data) }),
    () => ({ crc32: () => { throw new Error('a wrong instruction') } })
  ]
  for (const load of wrong) t.equal(chosenBeside(load), zlib.crc32, String(load))
  t.equal(chosenBeside(() => ({ crc32 })), crc32, 'and else it is the package')
  t.end()
})
