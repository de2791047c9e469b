'use strict'

// What a deletion promises with each setting of `sync`, and what becomes of it when
// operations fail or the machine stops.

const tape = require('tape')
const fs = require('fs')
const path = require('path')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { MetadataKeeper } = require('../../lib/write/metadata-keeper')
const FlumeLog = require('../..')
const { Disk, randomFrom } = require('../helpers/disk')
const { filesIn, testFolder } = require('../helpers/folder')
const { until } = require('../helpers/followers')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { Simulation } = require('../helpers/simulation')
const { uncaughtDuring } = require('../helpers/uncaught')

const BLOCK_SIZE = 256
const data = (i) => Buffer.alloc(40, i + 1)
const open = (disk, options = {}) => promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE, ...options })))
const indexes = async (log) => (await collect(log.log, { seqs: false })).map(value => value[0] - 1)
const upTo = (count, deleted = []) => Array.from({ length: count }, (_, i) => i).filter(i => !deleted.includes(i))

/** A log with this many records, all of them durable. */
async function filled (disk, options, count = 20) {
  const log = open(disk, options)
  const seqs = []
  for (let i = 0; i < count; i++) seqs.push(await log.append(data(i)))
  await log.sync()
  return { log, seqs }
}

/** Makes the next operations of a kind fail. */
function failing (disk, kind, count = 1) {
  disk.kinds = [kind]
  disk.operations = 0
  disk.plan.clear()
  for (let n = 1; n <= count; n++) disk.plan.set(n, 'fail')
}

async function found (disk) {
  const log = open(disk)
  const found = await indexes(log)
  await log.close()
  return found
}

for (const sync of ['always', 'interval', 'never']) {
  for (const checksum of [true, false]) {
    tape(`with sync '${sync}' all readers see a deletion when it is acknowledged, ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      for (const cacheSize of [0, 1 << 20]) {
        const { log, seqs } = await filled(new Disk(), { sync, checksum, cacheSize })
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
      const disk = new Disk()
      const { log, seqs } = await filled(disk, { sync, checksum })
      await log.del([seqs[0], seqs[7]])
      await log.append([data(20), data(21)])
      // one of a record that is not durable
      const [last] = (await collect(log.log, { values: false })).slice(-1)
      await log.del(last)
      t.deepEqual(await found(disk.afterKill()), upTo(21, [0, 7]))
    })
  }
}

tape("with sync 'always' a deletion holds after a power cut; else after sync", async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    for (const sync of ['always', 'interval', 'never']) {
      const disk = new Disk({ random: randomFrom(seed), pageSize: 64 })
      const { log, seqs } = await filled(disk, { sync })
      await log.del([seqs[0], seqs[7], seqs[19]])
      if (sync !== 'always') await log.sync()
      const left = await found(disk.afterPowerLoss())
      if (String(left) !== String(upTo(20, [0, 7, 19]))) t.fail(`${sync}, seed ${seed}: ${left}`)
    }
  }
  t.pass('whatever the power cut leaves')
})

tape("with sync 'interval' and 'never' nothing is fsynced and the log's file is not touched when a deletion is acknowledged", async (t) => {
  for (const sync of ['interval', 'never']) {
    const disk = new Disk()
    const { log, seqs } = await filled(disk, { sync })
    const before = Buffer.from(disk.get('log').bytes)
    const { syncs } = log.log.stats()
    for (const i of [0, 7, 19]) await log.del(seqs[i])
    t.ok(disk.get('log').bytes.equals(before))
    t.equal(log.log.stats().syncs, syncs)
    t.deepEqual(durableDeletions(disk), [])
    await log.sync()
    t.deepEqual(durableDeletions(disk), [seqs[0], seqs[7], seqs[19]], 'until sync')
    await log.close()
    t.notOk(disk.get('log').bytes.equals(before))
    t.deepEqual(disk.metadata.deletions, [], 'close leaves none that the log has not')
    t.equal(disk.get('log').pages.size, 0, 'and all of it is durable')
  }
})

tape("with sync 'interval' a deletion is durable, and in the log's file, within the interval", async (t) => {
  const simulation = new Simulation(1)
  await simulation.run((async () => {
    const disk = new Disk({ clock: simulation.clock, delay: () => 1 })
    const log = promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE, syncInterval: 500 }), simulation.clock))
    const seq = await log.append(data(0))
    await log.sync()
    await log.del(seq)
    const start = simulation.time
    t.deepEqual(durableDeletions(disk), [])
    await new Promise(resolve => simulation.schedule(resolve, 520))
    t.ok(simulation.time - start < 600)
    t.deepEqual(durableDeletions(disk), [seq])
    t.ok(disk.get('log').bytes.subarray(2, 42).equals(Buffer.alloc(40)))
    await log.close()
  })())
})

tape("with sync 'interval' a deletion is durable within the interval while blocks wait to become holes", async (t) => {
  const simulation = new Simulation(1)
  await simulation.run((async () => {
    const disk = new Disk({ clock: simulation.clock, delay: () => 1 })
    const log = promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE, syncInterval: 500 }), simulation.clock))
    const seqs = []
    for (let i = 0; i < 30; i++) seqs.push(await log.append(data(i)))
    await log.sync()
    await log.del(seqs.slice(0, 15))
    await new Promise(resolve => simulation.schedule(resolve, 520))
    await log.del(seqs[17])
    await new Promise(resolve => simulation.schedule(resolve, 520))
    const position = seqs[17] + 2
    t.ok(disk.get('log').bytes.subarray(position, position + 40).equals(Buffer.alloc(40)))
    await log.close()
  })())
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

tape('a block that is sealed after a deletion in it is valid after a kill and after a power cut', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const disk = new Disk({ random: randomFrom(seed), pageSize: 64 })
    const { log, seqs } = await filled(disk, { sync: 'never' }, 3)
    await log.del(seqs[1])
    for (let i = 3; i < 12; i++) await log.append(data(i))
    const after = seed % 2 === 0 ? disk.afterKill() : disk.afterPowerLoss()
    const left = await found(after)
    if (String(left) !== String(upTo(12, [1]).slice(0, left.length)) || left.length < 2) t.fail(`seed ${seed}: ${left}`)
  }
  t.pass('so it is')
})

tape('a block that is sealed after a deletion in it, while a failed write is cleaned up, is valid after a power cut', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const disk = new Disk({ random: randomFrom(seed), pageSize: 64 })
    const { log, seqs } = await filled(disk, { sync: 'interval', syncInterval: 1e5, validate: () => true }, 3)
    await log.del(seqs[0])
    failing(disk, 'write')
    t.ok(await codeOf(log.append(data(3))), 'a write fails')
    await Promise.all(Array.from({ length: 30 }, async (_, i) => {
      // the next write waits until the truncation is durable
      await new Promise(resolve => i < 2 ? resolve() : process.nextTick(resolve))
      await log.append(data(3 + i))
    }))
    await log.append(data(33), { sync: true })
    const left = await found(disk.afterPowerLoss())
    t.deepEqual(left.filter(i => i > 0), upTo(34).slice(1), `seed ${seed}`)
  }
})

tape('a deletion in a block of which the rest is rolled back leaves a valid block', async (t) => {
  const disk = new Disk()
  const log = open(disk, { sync: 'never' })
  const seqs = [await log.append(data(0)), await log.append(data(1))]
  // takes several writes; the deletion comes between them, when the first block is full in the file
  disk.kinds = ['write']
  disk.operations = 0
  disk.plan.set(2, 'fail')
  const batch = log.append(Array.from({ length: 30000 }, () => data(2))).catch(err => err.code)
  await until(() => disk.get('log').bytes.length > BLOCK_SIZE)
  await log.del(seqs[0])
  t.equal(await batch, 'EIO')
  await log.append(Array.from({ length: 10 }, (_, i) => data(i + 2)))
  const rest = upTo(12, [0])
  t.deepEqual(await indexes(log), rest)
  t.deepEqual(await found(disk.afterKill()), rest)
})

tape('a deletion that cannot be recorded fails, leaves the record, and can be tried again', async (t) => {
  for (const [sync, kind] of [['always', 'metadata.append'], ['always', 'metadata.sync'], ['never', 'metadata.append'], ['interval', 'metadata.append']]) {
    const disk = new Disk()
    const { log, seqs } = await filled(disk, { sync })
    await log.del(seqs[3])
    failing(disk, kind)
    t.equal(await codeOf(log.del([seqs[4], seqs[9]])), 'EIO', `${sync}, ${kind}`)
    t.deepEqual(await indexes(log), upTo(20, [3]))
    await log.append(data(20))
    t.deepEqual(await found(disk.afterKill()), upTo(21, [3]), 'also if the process is killed after the next append')
  }
  const disk = new Disk()
  const { log, seqs } = await filled(disk, { sync: 'always' })
  failing(disk, 'metadata.sync')
  t.equal(await codeOf(log.del(seqs[4])), 'EIO')
  t.deepEqual(disk.metadata.deletions, [], 'other processes do not see it either')
  await log.del(seqs[4])
  t.deepEqual(await indexes(log), upTo(20, [4]), 'the second time it is done')
  t.deepEqual(await found(disk.afterPowerLoss()), upTo(20, [4]))
})

tape('sync gets the error if deletions cannot be made durable, and the next sync makes them so', async (t) => {
  const disk = new Disk()
  const { log, seqs } = await filled(disk, { sync: 'never' })
  await log.del(seqs[3])
  failing(disk, 'metadata.sync')
  t.equal(await codeOf(log.sync()), 'EIO')
  t.equal(await codeOf(log.get(seqs[3])), 'flumelog:deleted')
  await log.sync()
  t.equal(disk.metadataVersions.length, 1)
  t.deepEqual(durableDeletions(disk), [seqs[3]], 'in another file, since after a failed fsync the old one cannot be relied on')
  await log.append(data(20))
  t.deepEqual((await found(disk.afterPowerLoss())).slice(0, 19), upTo(20, [3]))
})

tape("a deletion is done once it is durable, though the log's file cannot be written then", async (t) => {
  const disk = new Disk()
  const { log, seqs } = await filled(disk, { sync: 'always', cacheSize: 0 })
  failing(disk, 'write', 100)
  for (const i of [3, 4, 12]) await log.del(seqs[i])
  t.deepEqual(await indexes(log), upTo(20, [3, 4, 12]), 'readers see it')
  t.equal(await codeOf(log.get(seqs[3])), 'flumelog:deleted')
  t.equal(await codeOf(log.close()), 'EIO', 'close says that the file does not have it')
  disk.plan.clear()
  t.deepEqual(await found(disk.afterKill()), upTo(20, [3, 4, 12]), 'and the next opening puts it there')
})

tape('a deletion stays recorded until an fsync that started after it was in the log is over', async (t) => {
  const disk = new Disk()
  const file = disk.file('log')
  const progress = { acknowledged: 0, synced: 0, lastSync: 4, recoveryPoint: 0, noteSynced: () => {} }
  const keeper = new MetadataKeeper(file, BLOCK_SIZE, { start: 0, generation: { id: '0', base: 0 } }, progress, { listClients: () => [], freed: () => 0 })
  const listed = () => disk.metadata.deletions.length
  await keeper.write()
  const deletion = { block: 0, records: [{ seq: 0, length: 1 }], checksum: null }
  await keeper.record([deletion])
  const counts = [listed()]
  await keeper.move()
  counts.push(listed())
  keeper.applied([deletion], 6)
  for (progress.lastSync of [4, 5, 6]) {
    await keeper.move()
    counts.push(listed())
  }
  t.deepEqual(counts, [1, 1, 1, 1, 0])
  await keeper.stop()
})

/** Seqs of the records whose deletions FILE.meta has, whatever a power cut leaves of it. */
function durableDeletions (disk) {
  const lists = disk.durableMetadata.map(metadata => metadata?.deletions.flatMap(({ records }) => records.map(({ seq }) => seq)) ?? [])
  return lists.reduce((all, list) => all.filter(seq => list.includes(seq)))
}

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
