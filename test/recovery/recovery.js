'use strict'

// Opening a log that was not closed: how much of it is read, what is changed, and what is
// reported.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { MetadataFile } = require('../../lib/storage/metadata-file')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { dataOf, tailOf } = require('../helpers/bytes')
const { ControlledFile } = require('../helpers/controlled-file')
const { promises } = require('../helpers/promises')
const { leaveMetadata } = require('../helpers/left-metadata')
const { makeHoles } = require('../helpers/holes')
const { deletionOf } = require('../../lib/format/deletions')
const { testFolder } = require('../helpers/folder')
const { collect } = require('../helpers/reading')

const bytesRead = (file) => file.reads.reduce((sum, { size }) => sum + size, 0)
const MIB = 1024 * 1024
const SYNC_BYTES = 2 * MIB

tape('opening after a crash reads a few times syncBytes, whatever the size of the log', async (t) => {
  for (const size of [4 * MIB, 40 * MIB]) {
    const file = new ControlledFile()
    const log = file.open({ syncBytes: SYNC_BYTES })
    await fill(log, size)
    const after = file.afterKill()
    await log.close()
    const again = after.open({ syncBytes: SYNC_BYTES })
    await again.onReady()
    // what is not durable, and as much behind the recovery point: to find the end, and to write it once more
    t.ok(bytesRead(after) < 6 * SYNC_BYTES, `${size / MIB} MiB: ${bytesRead(after)} bytes were read`)
    await again.close()
  }
})

tape('opening a log that was closed reads a few blocks', async (t) => {
  const { name } = new ControlledFile()
  const log = promises(FlumeLog(name))
  await fill(log, 20 * MIB)
  await log.close()
  const file = new ControlledFile(name)
  const again = file.open()
  await again.onReady()
  t.ok(bytesRead(file) <= 4 * 65536, `${bytesRead(file)} bytes were read`)
  await again.close()
})

tape('a codec that is not that of the log truncates nothing after a kill', async (t) => {
  for (const before of [[], ['closed', 'before']]) {
    const name = testFolder(t)
    const log = promises(FlumeLog(name('log'), { sync: 'never' }))
    for (const record of before) await log.append(record)
    if (before.length > 0) await log.sync()
    await log.append(['one', 'two', 'three'])
    // what a kill leaves
    for (const suffix of ['', '.meta']) fs.copyFileSync(name('log') + suffix, name('killed') + suffix)
    await log.close()
    const bytes = fs.readFileSync(name('killed'))
    const err = await promises(FlumeLog(name('killed'), { codec: 'json' })).onReady().then(() => null, err => err)
    t.equal(err?.code, 'flumelog:invalid')
    t.match(err.message, /the codec, or `validate`, refuses the record at offset \d+/)
    t.ok(fs.readFileSync(name('killed')).equals(bytes), 'the file is as it was')
    const again = promises(FlumeLog(name('killed')))
    t.deepEqual((await collect(again.log, { seqs: false })).map(String), [...before, 'one', 'two', 'three'])
    await again.close()
  }
})

tape('a log that lost all of its data in a crash starts again', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  const metadata = fs.readFileSync(file + '.meta')
  await log.close()
  fs.writeFileSync(file, Buffer.alloc(200000))
  fs.rmSync(file + '.meta')
  t.equal(await promises(FlumeLog(file)).onReady().catch(err => err.code), 'flumelog:not-a-log', 'without FILE.meta it could be any file')
  fs.writeFileSync(file + '.meta', metadata)
  const again = promises(FlumeLog(file))
  t.deepEqual(await again.onReady(), { offset: 0, bytes: 200000, filename: null }, 'zeros are not worth keeping')
  t.equal(await again.append('a new one'), 0)
  await again.close()
})

tape('truncated bytes are kept in a file next to the log, and onReady and stats report them', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  await log.append('two')
  await log.close()
  const whole = fs.statSync(file).size
  const torn = Buffer.from([100, 0, 1, 2, 3])
  fs.appendFileSync(file, torn)

  const again = promises(FlumeLog(file))
  const cut = await again.onReady()
  t.deepEqual(cut, { offset: whole, bytes: torn.length, filename: `${file}.cut-${whole}` })
  t.deepEqual(again.log.stats().cut, cut)
  t.deepEqual(fs.readFileSync(cut.filename), torn, 'the bytes are in that file')
  t.equal(fs.statSync(file).size, whole)
  t.equal(String(await again.get(7)), 'two')
  await again.append('three')
  await again.close()

  fs.appendFileSync(file, Buffer.from([1]))
  const third = promises(FlumeLog(file))
  t.equal((await third.onReady()).bytes, 1, 'it can happen again')
  await third.close()
  fs.truncateSync(file, whole)
  fs.appendFileSync(file, torn)
  const fourth = promises(FlumeLog(file))
  t.equal((await fourth.onReady()).filename, `${file}.cut-${whole}.2`, 'and an earlier cut is not overwritten')
  await fourth.close()
})

tape('opening a log read-only does not change it', async (t) => {
  const folder = testFolder(t)
  const file = folder('log')
  const log = promises(FlumeLog(file, { blockSize: 256 }))
  for (let i = 0; i < 50; i++) await log.append(`record number ${i}`)
  await log.close()
  fs.appendFileSync(file, Buffer.from([100, 0, 1, 2, 3]))
  fs.writeFileSync(file + '.meta', '00000000 {"offset":0}\n')
  const before = contents(folder('.'))

  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  t.equal(String(await reader.get(reader.log.since.value)), 'record number 49')
  t.equal(await reader.append('no').catch(err => err.code), 'flumelog:read-only')
  t.equal(await reader.del(0).catch(err => err.code), 'flumelog:read-only')
  await reader.sync()
  await reader.close()
  t.deepEqual(contents(folder('.')), before)
})

tape('an interrupted deletion is completed on opening, and visible to read-only logs', async (t) => {
  const file = new ControlledFile()
  const log = file.open({ blockSize: 1024, sync: 'always' })
  const seqs = []
  for (let i = 1; i < 100; i++) seqs.push(await log.append(Buffer.alloc(200, i)))
  await log.sync()
  file.held.add('write')
  const deleted = log.del([seqs[4], seqs[5]])
  const write = await file.next('write')
  const after = file.afterKill()
  t.equal(after.metadata.deletions.length, 1, 'it was recorded')
  for (const options of [{ readOnly: true }, {}]) {
    const again = after.open(options)
    for (const [i, seq] of seqs.entries()) {
      const found = await again.get(seq).catch(err => err.code)
      const expected = i === 4 || i === 5 ? 'flumelog:deleted' : Buffer.alloc(200, i + 1)
      if (String(found) !== String(expected)) t.fail(`record ${i}: ${found}`)
    }
    await again.close()
  }
  file.held.clear()
  write.finish()
  await deleted
  await log.close()
})

tape('a record of zeros behind the recovery point is a torn one, and what follows it is not kept', async (t) => {
  for (const [sizes, hole] of [[[4090, 4096, 100], [4096, 8192]], [[506, 512, 100], [512, 1024]]]) {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file, { sync: 'never' }))
    for (const size of sizes) await log.append(Buffer.alloc(size, 1))
    const bytes = fs.readFileSync(file)
    const metadata = fs.readFileSync(file + '.meta')
    await log.close()
    fs.writeFileSync(file, bytes.fill(0, ...hole))
    fs.writeFileSync(file + '.meta', metadata)
    const again = promises(FlumeLog(file))
    const cut = await again.onReady()
    t.equal(cut.offset, sizes[0] + 4)
    t.deepEqual((await collect(again.log)).map(({ value }) => value.length), sizes.slice(0, 1))
    t.ok(fs.readFileSync(cut.filename).equals(bytes.subarray(cut.offset)), 'it is kept')
    await again.close()
  }
})

tape('a closed log keeps records that the codec, or validate, refuses', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append(['not JSON', 'nor this'])
  await log.close()
  const bytes = fs.readFileSync(file)
  for (const options of [{ codec: { encode: JSON.stringify, decode: JSON.parse } }, { validate: () => false }]) {
    for (const readOnly of [true, false]) {
      const again = promises(FlumeLog(file, { ...options, readOnly }))
      t.equal(await again.onReady(), null)
      t.equal(again.log.since.value, 12)
      await again.close()
    }
  }
  t.ok(fs.readFileSync(file).equals(bytes))
})

tape('zeros at the end of the file are cut off however many there are, and not kept', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file, { blockSize: 64 }))
  await log.append(['one', 'two'])
  await log.close()
  for (const size of [14 + 5, 64, 65536, 10 * MIB + 3, 2 * 1024 * MIB]) {
    fs.truncateSync(file, size)
    const again = promises(FlumeLog(file))
    t.deepEqual(await again.onReady(), { offset: 14, bytes: size - 14, filename: null }, `${size} bytes`)
    t.equal((await collect(again.log)).length, 2)
    await again.close()
    t.equal(fs.statSync(file).size, 14)
  }
})

tape('of trailing bytes between zeros, the zeros are kept as holes', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  const metadata = fs.readFileSync(file + '.meta')
  await log.close()
  fs.truncateSync(file, 100 * MIB)
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.from('torn'), 0, 4, 50 * MIB)
  fs.closeSync(fd)
  fs.writeFileSync(file + '.meta', metadata)
  const again = promises(FlumeLog(file))
  const cut = await again.onReady()
  t.deepEqual(cut, { offset: 7, bytes: 100 * MIB - 7, filename: `${file}.cut-7` })
  await again.close()
  const kept = fs.readFileSync(cut.filename)
  t.equal(kept.length, 50 * MIB + 65536 - 7, 'up to the end of the last block that has data')
  t.equal(kept.toString('latin1', 50 * MIB - 7, 50 * MIB - 3), 'torn')
  if (process.platform === 'linux') t.ok(fs.statSync(cut.filename).blocks * 512 < 8 * MIB, 'it takes little room')
})

tape('an interrupted deletion in the metadata of another log is not completed in this one', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append([dataOf(100, 1), dataOf(100, 2)])
  await log.close()
  const bytes = fs.readFileSync(file)
  const before = tailOf([dataOf(100, 3), dataOf(100, 4)])
  const after = tailOf([Buffer.alloc(100), dataOf(100, 4)])
  for (const [current, isDone] of [[bytes, false], [before, true], [Buffer.concat([after.subarray(0, 20), before.subarray(20)]), true]]) {
    fs.writeFileSync(file, current)
    await leaveMetadata(file, before, { deletions: [deletionOf(0, before, [0], null)] })
    const again = promises(FlumeLog(file))
    await again.onReady()
    t.ok(fs.readFileSync(file).equals(isDone ? after : current))
    t.equal((await collect(again.log)).length, isDone ? 1 : 2)
    await again.close()
  }
})

tape('a deletion of records that a power cut has taken does not bring their bytes back', async (t) => {
  const file = testFolder(t)('log')
  const records = [dataOf(100, 1), dataOf(100, 2), dataOf(100, 3)]
  const before = tailOf(records)
  const [second, third] = [1, 2].map(count => tailOf(records.slice(0, count)).length)
  // the two records follow each other, so that one patch has both
  fs.writeFileSync(file, before.subarray(0, third))
  await leaveMetadata(file, before, { end: 0, deletions: [deletionOf(0, before, [second, third], null)] })
  const log = promises(FlumeLog(file))
  await log.onReady()
  t.equal(fs.statSync(file).size, third, 'the file ends with the log')
  t.equal(parseMetadata(fs.readFileSync(file + '.meta', 'latin1')).metadata.end, third, 'and the recovery point is there')
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  t.equal(await log.append(dataOf(50, 4)), third)
  const found = await collect(reader.log, { live: true, limit: 2 })
  t.deepEqual(found.map(({ seq }) => seq), [0, third], 'a reader that was open finds what is appended')
  await reader.close()
  await log.close()
})

async function fill (log, size) {
  const value = Buffer.alloc(1000, 1)
  for (let done = 0; done < size; done += 500 * 1000) await log.append(Array.from({ length: 500 }, () => value))
}

function contents (folder) {
  return fs.readdirSync(folder).sort().map(name => [name, fs.readFileSync(path.join(folder, name)).toString('hex')])
}

tape('deletions that a killed writer has recorded are not repeated again, if the next one could not say that it had done so', async (t) => {
  const inFolder = testFolder(t)
  const options = { blockSize: 512, sync: 'always' }
  const killed = (from, to) => { for (const end of ['', '.meta']) fs.copyFileSync(inFolder(from + end), inFolder(to + end)) }
  const one = promises(FlumeLog(inFolder('one'), options))
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await one.append(Buffer.alloc(60, i + 1)))
  const second = seqs.filter(seq => seq >= 512 && seq < 1024)
  for (const seq of [...seqs.slice(0, 6), second[0]]) await one.del(seq)
  killed('one', 'two')
  await one.close()

  const { replace } = MetadataFile.prototype
  t.teardown(() => { MetadataFile.prototype.replace = replace })
  MetadataFile.prototype.replace = async () => {
    MetadataFile.prototype.replace = replace
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
  }
  const two = promises(FlumeLog(inFolder('two'), options))
  await two.del(second)
  await two.append(Buffer.alloc(60, 100))
  await makeHoles(two.log)
  await two.del(seqs.filter(seq => seq >= 1024))
  await two.append(Buffer.alloc(60, 101))
  await makeHoles(two.log)
  killed('two', 'three')
  const expected = await collect(two.log)
  await two.close()

  const three = promises(FlumeLog(inFolder('three'), options))
  t.deepEqual(await collect(three.log), expected)
  await three.close()
})
