'use strict'

// Which blocks the cache keeps, against a model: a Map whose oldest entry is the least recently used.

const fc = require('fast-check')
const test = require('tape')
const { BlockCache } = require('../../lib/read/block-cache')
const { Block } = require('../../lib/format/block')

/** Bytes that a cached block of 32 bytes takes: see BLOCK_OVERHEAD. */
const SIZE = 432
const TAIL = 1e6

/** @param {number} count of blocks that fit */
function cacheOf (count) {
  const cache = new BlockCache(/** @type {any} */ (null), { blockSize: 32, checksum: true, cacheSize: count * SIZE })
  cache.tail = new Block(TAIL, Buffer.alloc(0), 0, false)
  return cache
}

const block = (/** @type {number} */ number) => new Block(number, Buffer.alloc(0), 0, true)

test('the cache keeps the blocks used last, as many as fit, and counts those that it evicts', (t) => {
  const number = fc.nat(30)
  const step = fc.oneof(
    fc.record({ call: fc.constant('add'), number, share: fc.constantFrom(1, 1, 0.5, 0.25) }),
    fc.record({ call: fc.constantFrom('look', 'look', 'invalidate'), number }),
    fc.record({ call: fc.constant('forget'), number })
  )
  fc.assert(fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step, { maxLength: 200 }), (most, steps) => {
    const cache = cacheOf(most)
    /** @type {Map<number, Block>} */
    const model = new Map()
    let evictions = 0
    for (const { call, number, share } of /** @type {any[]} */ (steps)) {
      const known = model.get(number)
      if (call === 'look') {
        if (cache.lookUp(number) !== known) return false
        if (known !== undefined) model.delete(number) && model.set(number, known)
      } else if (call === 'add' && (share === 1 || model.size < share * most)) {
        const added = block(number)
        cache.add(added, share)
        model.delete(number)
        if (model.size === most) model.delete(/** @type {number} */ (model.keys().next().value)) && evictions++
        model.set(number, added)
      } else if (call === 'add') cache.add(block(number), share)
      else if (call === 'invalidate') {
        cache.invalidate(number)
        model.delete(number)
      } else {
        cache.forget()
        model.clear()
      }
      if (cache.evictions !== evictions) return false
      for (let n = 0; n <= 30; n++) if (cache.isCached(n) !== model.has(n)) return false
    }
    return true
  }), { numRuns: 300 })
  t.pass('the same as the model')
  t.end()
})

test('a cache of thousands of blocks keeps all that fit', (t) => {
  const most = 3000
  const cache = cacheOf(most)
  for (let n = 0; n < most; n++) cache.add(block(n))
  t.equal(cache.evictions, 0)
  t.ok(Array.from({ length: most }, (_, n) => cache.isCached(n)).every(Boolean), 'all are there')
  cache.add(block(most))
  t.equal(cache.evictions, 1)
  t.notOk(cache.isCached(0), 'then the oldest makes room')
  t.end()
})

test('a cache that is smaller than a block keeps none', (t) => {
  const cache = cacheOf(0.9)
  cache.add(block(0))
  t.notOk(cache.isCached(0))
  t.equal(cache.lookUp(0), undefined)
  t.end()
})
