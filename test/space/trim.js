'use strict'

// Trimming: what readers see of it, and what becomes of it when operations fail or the process is killed. The simulator cuts the power, too.

const tape = require('tape')
const fs = require('fs')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { ControlledFile } = require('../helpers/controlled-file')
const { newFile, testFolder } = require('../helpers/folder')
const { noSmallDisk, smallDisk } = require('../helpers/full')
const { promises } = require('../helpers/promises')
const { codeOf, collect, event } = require('../helpers/reading')

const BLOCK_SIZE = 256
/** Records per block. */
const PER_BLOCK = 5
const data = (i) => Buffer.alloc(40, i + 1)
const open = (file, options = {}) => file.open({ blockSize: BLOCK_SIZE, ...options })
const indexes = async (log, options) => (await collect(log.log, { seqs: false, ...options })).map(value => value[0] - 1)
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i)

/** A log with this many records. */
async function filled (log, count = 50) {
  const seqs = []
  for (let i = 0; i < count; i++) seqs.push(await log.append(data(i)))
  return seqs
}

for (const checksum of [true, false]) {
  tape(`whole blocks before an offset are trimmed, and nothing else, ${checksum ? 'with' : 'without'} checksums`, async (t) => {
    const file = newFile()
    const openLog = (options) => FlumeLog(file, { blockSize: BLOCK_SIZE, ...options })
    let log = promises(openLog({ checksum }))
    const seqs = await filled(log)
    t.equal(log.log.start, 0)
    for (const isOpenedAgain of [false, true]) {
      const start = await log.trim({ lt: seqs[isOpenedAgain ? 38 : 23] })
      const first = isOpenedAgain ? 35 : 20
      t.equal(start, seqs[first])
      if (isOpenedAgain) {
        await log.close()
        log = promises(openLog({ checksum }))
        await log.onReady()
      }
      t.equal(log.log.start, start)
      t.equal(log.log.stats().start, start)
      t.equal(log.log.stats().blocks, 10 - first / PER_BLOCK)
      t.deepEqual(await indexes(log), range(first, 50))
      t.deepEqual(await indexes(log, { reverse: true }), range(first, 50).reverse())
      t.deepEqual(await indexes(log, { gt: -1 }), range(first, 50), 'as flumedb starts a view')
      t.deepEqual(await indexes(log, { gte: 0, lte: seqs[first] }), [first])
      t.deepEqual(await indexes(log, { lt: seqs[first] }), [])
      t.equal(await codeOf(collect(log.log, { gte: 1 })), 'flumelog:trimmed')
      t.equal(await codeOf(collect(log.log, { gt: seqs[first - 1] })), 'flumelog:trimmed')
      t.deepEqual(await indexes(log, { gt: seqs[3], fromStart: true }), range(first, 50))
      t.deepEqual(await indexes(log, { gt: seqs[3], lt: seqs[5], fromStart: true }), [])
      t.equal(await codeOf(log.get(seqs[first - 1])), 'flumelog:trimmed')
      t.equal(await codeOf(log.get(0)), 'flumelog:trimmed')
      t.equal(await codeOf(log.del(seqs[1])), 'flumelog:trimmed')
      t.equal(await codeOf(log.getPrevious(seqs[1])), 'flumelog:not-found')
      t.equal(await codeOf(log.getPrevious(seqs[first])), 'flumelog:not-found')
      t.equal((await log.getPrevious(seqs[first + 1])).seq, seqs[first])
      t.equal((await log.search(value => value[0] - 1 - 10)).seq, seqs[first], 'the first that is left is after what was trimmed')
      t.equal((await log.search(value => value[0] - 1 - 45)).seq, seqs[45])
    }
    await log.close()
  })
}

tape('the block with the last record stays, however much is to be trimmed', async (t) => {
  const file = newFile()
  const openLog = (options) => FlumeLog(file, { blockSize: BLOCK_SIZE, ...options })
  const log = promises(openLog())
  t.equal(await log.trim({ lt: 1000 }), 0, 'an empty log')
  const seqs = await filled(log, 45)
  t.equal(await log.trim({ lt: Infinity }), seqs[40])
  t.deepEqual(await indexes(log), range(40, 45))
  t.equal(await log.append(data(45)), 9 * BLOCK_SIZE)
  t.equal(await log.trim({ lt: 1e9 }), 9 * BLOCK_SIZE)
  t.deepEqual(await indexes(log), [45])
  t.equal(await log.trim({ lt: -5 }), 9 * BLOCK_SIZE, 'it never goes back')
  await log.close()
  const again = promises(openLog())
  t.deepEqual(await indexes(again), [45])
  t.equal(await again.append(data(46)), 9 * BLOCK_SIZE + 44, 'offsets go on')
  await again.close()
})

tape('the first block alone is not trimmed: it would look like one whose records were deleted', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE }))
  const seqs = await filled(log)
  t.equal(await log.trim({ lt: seqs[5] }), 0)
  t.deepEqual(await indexes(log), range(0, 50))
  t.equal(await log.trim({ lt: seqs[10] }), seqs[10])
  await log.close()
})

tape('a trim takes any integer, as streams do, also one that is no offset of a file', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE }))
  const seqs = await filled(log)
  for (const lt of [-Number.MAX_VALUE, -(2 ** 53), -1]) t.equal(await log.trim({ lt }), 0, String(lt))
  t.equal(await log.trim({ lt: 2 ** 53 }), seqs[45])
  t.equal(await log.trim({ lt: Number.MAX_VALUE }), seqs[45])
  await log.close()
})

tape('a trim with wrong options is refused, and a read-only log is not trimmed', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  await log.append('one')
  for (const options of [undefined, null, 5, {}, { lt: 'a' }, { lt: 1.5 }, { lt: NaN }, { lt: 1, gt: 2 }, { lte: 1 }]) {
    t.equal(await codeOf(log.trim(options)), 'flumelog:invalid', JSON.stringify(options))
  }
  t.throws(() => log.log.trim({ lt: 1 }, 'a'), { code: 'flumelog:invalid' })
  await log.close()
  t.equal(await codeOf(log.trim({ lt: 1 })), 'flumelog:closed')
  const reader = promises(FlumeLog(file, { readOnly: true }))
  t.equal(await codeOf(reader.trim({ lt: 1 })), 'flumelog:read-only')
  await reader.close()
})

tape('a stream that a trim overtakes ends with an error, or goes on at the start of the log', async (t) => {
  for (const cacheSize of [0, 1 << 20]) {
    const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE, cacheSize }))
    const seqs = await filled(log)
    const next = (source) => event(resolve => source(null, (end, item) => resolve(end?.code ?? end ?? item.value[0] - 1)))
    const sources = { fails: log.log.stream(), jumps: log.log.stream({ fromStart: true }), waits: log.log.stream(), back: log.log.stream({ reverse: true }), live: log.log.stream({ live: true, gt: seqs[48] }) }
    t.deepEqual([await next(sources.fails), await next(sources.jumps), await next(sources.back), await next(sources.live)], [0, 0, 49, 49])
    await log.trim({ lt: seqs[30] })
    const rest = async (name) => {
      const all = []
      for (let found = await next(sources[name]); found !== true; found = await next(sources[name])) {
        all.push(found)
        if (typeof found === 'string') break
      }
      return all
    }
    t.deepEqual(await rest('fails'), [1, 2, 3, 4, 'flumelog:trimmed'], 'with what it had read already')
    t.deepEqual(await rest('jumps'), [1, 2, 3, 4, ...range(30, 50)])
    t.deepEqual(await rest('waits'), range(30, 50), 'one of which nothing was read yet starts there')
    t.deepEqual(await rest('back'), range(30, 49).reverse())
    const live = next(sources.live)
    await log.append(data(50))
    t.equal(await live, 50, 'one that is behind the trim goes on')
    await log.close()
  }
})

tape('batches and scans start where the log does', async (t) => {
  const log = promises(FlumeLog(newFile(), { blockSize: BLOCK_SIZE }))
  const seqs = await filled(log)
  await log.trim({ lt: seqs[30] })
  const batches = await new Promise((resolve, reject) => pull(log.log.batches({ values: false }), pull.collect((err, all) => err ? reject(err) : resolve(all))))
  t.deepEqual(batches.flat(), seqs.slice(30))
  const scanned = []
  const scan = (options) => new Promise((resolve, reject) => log.log.scan(options, (block, start, end, seq) => { scanned.push(seq) }, err => err ? reject(err) : resolve()))
  await scan({})
  t.deepEqual(scanned.splice(0), seqs.slice(30))
  t.equal(await codeOf(scan({ gte: seqs[2] })), 'flumelog:trimmed')
  await scan({ gte: seqs[2], fromStart: true })
  t.deepEqual(scanned.splice(0), seqs.slice(30))
  await log.close()
})

tape('appends, deletions and reads go on while a log is trimmed', async (t) => {
  const log = open(new ControlledFile())
  const seqs = await filled(log)
  await log.del([seqs[3], seqs[41]])
  const [start, seq] = await Promise.all([log.trim({ lt: seqs[40] }), log.append(data(50)), log.del(seqs[42]), log.trim({ lt: seqs[20] })])
  t.equal(start, seqs[40])
  t.equal(seq, 10 * BLOCK_SIZE)
  const left = [40, 43, 44, ...range(45, 51)]
  t.deepEqual(await indexes(log), left)
  await log.close()
})

tape('a trim whose operations fail is told of that, and is made up for when the log is closed', async (t) => {
  for (const kind of ['punch', 'write']) {
    const file = new ControlledFile()
    const log = open(file)
    const seqs = await filled(log)
    await log.sync()
    file.fail(kind)
    t.equal(await codeOf(log.trim({ lt: seqs[30] })), 'EIO', kind)
    t.equal(await log.append(data(50)), 10 * BLOCK_SIZE, 'appends go on')
    t.deepEqual(await indexes(log), range(30, 51))
    await log.close()
    t.ok(file.metadata.closed)
    const again = open(file)
    t.deepEqual(await indexes(again), range(30, 51))
    t.ok(file.bytes.subarray(BLOCK_SIZE, seqs[30]).every(byte => byte === 0))
    await again.close()
  }
})

tape('each of several trims at once is answered when an fsync fails', async (t) => {
  const file = new ControlledFile()
  const log = open(file, { sync: 'never' })
  const seqs = await filled(log)
  file.failing.add('sync')
  const trims = [seqs[20], seqs[30], seqs[40]].map(lt => codeOf(log.trim({ lt })))
  t.deepEqual(await Promise.all(trims), ['flumelog:failed', 'flumelog:failed', 'flumelog:failed'])
  t.equal(await codeOf(log.close()), 'flumelog:failed')
})

tape('a recovery point that was made for another file trims nothing', async (t) => {
  const file = testFolder(t)
  const log = promises(FlumeLog(file('log'), { blockSize: BLOCK_SIZE }))
  const seqs = await filled(log)
  await log.trim({ lt: seqs[30] })
  fs.copyFileSync(`${file('log')}.meta`, `${file('other')}.meta`)
  await log.close()
  const made = promises(FlumeLog(file('made'), { blockSize: BLOCK_SIZE }))
  for (let i = 0; i < 50; i++) await made.append(Buffer.alloc(40, 100 + i))
  await made.close()
  fs.copyFileSync(file('made'), file('other'))
  const other = promises(FlumeLog(file('other')))
  t.deepEqual(await collect(other.log, { values: false }), seqs)
  t.equal(other.log.start, 0)
  await other.close()
})

tape('what is trimmed takes no space, but for the first and the last page of the first block', async (t) => {
  const file = testFolder(t)('log')
  const log = promises(FlumeLog(file))
  let seq
  for (let i = 0; i < 1000; i++) seq = await log.append(Buffer.alloc(10000, 1))
  await log.sync()
  const before = fs.statSync(file)
  await log.trim({ lt: seq })
  const after = fs.statSync(file)
  t.equal(after.size, before.size)
  const left = after.size - log.log.start
  // the ends of the first block, the end of the last page, and what the file system may need
  const most = left + 2 * 4096 + 4096 + 2 * 4096
  if (log.log.stats().holes) t.ok(after.blocks * 512 <= most, `${before.blocks * 512} bytes before, ${after.blocks * 512} after, with ${left} from the start on`)
  await log.close()
})

tape('a trim that cannot be recorded trims nothing, and those that were asked for with it go on', async (t) => {
  const file = new ControlledFile()
  const log = open(file)
  const seqs = await filled(log)
  await log.sync()
  file.fail('metadata.append')
  const results = await Promise.all([codeOf(log.trim({ lt: seqs[30] })), log.trim({ lt: seqs[20] })])
  t.deepEqual(results, ['EIO', seqs[20]])
  t.deepEqual(await indexes(log), range(20, 50))
  const killed = open(file.afterKill())
  t.deepEqual(await indexes(killed), range(20, 50))
  await killed.close()
})

tape('a trim of which the blocks were not freed holds, whatever becomes of the next one', async (t) => {
  const file = new ControlledFile()
  const log = open(file)
  const seqs = await filled(log)
  file.fail('punch')
  t.equal(await codeOf(log.trim({ lt: seqs[20] })), 'EIO')
  t.equal(log.log.start, seqs[20])
  file.fail('punch')
  t.equal(await codeOf(log.trim({ lt: seqs[30] })), 'EIO')
  const killed = open(file.afterKill())
  t.deepEqual(await indexes(killed), range(30, 50))
  await killed.close()
})

for (const isReopened of [false, true]) {
  tape(`on a disk without a free byte, a log that ${isReopened ? 'was closed' : 'is being appended to'} can be trimmed, and appended to then`, { skip: noSmallDisk ?? false }, async (t) => {
    const disk = smallDisk(t, '4m')
    const file = disk.file('log')
    let log = promises(FlumeLog(file))
    const seqs = []
    for (let i = 0; i < 200; i++) seqs.push(await log.append(Buffer.alloc(5000, i + 1)))
    if (isReopened) {
      await log.close()
      log = promises(FlumeLog(file))
      await log.onReady()
    }
    disk.leave(0)
    t.equal(await codeOf(log.append(Array.from({ length: 20 }, () => Buffer.alloc(5000, 201)))), 'ENOSPC')
    const start = await log.trim({ lt: seqs[100] })
    t.ok(start > seqs[80] && start <= seqs[100], `it starts at ${start}`)
    if (log.log.stats().holes) {
      t.ok(disk.free() > 300_000, `${disk.free()} bytes are free`)
      await log.append(Array.from({ length: 20 }, () => Buffer.alloc(5000, 201)))
    }
    await log.close()
    const again = promises(FlumeLog(file))
    await again.onReady()
    t.equal(again.log.start, start)
    t.equal((await indexes(again))[0], seqs.indexOf(start))
    await again.close()
  })
}

tape('a trim replaces FILE.meta once that is long, though nothing is appended to the log', async (t) => {
  const settings = settingsOf({ blockSize: BLOCK_SIZE })
  const file = new ControlledFile().logFile(settings)
  const log = promises(createLog(file, settings))
  const seqs = await filled(log)
  await log.sync()
  // as many trims leave it
  while (!file.metadata.isLong) file.metadata.append({ start: 0 })
  t.equal(await log.trim({ lt: seqs[23] }), seqs[20])
  await log.close()
  t.ok(fs.statSync(`${file.filename}.meta`).size <= 8192)
})
