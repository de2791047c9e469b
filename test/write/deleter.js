'use strict'

// What a deletion promises with each setting of `sync`, and what becomes of it when
// operations fail or the process is killed. The simulator cuts the power, too.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const FlumeLog = require('../..')
const { ControlledFile } = require('../helpers/controlled-file')
const { filesIn, testFolder } = require('../helpers/folder')
const { until } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { ShiftedClock } = require('../helpers/shifted-clock')
const { uncaughtDuring } = require('../helpers/uncaught')

const BLOCK_SIZE = 256
const data = (i) => Buffer.alloc(40, i + 1)
const open = (file, options = {}, clock = undefined) => file.open({ blockSize: BLOCK_SIZE, ...options }, clock)
const indexes = async (log) => (await collect(log.log, { seqs: false })).map(value => value[0] - 1)
const upTo = (count, deleted = []) => Array.from({ length: count }, (_, i) => i).filter(i => !deleted.includes(i))

/** A log with this many records, all of them durable. */
async function filled (file, options, count = 20, clock = undefined) {
  const log = open(file, options, clock)
  const seqs = []
  for (let i = 0; i < count; i++) seqs.push(await log.append(data(i)))
  await log.sync()
  return { log, seqs }
}

async function found (file) {
  const log = open(file)
  const found = await indexes(log)
  await log.close()
  return found
}

for (const sync of ['always', 'interval', 'never']) {
  for (const checksum of [true, false]) {
    tape(`with sync '${sync}' all readers see a deletion when it is acknowledged, ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      for (const cacheSize of [0, 1 << 20]) {
        const { log, seqs } = await filled(new ControlledFile(), { sync, checksum, cacheSize })
        for (const i of [0, 7, 18, 19]) {
          await log.del(seqs[i])
          t.equal(await codeOf(log.get(seqs[i])), 'flumelog:deleted')
        }
        const left = upTo(20, [0, 7, 18, 19])
        t.deepEqual(await indexes(log), left)
        t.deepEqual((await collect(log.log, { seqs: false, reverse: true })).map(value => value[0] - 1), left.toReversed())
        t.equal((await log.getPrevious(seqs[8])).seq, seqs[6])
        const scanned = []
        await new Promise((resolve, reject) => log.log.scan({ reuse: true }, (block, start) => { scanned.push(block[start] - 1) }, err => err ? reject(err) : resolve()))
        t.deepEqual(scanned, left)
        await log.close()
      }
    })

    tape(`with sync '${sync}' a deletion holds if the process is killed, ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      const file = new ControlledFile()
      const { log, seqs } = await filled(file, { sync, checksum })
      await log.del([seqs[0], seqs[7]])
      await log.append([data(20), data(21)])
      // one of a record that is not durable
      const [last] = (await collect(log.log, { values: false })).slice(-1)
      await log.del(last)
      t.deepEqual(await found(file.afterKill()), upTo(21, [0, 7]))
    })
  }
}

tape("with sync 'interval' and 'never' nothing is fsynced and the log's file is not touched when a deletion is acknowledged", async (t) => {
  for (const sync of ['interval', 'never']) {
    const file = new ControlledFile()
    const { log, seqs } = await filled(file, { sync })
    const { bytes, counts: { sync: syncs, 'metadata.sync': metadataSyncs } } = file
    for (const i of [0, 7, 19]) await log.del(seqs[i])
    t.ok(file.bytes.equals(bytes))
    t.equal(file.counts.sync, syncs)
    t.equal(file.counts['metadata.sync'], metadataSyncs)
    await log.sync()
    t.ok(file.counts['metadata.sync'] > (metadataSyncs ?? 0), 'until sync')
    await log.close()
    t.notOk(file.bytes.equals(bytes))
    t.deepEqual(file.metadata.deletions, [], 'close leaves none that the log has not')
    t.ok(file.durable.equals(file.bytes), 'and all of it is durable')
  }
})

tape("with sync 'interval' a deletion is durable, and in the log's file, within the interval, also while blocks wait to become holes", async (t) => {
  const clock = new ShiftedClock()
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { syncInterval: 1e6 }, 30, clock)
  for (const deleted of [seqs.slice(0, 15), [seqs[17]]]) {
    await log.del(deleted)
    const { 'metadata.sync': before = 0 } = file.counts
    const position = deleted[0] + 2
    await until(() => {
      clock.advance(1e6)
      return file.bytes.subarray(position, position + 40).equals(Buffer.alloc(40))
    })
    t.ok(file.counts['metadata.sync'] > before)
  }
  await log.close()
})

tape("with sync 'always' the bytes of a record are overwritten in the file before its deletion is acknowledged", async (t) => {
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { sync: 'always' })
  for (const i of [0, 7, 19]) {
    await log.del(seqs[i])
    t.ok(file.bytes.subarray(seqs[i] + 2, seqs[i] + 42).equals(Buffer.alloc(40)))
  }
  await log.close()
})

tape('what is recorded of deletions stays short, however many there are', async (t) => {
  for (const sync of ['always', 'never']) {
    const file = testFolder(t)('log')
    const log = promises(FlumeLog(file, { sync }))
    const seqs = []
    await log.append(Array.from({ length: 3000 }, (_, i) => data(i % 250)))
    await new Promise((resolve, reject) => log.log.scan({}, (block, start, end, seq) => { seqs.push(seq) }, err => err ? reject(err) : resolve()))
    let most = 0
    for (let i = 0; i < seqs.length; i += 20) {
      await log.del(seqs.slice(i, i + 20))
      most = Math.max(most, fs.statSync(file + '.meta').size)
    }
    t.ok(most > 10000 && most < 80000, `${most} bytes`)
    t.equal((await collect(log.log)).length, 0)
    await log.close()
    t.deepEqual(filesIn(path.dirname(file)), ['log'])
  }
})

tape('a block that is sealed after a deletion in it is valid after a kill', async (t) => {
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { sync: 'never' }, 3)
  await log.del(seqs[1])
  for (let i = 3; i < 12; i++) await log.append(data(i))
  t.deepEqual(await found(file.afterKill()), upTo(12, [1]))
})

tape('a deletion in a block of which the rest is rolled back leaves a valid block', async (t) => {
  const file = new ControlledFile()
  const log = open(file, { sync: 'never' })
  const seqs = [await log.append(data(0)), await log.append(data(1))]
  // takes several writes; the deletion comes between them, when the first block is full in the file
  file.held.add('write')
  const batch = log.append(Array.from({ length: 30000 }, () => data(2))).catch(err => err.code)
  const first = await file.next('write')
  first.finish()
  const second = await file.next('write')
  const deleted = log.del(seqs[0])
  file.held.delete('write')
  second.finish(Object.assign(new Error('made to fail'), { code: 'EIO' }))
  await deleted
  t.equal(await batch, 'EIO')
  await log.append(Array.from({ length: 10 }, (_, i) => data(i + 2)))
  const rest = upTo(12, [0])
  t.deepEqual(await indexes(log), rest)
  t.deepEqual(await found(file.afterKill()), rest)
})

tape('a deletion that cannot be recorded fails, leaves the record, and can be tried again', async (t) => {
  for (const [sync, kind] of [['always', 'metadata.append'], ['always', 'metadata.sync'], ['never', 'metadata.append'], ['interval', 'metadata.append']]) {
    const file = new ControlledFile()
    const { log, seqs } = await filled(file, { sync })
    await log.del(seqs[3])
    file.fail(kind)
    t.equal(await codeOf(log.del([seqs[4], seqs[9]])), 'EIO', `${sync}, ${kind}`)
    t.deepEqual(await indexes(log), upTo(20, [3]))
    await log.append(data(20))
    t.deepEqual(await found(file.afterKill()), upTo(21, [3]), 'also if the process is killed after the next append')
  }
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { sync: 'always' })
  file.fail('metadata.sync')
  t.equal(await codeOf(log.del(seqs[4])), 'EIO')
  t.deepEqual(file.metadata.deletions, [], 'other processes do not see it either')
  await log.del(seqs[4])
  t.deepEqual(await indexes(log), upTo(20, [4]), 'the second time it is done')
  t.deepEqual(await found(file.afterKill()), upTo(20, [4]))
})

tape('sync gets the error if deletions cannot be made durable, and the next sync makes them so', async (t) => {
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { sync: 'never' })
  await log.del(seqs[3])
  file.fail('metadata.sync')
  t.equal(await codeOf(log.sync()), 'EIO')
  t.equal(await codeOf(log.get(seqs[3])), 'flumelog:deleted')
  const { 'metadata.replace': before } = file.counts
  await log.sync()
  t.equal(file.counts['metadata.replace'], before + 1, 'in another file, since after a failed fsync the old one cannot be relied on')
  t.deepEqual(file.metadata.deletions.flatMap(({ records }) => records.map(({ seq }) => seq)), [seqs[3]])
})

tape('nothing is done at intervals any more once a log is closed, though its deletions could not be made durable', async (t) => {
  const clock = new ShiftedClock()
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { syncInterval: 100 }, 20, clock)
  clock.stop()
  await log.del(seqs[3])
  await log.append(data(20))
  file.failing.add('metadata.sync')
  // the last one takes longer than the interval
  file.held.add('sync')
  file.onpending = () => setImmediate(() => {
    clock.advance(100)
    file.pending[0].finish()
  })
  t.equal(await codeOf(log.close()), 'EIO')
  await new Promise(resolve => setImmediate(resolve))
  t.equal(clock.timers.size, 0)
})

tape("a deletion is done once it is durable, though the log's file cannot be written then", async (t) => {
  const file = new ControlledFile()
  const { log, seqs } = await filled(file, { sync: 'always', cacheSize: 0 })
  file.failing.add('write')
  for (const i of [3, 4, 12]) await log.del(seqs[i])
  t.deepEqual(await indexes(log), upTo(20, [3, 4, 12]), 'readers see it')
  t.equal(await codeOf(log.get(seqs[3])), 'flumelog:deleted')
  t.equal(await codeOf(log.close()), 'EIO', 'close says that the file does not have it')
  t.deepEqual(await found(file.afterKill()), upTo(20, [3, 4, 12]), 'and the next opening puts it there')
})

tape('an exception of a callback of a deletion that reaches into trimmed blocks is thrown as it is', async (t) => {
  const file = testFolder(t)('log')
  const log = FlumeLog(file, { blockSize: 64, sync: 'always' })
  const call = (name, ...args) => new Promise((resolve, reject) => log[name](...args, (err, result) => err ? reject(err) : resolve(result)))
  const last = await call('append', Array.from({ length: 20 }, (_, i) => `record ${i}`.padEnd(30)))
  await call('trim', { lt: last })
  const thrown = new Error('of the caller')
  const rejections = []
  const keep = (err) => rejections.push(err)
  process.on('unhandledRejection', keep)
  const caught = await uncaughtDuring(async () => {
    log.del({ gte: 0, lte: last }, () => { throw thrown })
    await call('close')
  })
  process.off('unhandledRejection', keep)
  t.deepEqual(caught, [thrown])
  t.deepEqual(rejections, [], 'and not by a promise of the log')
})

tape('FILE.meta stays short however often the log is opened to delete something', async (t) => {
  const file = testFolder(t)('log')
  let log = promises(FlumeLog(file))
  await log.append(Array.from({ length: 60_000 }, () => 'abcd'))
  // in each block, some are left
  const seqs = (await collect(log.log, { values: false })).filter((seq, i) => i % 2 === 0)
  await log.close()
  const sizes = []
  // a line of some 12 KB each
  for (let i = 0; i < 30; i++) {
    log = promises(FlumeLog(file))
    await log.del(seqs.slice(i * 1000, (i + 1) * 1000))
    await log.close()
    sizes.push(fs.statSync(`${file}.meta`).size)
  }
  t.ok(Math.max(...sizes) < 300 * 1024, `${Math.max(...sizes)} bytes at most`)
})
