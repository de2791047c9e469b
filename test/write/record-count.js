'use strict'

// stats().records against a count by reading, whatever happens to the log: it is right, or null. Only a deletion by another program
// goes unnoticed.

const fs = require('fs')
const tape = require('tape')
const fc = require('fast-check')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const layout = require('../../lib/format/layout')
const { createLog } = require('../../lib/log')
const { pathFile } = require('../../lib/storage/path-file')
const { parseMetadata } = require('../../lib/storage/metadata-text')
const { settingsOf } = require('../../lib/options')
const { countRecords } = require('../../lib/recovery/count-records')
const { Disk } = require('../helpers/disk')
const { part } = require('../helpers/part')
const { testFolder } = require('../helpers/folder')
const { frame } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const RUNS = Number(process.env.RUNS ?? (thorough ? 40 : 20))
const BLOCK_SIZE = 256

const size = fc.integer({ min: 1, max: 100 })
const place = part(0, 0.999)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append'), sizes: fc.array(size, { maxLength: 8 }), sync: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('atomic'), sizes: fc.array(size, { minLength: 1, maxLength: 2 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete'), places: fc.array(place, { minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('reopen', 'kill', 'sync') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('foreign append', 'copy', 'tear'), place }) }
)

tape('stats().records is what a reader counts, or null after another program has changed the log', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const inFolder = testFolder(t)
  const seen = { known: 0, unknown: 0 }
  let lives = 0
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 25 }), steps => live(name => inFolder(`${++lives}-${name}`), steps, seen)), { numRuns: RUNS, seed: SEED })
  t.ok(seen.known > 2 * seen.unknown, `${seen.known} times known, ${seen.unknown} times not`)
})

async function live (newFile, steps, seen) {
  let file = newFile('log')
  let log = open(file)
  let isKnown = true
  let seqs = []
  const check = async () => {
    await log.onReady()
    const count = (await valuesOf(log)).length
    const { records } = log.log.stats()
    if (records !== null && records !== count) throw new Error(`stats() counts ${records} records, and there are ${count}`)
    if (records === null && isKnown) throw new Error('the number is not known any more')
    seen[records === null ? 'unknown' : 'known']++
    isKnown = records !== null
  }
  const close = async () => {
    await log.close()
    if (fs.existsSync(file + '.meta.new')) throw new Error('a file is left')
  }
  for (const step of steps) {
    await log.onReady()
    if (step.do === 'append') {
      for (const size of step.sizes) seqs.push(await log.append(Buffer.alloc(size, 1), { sync: step.sync }))
    } else if (step.do === 'atomic') {
      seqs.push(...await log.append(step.sizes.map(size => Buffer.alloc(size, 2)), { atomic: true }))
    } else if (step.do === 'delete' && seqs.length > 0) {
      await log.del(step.places.map(place => seqs[Math.floor(place * seqs.length)]))
    } else if (step.do === 'sync') {
      await log.sync()
    } else if (step.do === 'reopen') {
      await close()
      log = open(file)
    } else if (step.do === 'kill') {
      // what a process that is killed now leaves
      const left = newFile('left')
      for (const suffix of ['', '.meta']) if (fs.existsSync(file + suffix)) fs.cpSync(file + suffix, left + suffix)
      await log.close()
      file = left
      log = open(file)
    } else if (['foreign append', 'copy', 'tear'].includes(step.do)) {
      await close()
      if (step.do !== 'copy') isKnown = false
      if (step.do === 'foreign append') fs.appendFileSync(file, frameThatFits(fs.statSync(file).size))
      else if (step.do === 'tear') fs.truncateSync(file, tornSize(step.place * fs.statSync(file).size))
      else {
        fs.cpSync(file, file + '.copy')
        fs.renameSync(file + '.copy', file)
      }
      log = open(file)
    }
    await check()
    seqs = seqs.filter(seq => seq <= log.log.since.value)
  }
  await log.close()
}

tape('a log of up to 64 KiB is counted when it is opened, whichever program has written it', async (t) => {
  const file = testFolder(t)('log')
  fs.writeFileSync(file, Buffer.concat(Array.from({ length: 500 }, () => frame(Buffer.alloc(50, 1)))))
  const log = promises(FlumeLog(file))
  await log.onReady()
  t.equal(count(log), 500)
  await log.append(['a', 'b'])
  await log.del(0)
  t.equal(count(log), 501)
  await log.close()
})

tape('the number of records of a larger log is kept in FILE.meta, and opening reads no more of the log for that', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append(Array.from({ length: 50_000 }, (_, i) => `${i} `.padEnd(100, '.')))
  await log.del([0, 104, 208])
  t.equal(count(log), 49_997)
  await log.close()
  const { mtimeMs } = fs.statSync(file + '.meta')
  const again = promises(FlumeLog(file))
  await again.onReady()
  t.equal(count(again), 49_997)
  t.equal(again.log.stats().cache.misses, 0)
  await again.close()
  t.equal(fs.statSync(file + '.meta').mtimeMs, mtimeMs, 'what is not changed stays')
})

tape('what is not known is not kept', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append(Array.from({ length: 50_000 }, (_, i) => `${i} `.padEnd(100 + i % 50, '.')))
  await log.close()
  fs.rmSync(file + '.meta')
  const again = promises(FlumeLog(file))
  await again.onReady()
  t.equal(count(again), null)
  await again.append('x')
  t.equal(count(again), null)
  await again.close()
  t.equal(parseMetadata(fs.readFileSync(file + '.meta', 'latin1')).metadata.records, null)
})

tape('the number is known after the space of a closed log was reclaimed, too, whether it is closed then or its process is killed', async (t) => {
  const open = async (disk) => {
    const log = promises(createLog(disk.file('log'), { ...settingsOf({ blockSize: 16384 }), smallLog: 0 }))
    await log.onReady()
    return log
  }
  const disk = new Disk({ pageSize: 512 })
  const log = await open(disk)
  for (let i = 0; i < 40; i++) await log.append(Buffer.alloc(4000, 1))
  await log.del({ gte: 16384, lt: 3 * 16384 })
  await log.close()
  for (const [mustClose, mustFail] of [[true, false], [false, false], [true, true]]) {
    const copy = disk.afterKill()
    const reclaimed = await open(copy)
    const { records } = reclaimed.log.stats()
    t.ok(records > 0)
    // a disk may be too full for it
    if (mustFail) copy.fateOf = (kind) => ['metadata.append', 'metadata.replace'].includes(kind) ? 'fail' : undefined
    await reclaimed.reclaim()
    if (mustClose) await reclaimed.close()
    const again = await open(copy.afterKill())
    t.equal(again.log.stats().records, records)
    await again.close()
  }
})

tape('a trim whose fsync fails is counted once', async (t) => {
  const disk = new Disk({ pageSize: 512 })
  const log = promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE })))
  for (let i = 0; i < 40; i++) await log.append(Buffer.alloc(50, 1))
  await log.sync()
  disk.fateOf = (kind) => kind === 'metadata.sync' ? 'fail' : undefined
  t.equal(await log.trim({ lt: 1000 }).catch(err => err.code), 'EIO')
  t.equal(log.log.stats().records, (await valuesOf(log)).length)
  disk.fateOf = () => undefined
  const start = await log.trim({ lt: 1000 })
  t.equal(log.log.stats().records, (await valuesOf(log)).length)
  for (const left of [disk.afterPowerLoss(), disk.afterKill()]) {
    const again = promises(createLog(left.file('log'), settingsOf({ blockSize: BLOCK_SIZE })))
    await again.onReady()
    t.equal(again.log.start, start)
    t.equal(again.log.stats().records, (await valuesOf(again)).length)
    await again.close()
  }
})

tape('the number in the metadata of another log is not believed', async (t) => {
  const inFolder = testFolder(t)
  const made = {}
  for (const [name, byte] of [['one', 1], ['another', 2]]) {
    // the recovery point moves with every fsync
    const log = made[name] = open(inFolder(name), { syncBytes: 1 })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(50, byte), { sync: true })
    if (byte === 2) await log.del(0)
  }
  const left = inFolder('left')
  for (const [log, metadata, isKnown] of [['one', 'one', true], ['another', 'one', false], ['another', 'another', true]]) {
    fs.cpSync(inFolder(log), left)
    fs.cpSync(inFolder(metadata + '.meta'), left + '.meta')
    const opened = open(left)
    await opened.onReady()
    t.equal(opened.log.stats().records, isKnown ? (await valuesOf(opened)).length : null, `${log} with FILE.meta of ${metadata}`)
    await opened.close()
  }
  for (const log of Object.values(made)) await log.close()
})

tape('the owner of a shared log knows the number of its records, a client does not', async (t) => {
  const file = testFolder(t)('log')
  const owner = promises(FlumeLog(file, { shared: true }))
  await owner.append(['a', 'b'])
  const client = promises(FlumeLog(file, { shared: true }))
  await client.append(['c', 'd', 'e'])
  await client.del(0)
  t.deepEqual([count(owner), count(client)], [4, null])
  await owner.close()
  await client.append('f')
  t.equal(count(client), 5, 'until it is the owner')
  await client.close()
})

tape('a reader, and a log that is not open, do not know the number of records', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  t.equal(count(log), null)
  await log.append('x')
  const reader = promises(FlumeLog(file, { readOnly: true }))
  await reader.onReady()
  t.equal(count(reader), null)
  await reader.close()
  await log.close()
})

tape('records are counted from any record on, deleted ones not, and not at all in a corrupt block', async (t) => {
  const blockSize = 64
  const block = Buffer.alloc(blockSize)
  let end = 0
  for (const data of [Buffer.alloc(10, 1), Buffer.alloc(10), Buffer.alloc(10, 3)]) end = layout.writeRecord(block, end, data)
  layout.seal(block, end)
  const bytes = Buffer.concat([block, block, frame(Buffer.alloc(5, 1))])
  const read = async (offset, size) => bytes.subarray(offset, offset + size)
  t.equal(await countRecords(read, 0, bytes.length, blockSize), 5)
  t.equal(await countRecords(read, 14, bytes.length, blockSize), 4)
  t.equal(await countRecords(read, 64, 128, blockSize), 2)
  t.equal(await countRecords(read, 128, 128, blockSize), 0)
  bytes[64] ^= 1
  t.equal(await countRecords(read, 0, bytes.length, blockSize), null)
})

/** A log of which no part is read to count its records. */
function open (file, options = {}) {
  const settings = { ...settingsOf({ blockSize: BLOCK_SIZE, checksum: false, ...options }), smallLog: 0 }
  return promises(createLog(pathFile(file, settings), settings))
}

function count ({ log }) {
  return log.stats().records
}

function valuesOf ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream({ seqs: false }), pull.collect((err, values) => err ? reject(err) : resolve(values))))
}

/** One that another program would append: it fits into the last block, or the file is left as it is. */
function frameThatFits (size) {
  const position = size % BLOCK_SIZE
  const room = BLOCK_SIZE - 6 - position - 4
  return position > 0 && room > 0 ? frame(Buffer.alloc(Math.min(20, room), 3)) : Buffer.alloc(0)
}

/** At least the first block is left, or nothing: otherwise it may not be a log. */
function tornSize (size) {
  return size >= BLOCK_SIZE ? Math.floor(size) : 0
}
