'use strict'

// Readers beside a live writer see what that has acknowledged, and nothing else that is in
// the file: not what is being written, and not what will be rolled back.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { writeChecksum } = require('../../lib/format/checksum')
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
  const log = watched(file, async () => { read.polls++ }, options)
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
    const log = promises(FlumeLog(file, { blockSize: BLOCK_SIZE, validate: isIntact }))
    const cut = await log.onReady()
    t.equal(reader.log.log.stats().size, cut?.offset ?? BLOCK_SIZE, 'the next writer keeps the same')
    await log.append(numbered(last + 1, 50))
    await until(() => reader.numbers.length > last || reader.ended)
    t.deepEqual([reader.numbers, reader.ended], [upTo(last + 1), undefined], 'and what it appends is seen')
    await log.close()
  }
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
