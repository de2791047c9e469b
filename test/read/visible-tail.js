'use strict'

// What a follower shows, decided from bytes alone: every state of the writer that can be seen.

const test = require('tape')
const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')
const { boundsOf, visiblePart, visibleTail } = require('../../lib/read/visible-tail')

const BLOCK_SIZE = 64
/** Where records of 10 bytes end: two, three and four of them. */
const [TWO, THREE, FOUR] = [28, 42, 56]

const point = (offset, { acknowledged = null, isHeld = false } = {}) => ({ offset, acknowledged, isHeld })

/** Records of 10 bytes, each filled with one of these. */
function records (...fills) {
  const bytes = Buffer.alloc(fills.length * 14)
  let position = 0
  for (const fill of fills) position = layout.writeRecord(bytes, position, Buffer.alloc(10, fill))
  return bytes
}

function sealed (fills, { checksum = true } = {}) {
  const block = Buffer.alloc(BLOCK_SIZE)
  records(...fills).copy(block)
  layout.seal(block, fills.length * 14)
  if (checksum) writeChecksum(block)
  return block
}

/** The first block of a file, of which `shown` bytes of `before` were shown. */
function look (bytes, bounds, { start = 0, shown = 0, before = bytes, isWhole = () => true } = {}) {
  const tail = { start, bytes, shownBytes: before, shownEnd: shown }
  const { state, end } = visibleTail(tail, bounds, { blockSize: BLOCK_SIZE, checksum: true, isWhole })
  return state === 'open' || state === 'sealed' ? `${state} to ${end}` : state
}

/** The log was empty when it was opened. */
const FOUND = { kept: 0, cut: 0 }
/** A live writer has acknowledged this much. */
const live = (acknowledged) => boundsOf(point(0), acknowledged, 1000, BLOCK_SIZE, FOUND)
/** A writer stopped, or cannot be seen; up to `offset` everything was durable. */
const stopped = (offset, size = 1000) => boundsOf(point(offset), null, size, BLOCK_SIZE, FOUND)
/** There is no recovery point. */
const closed = (size) => boundsOf(null, null, size, BLOCK_SIZE, FOUND)

test('the limit is what a live writer has acknowledged, else what the file has', (t) => {
  t.equal(boundsOf(point(10), 300, 1000, BLOCK_SIZE, FOUND).limit, 300)
  t.equal(boundsOf(point(10), 300, 200, BLOCK_SIZE, FOUND).limit, 200, 'and never more than the file has')
  t.equal(boundsOf(point(10), null, 1000, BLOCK_SIZE, FOUND).limit, 1000)
  t.equal(boundsOf(null, null, 1000, BLOCK_SIZE, FOUND).limit, 1000)
  t.end()
})

test('what was found behind the end of a closed log is not shown until the file changes', (t) => {
  const bounds = (size) => boundsOf(null, null, size, BLOCK_SIZE, { kept: 100, cut: 2 ** 34 })
  t.deepEqual(bounds(100 + 2 ** 34), { limit: 100, complete: 64, validateFrom: Infinity })
  t.equal(bounds(100).limit, 100, 'when a writer has removed it')
  t.equal(bounds(150).limit, 150, 'and appended')
  t.end()
})

test('blocks are complete up to what was acknowledged, or was durable, or up to the last one', (t) => {
  t.equal(boundsOf(point(10), 300, 1000, BLOCK_SIZE, FOUND).complete, 300)
  t.equal(boundsOf(point(10), null, 1000, BLOCK_SIZE, FOUND).complete, 10)
  for (const [size, complete] of [[0, 0], [1, 0], [64, 0], [65, 64], [128, 64], [129, 128]]) {
    t.equal(boundsOf(null, null, size, BLOCK_SIZE, FOUND).complete, complete, `a closed file of ${size} bytes`)
  }
  t.end()
})

test('a reader opens the part that a live writer has acknowledged, and the whole file otherwise', (t) => {
  const held = point(100, { acknowledged: 300, isHeld: true })
  t.deepEqual(visiblePart(held, 1000), { size: 300, point: { ...held, offset: 300 } })
  t.deepEqual(visiblePart(held, 200), { size: 200, point: { ...held, offset: 200 } })
  const unknown = point(100, { isHeld: true })
  t.deepEqual(visiblePart(unknown, 1000), { size: 100, point: unknown }, 'what is durable, if the rest is not known')
  const left = point(100, { acknowledged: 300 })
  t.deepEqual(visiblePart(left, 1000), { size: 1000, point: left })
  t.deepEqual(visiblePart(null, 1000), { size: 1000, point: null })
  t.end()
})

test('a tail is shown up to its last whole record', (t) => {
  const bytes = records('a', 'b', 'c')
  for (const bounds of [live(THREE), stopped(0), closed(THREE)]) {
    t.equal(look(bytes, bounds), 'open to 42')
    t.equal(look(bytes.subarray(0, 40), bounds), 'open to 28')
    t.equal(look(bytes, bounds, { shown: TWO }), 'open to 42', 'whatever was shown of it')
  }
  t.end()
})

test('a valid full block is shown, and the next one is the tail', (t) => {
  const block = sealed(['a', 'b', 'c'])
  for (const bounds of [live(64), stopped(0), stopped(64), closed(64), closed(65)]) t.equal(look(block, bounds), 'sealed to 42')
  t.equal(look(sealed(['a', 'b', 'c', 'd'], { checksum: false }), live(64)), 'sealed to 56', 'also without a checksum')
  t.end()
})

test('an invalid full block is corrupt only if it was complete', (t) => {
  const block = sealed(['a', 'b', 'c'])
  block[20] ^= 1
  t.equal(look(block, live(64)), 'corrupt', 'acknowledged')
  t.equal(look(block, stopped(64)), 'corrupt', 'durable')
  t.equal(look(block, closed(65)), 'corrupt', 'others follow')
  t.equal(look(block, stopped(63)), 'open to 42', 'a crash may have left it')
  t.equal(look(block, closed(64)), 'open to 42', 'the last one may be torn')
  t.end()
})

test('a first length of 0 in front of data is waited for behind what is durable', (t) => {
  const block = sealed(['a', 'b', 'c']).fill(0, 0, 2)
  t.equal(look(block, stopped(0)), 'open to 0')
  t.equal(look(block.subarray(0, 30), stopped(0)), 'open to 0')
  t.equal(look(block.subarray(0, 30), live(30)), 'open to 0')
  t.end()
})

test('after a crash, records behind what is durable count if they validate', (t) => {
  const isWhole = (data) => data[0] !== 'b'.charCodeAt(0)
  const bytes = records('a', 'b', 'c')
  t.equal(look(bytes, stopped(0), { isWhole }), 'open to 14')
  t.equal(look(bytes, stopped(TWO), { isWhole }), 'open to 42', 'those before it are not in doubt')
  t.equal(look(bytes, stopped(0), { isWhole, shown: TWO }), 'open to 42', 'nor are those that were shown')
  t.equal(look(bytes, live(THREE), { isWhole }), 'open to 42', 'nor what a live writer has acknowledged')
  t.equal(look(bytes, closed(THREE), { isWhole }), 'open to 42', 'nor is a log that was closed')
  t.equal(look(records('a', '\0', 'c'), stopped(0)), 'open to 14', 'a record of zeros does not')
  t.equal(look(records('a', '\0', 'c'), stopped(TWO)), 'open to 42', 'but before it, it is a deleted one')
  t.equal(look(records('a', '\0', 'c'), stopped(0), { shown: TWO }), 'open to 42', 'and so is one that was shown')
  t.end()
})

test('after a crash, a full block is validated if it has no checksum', (t) => {
  const isWhole = (data) => data[0] !== 'b'.charCodeAt(0)
  t.equal(look(sealed(['a', 'b', 'c']), stopped(0), { isWhole }), 'sealed to 42')
  t.equal(look(sealed(['a', 'b', 'c'], { checksum: false }), stopped(0), { isWhole }), 'open to 14')
  t.equal(look(sealed(['a', 'b', 'c'], { checksum: false }), stopped(64), { isWhole }), 'sealed to 42')
  t.equal(look(sealed(['a', 'b', 'c'], { checksum: false }), stopped(64 + FOUR), { isWhole, start: 64 }), 'sealed to 42', 'its offset in the file counts')
  t.end()
})

test('a record that was shown as deleted may be there again, since a deletion that could not be made durable is taken back', (t) => {
  const now = (bytes) => look(bytes, live(THREE), { shown: THREE, before: records('a', '\0', 'c') })
  t.equal(now(records('a', 'b', 'c')), 'open to 42')
  t.equal(now(records('x', 'b', 'c')), 'changed', 'and nothing else may have changed')
  t.end()
})

test('what was shown may have been deleted, and nothing else may have changed', (t) => {
  const before = records('a', 'b')
  const now = (bytes) => look(bytes, live(THREE), { shown: TWO, before })
  t.equal(now(records('a', '\0', 'c')), 'open to 42', 'deleted')
  t.equal(now(records('a', 'x', 'c')), 'changed', 'another record of the same size')
  t.equal(now(records('a', 'b').subarray(0, 20)), 'changed', 'less than before')
  const longer = Buffer.alloc(40)
  layout.writeRecord(longer, 0, Buffer.alloc(30, 'a'))
  t.equal(now(longer), 'changed', 'a record of another size')
  t.equal(look(sealed(['a', 'x', 'c']), live(64), { shown: TWO, before }), 'changed', 'in a full block, too')
  t.equal(look(sealed(['a', '\0', 'c']), live(64), { shown: TWO, before }), 'sealed to 42')
  t.equal(look(sealed(['a']), live(64), { shown: TWO, before }), 'changed', 'or a block that ends earlier')
  t.end()
})
