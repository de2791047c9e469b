'use strict'

// The start of a log that was trimmed, found without reading what is gone.

const tape = require('tape')
const fs = require('fs')
const FlumeLog = require('../..')
const { holeOf } = require('../../lib/format/hole')
const { findStart } = require('../../lib/recovery/find-start')
const { verify } = require('../../lib/maintenance/verify')
const maintenance = require('../../maintenance')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { makeLog, overwrite, readLog } = require('../helpers/logs')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { randomFrom } = require('../helpers/random')
const { countedFile, openCounted, writeTrimmed } = require('../helpers/trimmed')

const TB = 1024 ** 4
const text = (i) => String(i).padStart(8, '0') + 'x'.repeat(992)

/** 8 MB of records in blocks of 64 KiB, at an offset. */
async function makeTrimmed (file, base, count = 8000) {
  await makeLog(`${file}-made`, Array.from({ length: count }, (_, i) => text(i)))
  writeTrimmed(file, fs.readFileSync(`${file}-made`), 65536, base)
}

/** What it takes to open, read, search and verify a log. */
async function readAll (file, options) {
  const { log, count } = openCounted(file, options)
  const { onReady, getPrevious, search, close } = promises(log)
  await onReady()
  const opening = { ...count }
  const seqs = await collect(log, { values: false, cache: false })
  const first = await collect(log, { limit: 1 })
  const last = await collect(log, { limit: 1, reverse: true })
  const found = await search(value => Number(value.toString('latin1', 0, 8)) - 5000)
  const before = await getPrevious(seqs[1])
  const sum = { start: log.start, count: seqs.length, first, last, found, before }
  const { start } = log.stats()
  await close()
  const { file: made, count: verifying } = countedFile(file)
  const report = await verify(made)
  return { opening, reading: count, verifying, report, start, sum }
}

tape('a log of which 1 TB was trimmed takes as many reads as one of which nothing was, and a few to find its start', async (t) => {
  const file = testFolder(t)
  await makeTrimmed(file('small'), 0)
  await makeTrimmed(file('large'), TB)
  for (const options of [{ readOnly: true }, { readOnly: false }]) {
    const small = await readAll(file('small'), options)
    const large = await readAll(file('large'), options)
    const moved = (record) => record && { ...record, seq: record.seq + TB }
    t.equal(large.start, TB)
    t.deepEqual(large.sum, {
      start: TB, count: 8000, first: small.sum.first.map(moved), last: small.sum.last.map(moved), found: moved(small.sum.found), before: moved(small.sum.before)
    })
    t.ok(large.opening.reads - small.opening.reads < 60, `opening: ${small.opening.reads} and ${large.opening.reads} reads`)
    t.equal(large.reading.reads - large.opening.reads, small.reading.reads - small.opening.reads, `reading: ${large.reading.reads - large.opening.reads} reads`)
    t.ok(large.verifying.reads - small.verifying.reads < 60, `verify: ${small.verifying.reads} and ${large.verifying.reads} reads`)
    t.deepEqual(large.report, { ...small.report, start: TB, size: small.report.size + TB, end: small.report.end + TB })
    t.ok(large.report.valid)
  }
})

tape('a backup of a log that was trimmed keeps all offsets, and takes no more space', async (t) => {
  const file = testFolder(t)
  await makeTrimmed(file('log'), TB, 200)
  const log = await open(file('log'), { readOnly: true })
  await log.backup(file('copy'))
  await log.close()
  t.equal(fs.statSync(file('copy')).size, fs.statSync(file('log')).size)
  t.ok(fs.statSync(file('copy')).blocks * 512 < 1024 * 1024)
  t.deepEqual(await readLog(file('copy')), await readLog(file('log')))
})

tape('a log that was trimmed is repaired without what is gone', async (t) => {
  const file = testFolder(t)
  await makeTrimmed(file('log'), TB, 200)
  overwrite(file('log'), TB + 70000, 'corrupt')
  const { report, file: repaired } = await maintenance.repair(file('log'))
  t.deepEqual(report.ranges.map(({ start }) => start), [TB + 65536])
  const after = await maintenance.verify(repaired)
  t.deepEqual([after.valid, after.start, after.size], [true, TB, report.size])
})

for (const blockSize of [32, 4096, 65536]) {
  tape(`the start is the first block that is not zeros, wherever that is, with blocks of ${blockSize} bytes`, async (t) => {
    const wrong = []
    for (let blocks = 3; blocks < 40; blocks++) {
      // with `blocks`, all of it was trimmed, and the block in which it ends is empty
      for (let start = 2; start <= blocks; start++) {
        const bytes = Buffer.alloc(start < blocks ? blocks * blockSize - 10 : blocks * blockSize, 1)
        holeOf(blockSize, true).copy(bytes)
        bytes.fill(0, blockSize, start * blockSize)
        const found = await findStart(async (offset, size) => bytes.subarray(offset, offset + size), bytes.length, blockSize)
        if (found !== start * blockSize) wrong.push({ blocks, start, found })
      }
    }
    t.deepEqual(wrong, [])
  })
}

tape('corrupt blocks of zeros further on are not taken for the start', async (t) => {
  const random = randomFrom(1)
  const blockSize = 64
  for (let run = 0; run < 500; run++) {
    const blocks = 20 + random.below(200)
    const start = 2 + random.below(blocks / 2)
    const bytes = Buffer.alloc(blocks * blockSize - 10, 1)
    holeOf(blockSize, true).copy(bytes)
    bytes.fill(0, blockSize, start * blockSize)
    const corrupt = start + 1 + random.below(blocks - start - 2)
    bytes.fill(0, corrupt * blockSize, Math.min(blocks - 1, corrupt + random.below(3)) * blockSize)
    const found = await findStart(async (offset, size) => bytes.subarray(offset, offset + size), bytes.length, blockSize)
    if (found !== start * blockSize) return t.fail(`${found / blockSize} of ${blocks} is not ${start}; zeros from ${corrupt} on`)
  }
  t.pass('500 runs')
})

tape('a log of which the first block is a hole, and which was not trimmed, starts at 0', async (t) => {
  const file = testFolder(t)('log')
  const seqs = await makeLog(file, Array.from({ length: 200 }, (_, i) => text(i)))
  const hole = holeOf(65536, true)
  overwrite(file, 0, hole)
  const log = promises(FlumeLog(file))
  await log.onReady()
  t.equal(log.log.start, 0)
  t.equal(await codeOf(log.get(0)), 'flumelog:deleted')
  t.deepEqual(await collect(log.log, { values: false }), seqs.filter(seq => seq >= 65536))
  await log.close()
})
