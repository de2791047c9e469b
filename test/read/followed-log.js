'use strict'

// What a reader shows of a log that another process writes, decided from bytes alone, and whether blocks that it has read are as they were.

const test = require('tape')
const layout = require('../../lib/format/layout')
const { BlockCache } = require('../../lib/read/block-cache')
const { isStillThere } = require('../../lib/read/followed-log')
const { Follower } = require('../../lib/read/follower')
const { visiblePart } = require('../../lib/read/visible-end')

/** Where records of 10 bytes end: two and three of them. */
const [TWO, THREE] = [28, 42]

const point = (offset, { acknowledged = null, isHeld = false } = {}) => ({ offset, acknowledged, isHeld, clients: {} })

/** A file that nobody writes, beside which there is no FILE.meta. */
const FILE = /** @type {any} */ ({ filename: 'log', metadata: { peek: async () => ({ version: null }) }, status: () => ({ size: 0, mtimeMs: 0, ctimeMs: 0 }) })

/** Records of 10 bytes, each filled with one of these. */
function records (...fills) {
  const bytes = Buffer.alloc(fills.length * 14)
  let position = 0
  for (const fill of fills) position = layout.writeRecord(bytes, position, Buffer.alloc(10, fill))
  return bytes
}

test('a reader opens the part that a live writer has acknowledged, and the whole file otherwise', (t) => {
  const held = point(100, { acknowledged: 300, isHeld: true })
  t.deepEqual(visiblePart(held, 1000, 0), { size: 300, point: { ...held, offset: 300 } })
  t.deepEqual(visiblePart(held, 200, 0), { size: 200, point: { ...held, offset: 200 } })
  const unknown = point(100, { isHeld: true })
  t.deepEqual(visiblePart(unknown, 1000, 0), { size: 100, point: unknown }, 'what is durable, if the rest is not known')
  t.deepEqual(visiblePart(unknown, 1000, 200), { size: 200, point: { ...unknown, offset: 200 } }, 'or what it has shown before')
  const left = point(100, { acknowledged: 300 })
  t.deepEqual(visiblePart(left, 1000, 0), { size: 1000, point: left })
  t.deepEqual(visiblePart(left, 1000, 200), { size: 1000, point: { ...left, offset: 200 } }, 'what it has shown is not validated again')
  t.deepEqual(visiblePart(null, 1000, 0), { size: 1000, point: null })
  t.end()
})

test('a record that was shown as deleted may be there again, since a deletion that could not be made durable is taken back', (t) => {
  const before = records('a', '\0', 'c')
  t.ok(isStillThere(before, records('a', 'b', 'c'), THREE))
  t.notOk(isStillThere(before, records('x', 'b', 'c'), THREE), 'and nothing else may have changed')
  t.end()
})

test('what was shown may have been deleted, and nothing else may have changed', (t) => {
  const before = records('a', 'b')
  t.ok(isStillThere(before, records('a', '\0', 'c'), TWO), 'deleted')
  t.notOk(isStillThere(before, records('a', 'x', 'c'), TWO), 'another record of the same size')
  t.notOk(isStillThere(before, records('a', 'b').subarray(0, 20), TWO), 'less than before')
  const longer = Buffer.alloc(40)
  layout.writeRecord(longer, 0, Buffer.alloc(30, 'a'))
  t.notOk(isStillThere(before, longer, TWO), 'a record of another size')
  t.end()
})

/** @returns {Promise<boolean>} */
function compared (follower) {
  return new Promise((resolve, reject) => follower.compare('a', (err, isSame) => err ? reject(err) : resolve(isSame)))
}

test('a block that may have been rewritten while it was read is not taken as it was found if FILE.meta cannot be read', async (t) => {
  const io = /** @type {any} */ ({ metadata: { read: async () => { throw Object.assign(new Error('the disk fails'), { code: 'EIO' }) } } })
  const file = { ...FILE, io }
  const blocks = new BlockCache(file, { blockSize: 128, checksum: true, cacheSize: 0 })
  const follower = blocks.follower = new Follower(file, blocks, /** @type {any} */ ({}))
  follower.log.state = 'a'
  t.equal(await compared(follower).catch(err => err.code), 'EIO')
})

test('what a reader repeats because it has failed keeps the process alive only while somebody waits for it', async (t) => {
  /** @type {Array<{ isRef: boolean, unref: () => void }>} */
  let timers = []
  let failed = () => {}
  const clock = /** @type {any} */ ({
    setTimeout: () => {
      const timer = { isRef: true, unref: () => { timer.isRef = false } }
      timers.push(timer)
      setImmediate(() => failed())
      return timer
    },
    clearTimeout: (/** @type {any} */ timer) => { timers = timers.filter(other => other !== timer) }
  })
  const io = /** @type {any} */ ({ checkPath: async () => { throw Object.assign(new Error('too many open files'), { code: 'EMFILE' }) } })
  const file = { ...FILE, io }
  const blocks = new BlockCache(file, { blockSize: 128, checksum: true, cacheSize: 0 })
  const follower = new Follower(file, blocks, /** @type {any} */ ({ isClient: true, clock }))
  const hasFailed = () => new Promise(resolve => { failed = () => resolve(null) })
  follower.isHeld = true
  let failing = hasFailed()
  follower.poll()
  await failing
  t.deepEqual(timers.map(({ isRef }) => isRef), [true])
  for (const isHeld of [false, true, false]) {
    failing = hasFailed()
    follower.hold(isHeld)
    await failing
    t.deepEqual(timers.map(({ isRef }) => isRef), [isHeld])
  }
  follower.close()
  t.equal(timers.length, 0)
})
