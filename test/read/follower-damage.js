'use strict'

// Readers beside a writer when the file itself goes wrong: a block is corrupt, the file
// becomes shorter, or another takes its name.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { testFolder } = require('../helpers/folder')
const { writerOf, follow, isAt } = require('../helpers/followers')
const { numberOf } = require('../helpers/numbered')
const { promises } = require('../helpers/promises')
const { collect, codeOf, event } = require('../helpers/reading')

tape('a corrupt block is an error for a follower, or is skipped with skipCorrupt', async (t) => {
  const file = testFolder(t)('log')
  const whole = testFolder(t)('whole')
  const writer = writerOf(whole, { blockSize: 512 }, 1, () => 50)
  await writer.append(60)
  await writer.close()
  const bytes = fs.readFileSync(whole)
  bytes[3 * 512 + 200] ^= 1
  fs.writeFileSync(file, bytes.subarray(0, 700))
  const readers = [{}, { skipCorrupt: true }].map((options) => {
    const log = promises(FlumeLog(file, { readOnly: true }))
    const reader = { log, values: [], skipped: [], ended: undefined, done: () => {} }
    reader.over = event(resolve => { reader.done = resolve })
    const onSkip = ({ start, end, error }) => reader.skipped.push([start, end, error.code])
    pull(log.log.stream({ live: true, seqs: false, onSkip, ...options }), pull.drain((value) => {
      reader.values.push(numberOf(value))
      if (numberOf(value) === 60) reader.done()
    }, reader.done))
    return reader
  })
  await Promise.all(readers.map(({ log }) => log.onReady()))
  fs.appendFileSync(file, bytes.subarray(700))
  const [failing, skipping] = readers
  const err = await failing.over
  t.equal(err?.code, 'flumelog:corrupt', 'the stream ends with an error')
  t.equal(err?.block, 3, 'that has the block')
  const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
  t.deepEqual(failing.values, numbers(1, 27), 'after all that is in front of it')
  await skipping.over
  t.deepEqual(skipping.skipped, [[3 * 512, 4 * 512, 'flumelog:corrupt']], 'with skipCorrupt it reports the block')
  t.deepEqual(skipping.values, [...numbers(1, 27), ...numbers(37, 60)], 'and gives all others')
  for (const { log } of readers) await log.close()
})

tape('when FILE.meta becomes corrupt, the streams of a reader end with an error', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 512 })
  await writer.append(60)
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  const over = event(resolve => pull(reader.log.stream({ live: true }), pull.onEnd(resolve)))
  // its next line, as a disk might give it
  const { size } = parseMetadata(fs.readFileSync(file + '.meta', 'latin1'))
  const line = Buffer.from('00000000 {"start":512}\n')
  const fd = fs.openSync(file + '.meta', 'r+')
  fs.writeSync(fd, line, 0, line.length, size)
  fs.closeSync(fd)
  const { code, filename, offset } = /** @type {any} */ (await over)
  t.deepEqual([code, filename, offset], ['flumelog:corrupt', file + '.meta', size])
  await reader.close()
  await writer.close()
})

tape('a truncated file is an error for its follower', async (t) => {
  const file = testFolder(t)('log')
  for (const length of [0, 100, 5000]) {
    fs.rmSync(file, { force: true })
    const writer = writerOf(file, { blockSize: 1024 })
    while (writer.number < 200) await writer.append(10)
    await writer.close()
    const follower = follow(t, file)
    await isAt(200)(follower)
    fs.truncateSync(file, length)
    const { code, message } = await follower.message(({ what }) => what === 'ended')
    t.equal(code, 'flumelog:corrupt', `to ${length} bytes: the stream ends with an error`)
    t.ok(message.includes(file) && message.includes(String(length)), 'that names the file and its length')
    follower.send({ close: true })
    t.notOk((await follower.message(({ what }) => what === 'closed')).code, 'and the process goes on')
  }
})

tape('a block that is no longer in the file is an error for its reader', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, { blockSize: 1024 })
  while (writer.number < 200) await writer.append(10)
  await writer.close()
  const reader = promises(FlumeLog(file, { readOnly: true, cacheSize: 0 }))
  await reader.onReady()
  fs.truncateSync(file, 1500)
  t.ok(['EPARTIALREAD', 'flumelog:corrupt'].includes(await codeOf(collect(reader.log))), 'for a stream')
  t.ok(['EPARTIALREAD', 'flumelog:corrupt'].includes(await codeOf(reader.get(2048))), 'for get')
  await reader.close()
})

tape('a log whose file is replaced, deleted or renamed ends its readers with flumelog:replaced', async (t) => {
  const inFolder = testFolder(t)
  const ways = {
    'replaced by another file': (file) => {
      fs.copyFileSync(file, file + '.copy')
      fs.renameSync(file + '.copy', file)
    },
    deleted: (file) => fs.unlinkSync(file),
    'deleted, by renaming it': (file) => fs.renameSync(file, file + '.old')
  }
  for (const [how, replace] of Object.entries(ways)) {
    for (const isOpen of [true, false]) {
      const file = inFolder(`${how}, ${isOpen}`)
      const writer = writerOf(file, {})
      await writer.append(3)
      if (!isOpen) await writer.close()
      const follower = follow(t, file)
      await isAt(3)(follower)
      replace(file)
      const { code, message } = await follower.message(({ what }) => what === 'ended')
      t.equal(code, 'flumelog:replaced', `${how}, ${isOpen ? 'beside its writer' : 'when it is closed'}`)
      t.ok(message.includes(file) && message.includes(how.split(',')[0]), message)
      follower.send({ close: true })
      t.notOk((await follower.message(({ what }) => what === 'closed')).code, 'and the process goes on')
      if (isOpen) await writer.close().catch(() => {})
    }
  }
})

tape('a reader without a stream is told that its file was replaced, too', async (t) => {
  const file = testFolder(t)('log')
  const writer = writerOf(file, {})
  await writer.append(1)
  await writer.close()
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  fs.copyFileSync(file, file + '.copy')
  fs.renameSync(file + '.copy', file)
  let code
  do {
    await event(setImmediate)
    code = await codeOf(reader.get(0))
  } while (code.startsWith('no error'))
  t.equal(code, 'flumelog:replaced')
  await reader.close()
})
