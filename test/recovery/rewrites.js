'use strict'

// lib/recovery/rewrites.js: a deletion that an earlier version left is completed in the file it was made for,
// however it was interrupted, and in no other.

const test = require('tape')
const fc = require('fast-check')
const layout = require('../../lib/format/layout')
const { belongsTo } = require('../../lib/recovery/rewrites')
const { dataOf, tailOf } = require('../helpers/bytes')
const { rewriteImage } = require('../helpers/rewrite-image')

/** The bytes of a block with records of these sizes, and the same with some of them deleted. */
function deletion (sizes, isDeleted, byte = 1) {
  const before = tailOf(sizes.map((size, i) => dataOf(size, byte + i)))
  const after = Buffer.from(before)
  let position = 0
  for (let i = 0; i < sizes.length; i++) {
    if (isDeleted(i)) layout.zeroRecord(after, position)
    position = layout.nextPosition(after, position)
  }
  return { before, after }
}

test('a rewrite belongs to the file as it was, as it is to be, and in part rewritten', (t) => {
  const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 })
  fc.assert(fc.property(sizes, fc.nat(), fc.nat(50), fc.nat(), fc.constantFrom(64, 512, 4096), (sizes, mask, block, cut, sector) => {
    const { before, after } = deletion(sizes, i => (mask >> i & 1) === 1)
    const offset = block * 1000
    const image = rewriteImage(offset, before, after)
    const prefix = Buffer.concat([after.subarray(0, cut % after.length), before.subarray(cut % after.length)])
    const sectors = Buffer.from(before.map((byte, i) => (mask * 31 >> Math.floor((offset + i) / sector) % 16 & 1) === 1 ? after[i] : byte))
    return [before, after, prefix, sectors].every(current => belongsTo(image, current))
  }), { numRuns: 500 })
  t.pass('500 deletions')
  t.end()
})

test('a rewrite does not belong to another log with records of the same sizes', (t) => {
  for (const sizes of [[100, 100], [2], [1000, 3, 64]]) {
    const { before, after } = deletion(sizes, () => true)
    const image = rewriteImage(0, before, after)
    t.ok(belongsTo(image, before))
    t.notOk(belongsTo(image, deletion(sizes, () => false, 9).before), `${sizes}`)
    t.ok(belongsTo({ offset: 0, data: after }, deletion(sizes, () => false, 9).before), 'without checksums that is not known')
  }
  t.end()
})

test('a rewrite does not belong to a file in which what it leaves is different', (t) => {
  const { before, after } = deletion([20, 20, 20], i => i === 1)
  for (const replaces of [rewriteImage(0, before, after).replaces, undefined]) {
    for (let at = 0; at < before.length; at++) {
      if (at >= 26 && at < 46) continue
      const other = Buffer.from(before)
      other[at] ^= 0x40
      if (belongsTo({ offset: 0, data: after, replaces }, other)) t.fail(`byte ${at}`)
    }
  }
  t.pass('in any byte')
  t.notOk(belongsTo({ offset: 0, data: after, replaces: Buffer.alloc(5) }, before), 'checksums of other lines')
  t.end()
})
