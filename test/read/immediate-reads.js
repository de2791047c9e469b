'use strict'

// Reads that are answered before their calls return: every way of reading gets everything, on a flat stack.

const fs = require('fs')
const test = require('tape')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { wrap } = require('../../promises')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect, event, frames } = require('../helpers/reading')

const COUNT = 5000
const valueOf = (i) => Buffer.from(`record ${i}`)

async function fileOf (count) {
  const file = newFile()
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  await log.append(Array.from({ length: count }, (_, i) => valueOf(i)))
  await log.close()
  return file
}

/** A log whose reads are answered before their calls return, as small ones of the page cache are. */
function openImmediate (name, options) {
  const settings = settingsOf(options)
  const readNow = (offset, buffers, cb) => {
    const fd = fs.openSync(name, 'r')
    fs.readvSync(fd, buffers, offset)
    fs.closeSync(fd)
    cb(null, buffers)
  }
  return createLog(Object.assign(pathFile(name, settings), {
    readSmall: (offset, size, isShared, cb) => readNow(offset, [Buffer.alloc(size)], (err, [data]) => cb(err, data)),
    readMany: (offset, sizes, into, cb) => readNow(offset, into ?? sizes.map(size => Buffer.alloc(size)), cb)
  }), settings)
}

for (const cacheSize of [0, 1 << 20]) {
  test(`streams, scans, gets and searches whose reads are answered at once are complete, with a cache of ${cacheSize} bytes`, async (t) => {
    const log = promises(openImmediate(await fileOf(COUNT), { blockSize: 64, cacheSize }))
    const expected = Array.from({ length: COUNT }, (_, i) => String(valueOf(i)))
    for (const reverse of [false, true]) {
      for (const cache of [false, true]) {
        const all = (await collect(log.log, { seqs: false, reverse, cache })).map(String)
        t.deepEqual(reverse ? all.reverse() : all, expected, JSON.stringify({ reverse, cache }))
      }
      const scanned = []
      await event(resolve => log.log.scan({ reverse, reuse: true }, (block, start, end) => { scanned.push(block.toString('utf8', start, end)) }, resolve))
      t.deepEqual(reverse ? scanned.reverse() : scanned, expected, 'scan')
    }

    const seqs = await collect(log.log, { values: false })
    for (const i of [0, 1, 2500, COUNT - 1]) t.equal(String(await log.get(seqs[i])), expected[i])
    t.equal((await log.search((value, seq) => seq - seqs[1234])).seq, seqs[1234])
    let previous = log.log.stats().size
    for (let i = COUNT - 1; i >= 0; i--) previous = (await log.getPrevious(previous)).seq
    t.equal(previous, 0, 'getPrevious goes back to the first record')

    const items = []
    for await (const value of wrap(log.log).stream({ seqs: false })) items.push(String(value))
    t.deepEqual(items, expected, 'for await')
    await log.close()
  })
}

test('a reader whose reads are answered at once may read from within its callback, on a flat stack', async (t) => {
  const log = promises(openImmediate(await fileOf(COUNT), { blockSize: 64, cacheSize: 0 }))
  let deepest = 0
  let count = 0
  const read = log.log.stream()
  await event(resolve => (function next () {
    read(null, (end) => {
      if (end) return resolve()
      if (++count % 100 === 0) deepest = Math.max(deepest, frames())
      next()
    })
  })())
  t.equal(count, COUNT)
  t.ok(deepest < 1500, `${deepest} frames`)
  await log.close()
})

test('a live reader whose reads are answered at once is given what is appended', async (t) => {
  const log = wrap(openImmediate(await fileOf(10), { blockSize: 64 }))
  const items = []
  for await (const value of log.stream({ live: true, seqs: false })) {
    items.push(String(value))
    if (items.length === 30) break
    if (items.length >= 10) await log.append(valueOf(items.length))
  }
  t.deepEqual(items, Array.from({ length: 30 }, (_, i) => String(valueOf(i))))
  await log.close()
})

test('what a reader throws when its read is answered at once reaches the reader, and the next read is answered', async (t) => {
  const log = promises(openImmediate(await fileOf(10), { blockSize: 64, cacheSize: 0 }))
  await log.onReady()
  const read = log.log.stream({ seqs: false })
  const values = []
  for (let i = 0; i < 10; i++) {
    t.throws(() => read(null, (end, value) => {
      values.push(String(value))
      throw new Error('thrown by the reader')
    }), /thrown by the reader/)
  }
  t.deepEqual(values, Array.from({ length: 10 }, (_, i) => String(valueOf(i))))
  t.equal(await event(resolve => read(null, resolve)), true)
  await log.close()
})
