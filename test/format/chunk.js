'use strict'

// lib/format/chunk.js: what is too large for a block, or looks like a chunk, comes back as it was.

const test = require('tape')
const fc = require('fast-check')
const { crc32 } = require('zlib')
const chunk = require('../../lib/format/chunk')
const layout = require('../../lib/format/layout')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const MAGIC = Buffer.from('ff6368756e6b6564', 'hex')

/** The chunks of a record, each as the data of a record of its own. */
function split (data, rooms) {
  const splitter = new chunk.Splitter(data)
  const chunks = []
  for (let i = 0; !splitter.isDone; i++) {
    const room = rooms[i % rooms.length]
    const block = Buffer.alloc(room + layout.FRAME_SIZE, 0xee)
    const end = splitter.write(block, 0, room)
    const next = layout.nextPosition(block, 0)
    if (next !== end || end > block.length || layout.previousPosition(block, end) !== 0) throw new Error('a chunk has no valid lengths')
    chunks.push(layout.dataAt(block, 0))
  }
  return chunks
}

test('a record comes back from its chunks, forward and backward, whatever their sizes are', (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const rooms = fc.array(fc.integer({ min: 25, max: 200 }), { minLength: 1, maxLength: 5 })
  fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 2000 }), rooms, (bytes, rooms) => {
    const data = Buffer.from(bytes)
    const chunks = split(data, rooms)
    const kinds = chunks.map(chunk.kindOf)
    if (kinds.pop() !== chunk.LAST || kinds.some(kind => kind !== chunk.PART) || !chunks.every(chunk.isIntact)) return false
    const forward = new chunk.Joiner(data.length, true)
    const backward = new chunk.Joiner(data.length, true, chunks.length - 1)
    const isJoined = chunks.every(data => forward.add(data, 0, data.length, chunk.kindOf(data))) &&
      [...chunks].reverse().every(data => backward.add(data, 0, data.length, chunk.kindOf(data)))
    const whole = chunk.wholeChecksumAt(chunks.at(-1), 0)
    return isJoined && whole === crc32(data) && [forward, backward].every(joiner => joiner.isComplete && joiner.matches(whole) && joiner.data.equals(data))
  }), { seed: SEED, numRuns: 300 })
  t.pass('no difference was found')
  t.end()
})

test('what starts with the magic is escaped, and comes back', (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), fc.integer({ min: 0, max: 3 }), (bytes, times) => {
    let data = Buffer.concat([MAGIC, bytes])
    for (let i = 0; i < times; i++) data = chunk.escape(data)
    const escaped = chunk.escape(data)
    return chunk.kindOf(escaped) === chunk.ESCAPED && chunk.unescape(escaped).equals(data)
  }), { seed: SEED })
  t.deepEqual(chunk.escape(MAGIC), Buffer.concat([MAGIC, Buffer.from([3]), MAGIC]))
  t.end()
})

test('only what a writer makes is a chunk', (t) => {
  const [part, last] = split(Buffer.alloc(100, 1), [80])
  t.equal(chunk.kindOf(part), chunk.PART)
  t.equal(chunk.kindOf(last), chunk.LAST)
  t.equal(chunk.kindOf(part.subarray(0, 21)), chunk.PLAIN, 'a part without data')
  t.equal(chunk.kindOf(last.subarray(0, 24)), chunk.PLAIN, 'half a header')
  t.equal(chunk.kindOf(Buffer.concat([MAGIC, Buffer.from([3, 1])])), chunk.PLAIN, 'an escape of what needs none')
  t.equal(chunk.kindOf(Buffer.concat([MAGIC, Buffer.alloc(50, 9)])), chunk.PLAIN, 'another kind')
  const huge = Buffer.from(part)
  huge.writeUInt32LE(2 ** 28 + 1, 17)
  t.equal(chunk.kindOf(huge), chunk.PLAIN, 'of a record that is larger than any')
  t.equal(chunk.kindOf(MAGIC.subarray(0, 7)), chunk.PLAIN, 'a part of the magic')
  t.end()
})

test('a chunk with a changed byte is not intact', (t) => {
  const [part, last] = split(Buffer.from('a record of some bytes, in two chunks'), [40])
  for (const data of [part, last]) {
    for (let i = 9; i < data.length; i++) {
      const changed = Buffer.from(data)
      changed[i] ^= 1
      if (chunk.isIntact(changed)) t.fail(`byte ${i}`)
    }
    t.ok(chunk.isIntact(data))
  }
  t.end()
})
