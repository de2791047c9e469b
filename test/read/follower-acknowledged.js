'use strict'

// Readers beside a live writer see what that has acknowledged, and nothing else that is in
// the file: not what is being written, and not what will be rolled back.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')
const { createLog } = require('../../lib/log')
const { pathFile } = require('../../lib/storage/path-file')
const { settingsOf } = require('../../lib/options')
const { testFolder } = require('../helpers/folder')
const { watched, playedWriter, until, frame } = require('../helpers/followers')
const { numbered, numberOf, isIntact } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { event } = require('../helpers/reading')

const BLOCK_SIZE = 512

/** Frames of numbered records of 50 bytes: 54 bytes each. */
const frames = (...numbers) => Buffer.concat(numbers.map(number => frame(numbered(number, 50))))

/** A full block of numbered records of 50 bytes, nine of them. */
function blockFrom (first) {
  const block = Buffer.alloc(BLOCK_SIZE)
  const records = frames(...Array.from({ length: 9 }, (_, i) => first + i))
  records.copy(block)
  layout.seal(block, records.length)
  writeChecksum(block)
  return block
}

/** A live reader, and what it was given. */
function readerOf (t, file, options = {}) {
  const read = { numbers: [], polls: 0, ended: undefined }
  const log = watched(file, { beforePoll: async () => { read.polls++ } }, options)
  read.log = promises(log)
  pull(log.stream({ live: true, seqs: false }), pull.drain(value => {
    read.numbers.push(isIntact(value) ? numberOf(value) : 'not whole')
  }, (err) => { read.ended = err }))
  t.teardown(() => read.log.close())
  /** Resolves when it has looked at the file again, and finished that. */
  read.polled = async () => {
    await read.log.onReady()
    const { polls } = read
    await until(() => read.polls > polls + 1 || read.ended !== undefined)
    await event(setImmediate)
  }
  return read
}

const upTo = (last) => Array.from({ length: last }, (_, i) => i + 1)

tape('what is in the file behind the acknowledged offset is not shown, and shown when that moves', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  fs.writeFileSync(file, frames(1, 2, 3))
  await writer.write({ end: 0, acknowledged: 54 })
  const reader = readerOf(t, file)
  await reader.polled()
  t.deepEqual(reader.numbers, [1])
  fs.appendFileSync(file, frames(4))
  await reader.polled()
  t.deepEqual(reader.numbers, [1], 'nor when the file grows')
  writer.publish(162)
  await until(() => reader.numbers.length > 1)
  t.deepEqual(reader.numbers, [1, 2, 3], 'though nothing was written to the log')
  await writer.close()
  await until(() => reader.numbers.length > 3)
  t.deepEqual(reader.numbers, [1, 2, 3, 4], 'once the log is closed, all of it')
  t.equal(reader.ended, undefined)
})

tape('a reader that opens while several blocks are written shows none of them', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  fs.writeFileSync(file, Buffer.concat([blockFrom(1), blockFrom(10), blockFrom(19), frames(28)]))
  for (const [acknowledged, shown] of [[0, 0], [54, 1], [BLOCK_SIZE, 9], [BLOCK_SIZE + 108, 11], [3 * BLOCK_SIZE + 54, 28]]) {
    await writer.write({ end: 0, acknowledged })
    const reader = readerOf(t, file)
    await reader.polled()
    t.deepEqual(reader.numbers, upTo(shown), `up to ${acknowledged}`)
    t.equal(reader.log.log.stats().size, acknowledged)
  }
})

tape('a reader without a stream is woken by what is published, also after FILE.meta was replaced, or the log was closed', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  fs.writeFileSync(file, frames(1))
  const { log } = promises(FlumeLog(file, { readOnly: true }))
  t.teardown(() => promises(log).close())
  const isAt = (seq) => until(() => log.since.value === seq)
  await isAt(0)
  for (let number = 1; number < 9; number += 2) {
    await writer.write({ end: 0, acknowledged: number * 54 })
    fs.appendFileSync(file, frames(number + 1, number + 2))
    for (const last of [number + 1, number + 2]) {
      // long enough that all events before it have been told
      for (let i = 0; i < 20; i++) await event(setImmediate)
      writer.publish(last * 54)
      await isAt((last - 1) * 54)
    }
    if (number === 5) await writer.close()
  }
  t.equal(log.since.value, 8 * 54)
})

tape('an atomic batch whose first length is not written yet is waited for, not corrupt', async (t) => {
  const inFolder = testFolder(t)
  const batch = blockFrom(10)
  const unfinished = Buffer.from(batch).fill(0, 0, layout.LENGTH_SIZE)
  for (const isHeld of [true, false]) {
    const file = inFolder(isHeld ? 'held' : 'not held')
    const writer = playedWriter(t, file, BLOCK_SIZE)
    fs.writeFileSync(file, blockFrom(1))
    await writer.write({ end: BLOCK_SIZE, acknowledged: BLOCK_SIZE })
    // as where there are no locks
    if (!isHeld) writer.release()
    const live = readerOf(t, file)
    await until(() => live.numbers.length === 9)
    fs.appendFileSync(file, Buffer.concat([unfinished, blockFrom(19), frames(28)]))
    const late = readerOf(t, file)
    for (let i = 0; i < 8; i++) await Promise.all([live.polled(), late.polled()])
    for (const reader of [live, late]) t.deepEqual([reader.numbers, reader.ended], [upTo(9), undefined], isHeld ? 'held' : 'not held')
    const fd = fs.openSync(file, 'r+')
    fs.writeSync(fd, batch, 0, layout.LENGTH_SIZE, BLOCK_SIZE)
    fs.closeSync(fd)
    writer.publish(3 * BLOCK_SIZE + 54)
    for (const reader of [live, late]) {
      await until(() => reader.numbers.length === 28 || reader.ended)
      t.deepEqual([reader.numbers, reader.ended], [upTo(28), undefined], 'all of it is seen once it is there')
    }
  }
})

tape('records that are rolled back are never shown, and those of the same sizes in their place are', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  const start = blockFrom(1)
  fs.writeFileSync(file, start)
  await writer.write({ end: 0, acknowledged: BLOCK_SIZE })
  const reader = readerOf(t, file)
  await until(() => reader.numbers.length === 9)
  for (const [failed, stored] of [[frames(100, 101), frames(10, 11)], [Buffer.concat([blockFrom(100), blockFrom(109)]), Buffer.concat([blockFrom(10), blockFrom(19)])]]) {
    fs.truncateSync(file, BLOCK_SIZE)
    fs.appendFileSync(file, failed)
    await reader.polled()
    fs.truncateSync(file, BLOCK_SIZE)
    await reader.polled()
    fs.appendFileSync(file, stored)
    await reader.polled()
    t.deepEqual(reader.numbers, upTo(9), 'nothing is shown before it is acknowledged')
  }
  writer.publish(3 * BLOCK_SIZE)
  await until(() => reader.numbers.length === 27 || reader.ended)
  t.deepEqual([reader.numbers, reader.ended], [upTo(27), undefined])
})

tape('a failed append is never shown to a reader, and what follows is not skipped', async (t) => {
  const file = testFolder(t)('log')
  const { log, disk } = writerOn(file)
  await log.append(numbered(1, 50))
  const reader = readerOf(t, file)
  await until(() => reader.numbers.length === 1)
  for (let number = 2; number < 6; number++) {
    disk.failsAfterWriting = true
    const failure = log.append(numbered(100 + number, 50)).catch(err => err.code)
    t.equal(await failure, 'ENOSPC')
    await log.append(numbered(number, 50))
    await until(() => reader.numbers.length >= number || reader.ended)
  }
  t.deepEqual([reader.numbers, reader.ended], [upTo(5), undefined])
  await log.close()
})

tape('where there are no locks, an atomic batch in the middle of a block is shown when its first length is written', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  const bytes = Buffer.concat([blockFrom(1), blockFrom(10), frames(19)])
  const at = BLOCK_SIZE + 3 * 54
  const unfinished = Buffer.from(bytes).fill(0, at, at + layout.LENGTH_SIZE)
  fs.writeFileSync(file, unfinished.subarray(0, BLOCK_SIZE))
  await writer.write({ end: BLOCK_SIZE, acknowledged: BLOCK_SIZE })
  writer.release()
  const live = readerOf(t, file)
  await until(() => live.numbers.length === 9)
  fs.appendFileSync(file, unfinished.subarray(BLOCK_SIZE))
  const late = readerOf(t, file)
  for (let i = 0; i < 8; i++) await Promise.all([live.polled(), late.polled()])
  for (const reader of [live, late]) t.deepEqual([reader.numbers, reader.ended], [upTo(12), undefined], 'what is behind it is not shown either')
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, bytes, at, layout.LENGTH_SIZE, at)
  fs.closeSync(fd)
  for (const reader of [live, late]) await until(() => reader.numbers.length === 19)
  for (const reader of [live, late]) t.deepEqual([reader.numbers, reader.ended], [upTo(19), undefined])
})

tape('a reader that opens while an atomic batch is synced sees it once it is acknowledged', async (t) => {
  const file = testFolder(t)('log')
  const { log, disk } = writerOn(file)
  await log.append(numbered(1, 50))
  const late = []
  const appended = log.append([2, 3, 4].map(number => numbered(number, 50)), { atomic: true })
  disk.beforeSync = async () => {
    const reader = readerOf(t, file)
    late.push(reader)
    await reader.polled()
    t.deepEqual(reader.numbers, [1], 'not before')
  }
  await appended
  t.ok(late.length >= 2, `${late.length} readers`)
  for (const reader of late) {
    await until(() => reader.numbers.length === 4 || reader.ended)
    t.deepEqual([reader.numbers, reader.ended], [upTo(4), undefined], 'though nothing is appended after it')
  }
  disk.beforeSync = null
  await log.close()
})

tape('a reader that opens while a writer does shows nothing that is not acknowledged', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  fs.writeFileSync(file, blockFrom(1))
  let isWriting = false
  const values = []
  const log = watched(file, {
    // the reader has found no FILE.meta, and looks at the size next
    beforeSize: async () => {
      if (isWriting) return
      isWriting = true
      await writer.write({ end: 0, acknowledged: BLOCK_SIZE })
      fs.appendFileSync(file, Buffer.concat([blockFrom(100), blockFrom(109), frames(118)]))
    }
  })
  pull(log.stream({ live: true, seqs: false }), pull.drain(value => values.push(numberOf(value)), () => {}))
  await promises(log).onReady()
  t.equal(log.since.value, 8 * 54)
  fs.truncateSync(file, BLOCK_SIZE)
  fs.appendFileSync(file, frames(10))
  writer.publish(BLOCK_SIZE + 54)
  await until(() => values.length === 10)
  t.deepEqual(values, upTo(10))
  await promises(log).close()
})

tape('what a writer that died had written and not acknowledged is shown as far as recovery keeps it', async (t) => {
  const inFolder = testFolder(t)
  const torn = Buffer.from(blockFrom(19))
  torn[300] ^= 1
  const cases = {
    'up to a torn record': [frames(10, 11, 12).subarray(0, 130), 11],
    'up to a block with a length of 0': [Buffer.concat([Buffer.from(blockFrom(10)).fill(0, 0, 2), blockFrom(19)]), 9],
    'up to a block that is not whole, though others follow': [Buffer.concat([blockFrom(10), torn, blockFrom(28)]), 23]
  }
  for (const [title, [left, last]] of Object.entries(cases)) {
    const file = inFolder(title)
    const writer = playedWriter(t, file, BLOCK_SIZE)
    fs.writeFileSync(file, blockFrom(1))
    await writer.write({ end: BLOCK_SIZE, acknowledged: BLOCK_SIZE })
    const reader = readerOf(t, file, { validate: isIntact })
    await until(() => reader.numbers.length === 9)
    fs.appendFileSync(file, left)
    await reader.polled()
    t.deepEqual(reader.numbers, upTo(9), 'not while it is alive')
    writer.release()
    for (let i = 0; i < 8; i++) await reader.polled()
    t.deepEqual([reader.numbers, reader.ended], [upTo(last), undefined], title)
    const { log } = writerOn(file, { validate: isIntact })
    const cut = await log.onReady()
    t.equal(reader.log.log.stats().size, cut?.offset ?? BLOCK_SIZE, 'the next writer keeps the same')
    await log.append(numbered(last + 1, 50))
    await until(() => reader.numbers.length > last || reader.ended)
    t.deepEqual([reader.numbers, reader.ended], [upTo(last + 1), undefined], 'and what it appends is seen')
    await log.close()
  }
})

tape('writers that come and go, one after the other, are followed by one reader', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, '')
  const reader = readerOf(t, file)
  for (let life = 0; life < 5; life++) {
    const log = promises(FlumeLog(file, { blockSize: BLOCK_SIZE }))
    for (let i = 1; i <= 20; i++) await log.append(numbered(life * 20 + i, 50))
    if (life % 2 === 0) await until(() => reader.numbers.length === (life + 1) * 20 || reader.ended)
    await log.close()
  }
  await until(() => reader.numbers.length === 100 || reader.ended)
  t.deepEqual([reader.numbers, reader.ended], [upTo(100), undefined])
})

tape('records that were shown without a writer to be seen, and overwritten, are an error', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, frames(1, 2))
  const reader = readerOf(t, file)
  await until(() => reader.numbers.length === 2)
  fs.writeFileSync(file, frames(1, 9, 3))
  await until(() => reader.ended)
  t.equal(reader.ended.code, 'flumelog:corrupt', 'not records left out')
  t.match(reader.ended.message, /overwritten/)
  t.deepEqual(reader.numbers, [1, 2])
})

tape('a writer whose acknowledged offset is before what was shown has rolled that back: an error', async (t) => {
  const file = testFolder(t)('log')
  const writer = playedWriter(t, file, BLOCK_SIZE)
  fs.writeFileSync(file, frames(1, 2))
  const reader = readerOf(t, file)
  await until(() => reader.numbers.length === 2)
  await writer.write({ end: 0, acknowledged: 54 })
  fs.appendFileSync(file, frames(3))
  await until(() => reader.ended)
  t.equal(reader.ended.code, 'flumelog:corrupt')
})

/** A writer on a file that can fail after it has written, and whose syncs can be delayed. */
function writerOn (file, options = {}) {
  const made = pathFile(file, { readOnly: false, lock: true })
  const disk = { failsAfterWriting: false, beforeSync: null }
  const full = () => Object.assign(new Error('ENOSPC: made to fail'), { code: 'ENOSPC' })
  const failing = (write) => (offset, data, cb) => write(offset, data, (err) => {
    if (!disk.failsAfterWriting) return cb(err)
    disk.failsAfterWriting = false
    // a reader may look meanwhile
    setTimeout(cb, 5, full())
  })
  const log = createLog({
    ...made,
    write: failing(made.write),
    writeMany: failing(made.writeMany),
    sync: (cb) => (disk.beforeSync?.() ?? event(setImmediate)).then(() => made.sync(cb))
  }, settingsOf({ blockSize: BLOCK_SIZE, ...options }))
  return { log: promises(log), disk }
}
