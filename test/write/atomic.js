'use strict'

// append([...], { atomic: true }): all of a batch, or none of it.

const tape = require('tape')
const pull = require('pull-stream')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { Disk, randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')
const { sizeOf } = require('../../lib/storage/buffers')

const BATCH = 8
const BLOCK_SIZE = 1024
/** Runs of the test with power cuts, and its first seed. */
const RUNS = Number(process.env.RUNS ?? 25)
const SEED = Number(process.env.SEED ?? 1)

tape('a power cut at any moment leaves all of an atomic batch or none of it, whatever is written with it', async (t) => {
  t.comment(`SEED=${SEED}`)
  const counts = { none: 0, some: 0, all: 0 }
  for (const sync of ['interval', 'always', 'never']) {
    for (let n = 1; n < 12; n++) {
      for (let seed = SEED; seed < SEED + RUNS; seed++) {
        const problem = await cutPower(sync, n, randomFrom(seed * 100 + n), counts)
        if (problem !== null) t.fail(`${problem} (sync ${sync}, operation ${n}, seed ${seed})`)
      }
    }
  }
  // about 40, 6 and 50 of a hundred
  t.ok(counts.none > 100 && counts.some > 10 && counts.all > 100, `${counts.none} times no batch, ${counts.some} times some, ${counts.all} times all`)
})

tape('an atomic batch that is tried again after a failed write is never mixed with what the first try has left', async (t) => {
  let failures = 0
  for (let seed = SEED; seed < SEED + 8 * RUNS; seed++) {
    const random = randomFrom(seed)
    const disk = new Disk({ random, pageSize: 128 })
    const log = open(disk, { sync: random.pick(['interval', 'never']) })
    await log.append('x', { sync: true })
    // the write of the batch, or that of the length that was withheld
    const written = random.below(2)
    let writes = 0
    disk.fateOf = (kind) => kind === 'write' && writes++ === written ? 'tear' : undefined
    const err = await log.append(batch(), { atomic: true }).catch(err => err)
    if (err.code === 'ENOSPC') failures++
    disk.kinds = ['write', 'truncate', 'sync']
    disk.operations = 0
    disk.plan.set(1 + random.below(4), 'off')
    log.append(batch(100), { atomic: true }).then(() => disk.turnOff())
    await disk.off
    const again = open(disk.afterPowerLoss(), {})
    const values = (await all(again)).slice(1).map(({ value }) => value[0])
    const isOne = [[], firstBytes(batch()), firstBytes(batch(100))].some(one => String(one) === String(values))
    if (!isOne) t.fail(`the log has ${values} (seed ${seed})`)
    await again.close()
  }
  t.equal(failures, 8 * RUNS)
})

tape('atomic batches follow what is in the block, and call back with the seqs of all their records', async (t) => {
  const log = open(new Disk(), {})
  await log.append('before')
  const seqs = await log.append(batch(), { atomic: true })
  t.deepEqual(seqs, Array.from({ length: BATCH }, (_, i) => 10 + i * 104))
  t.equal(await log.append('after'), 842)
  t.deepEqual(await log.append(['alone'], { atomic: true }), [851])
  t.deepEqual(await log.append('no array', { atomic: true }), [860])
  t.deepEqual(await log.append([], { atomic: true }), [])
  t.equal((await log.append(batch(), { atomic: true }))[0], 1024, 'what does not fit starts the next one')
  t.deepEqual((await all(log)).slice(0, 12).map(({ seq }) => seq), [0, ...seqs, 842, 851, 860])
  await log.close()
})

tape('atomic batches in flight share one write and two fsyncs, and their blocks are full', async (t) => {
  const disk = new Disk()
  const log = open(disk, {})
  await log.append('x', { sync: true })
  const { writes, syncs } = log.log.stats()
  const appended = [log.append('between')]
  for (let i = 0; i < 200; i++) appended.push(log.append([`${i}`, 'second'], { atomic: true }))
  const seqs = (await Promise.all(appended)).slice(1)
  const after = log.log.stats()
  t.deepEqual([after.writes - writes, after.syncs - syncs], [1, 2])
  t.ok(after.size < 200 * 18 * 1.05, `${after.size} bytes`)
  t.deepEqual((await all(log)).slice(2).map(({ seq }) => seq), seqs.flat())
  await log.close()
})

tape('a length that is withheld never lies in two sectors, which a power cut may leave in two versions', async (t) => {
  const log = open(new Disk(), { blockSize: 4096 })
  // of this record's length, 0x0110, the lower half alone would be that of a record, too
  const record = Buffer.alloc(0x110, 1)
  record.writeUInt16LE(0x10, 0x10)
  await log.append(Buffer.alloc(511 - 4, 2))
  t.deepEqual(await log.append([record], { atomic: true }), [4096])
  await log.append(Buffer.alloc(511 - (0x110 + 4) - 4, 2))
  const [before, behind] = await Promise.all([log.append('x', { atomic: true }), log.append(record, { atomic: true })])
  t.deepEqual([before, behind], [[8192], [8197]], 'where the first of two would, both go to the next block')
  await log.close()
})

tape('an atomic batch that does not fit into one block is rejected, and nothing of it is stored', async (t) => {
  const log = open(new Disk(), {})
  const fits = Array.from({ length: 9 }, (_, i) => Buffer.alloc(i < 8 ? 100 : 178, i + 1))
  t.equal((await log.append(fits, { atomic: true })).length, 9, 'to the last byte')
  fits[8] = Buffer.alloc(179, 9)
  const err = await log.append(fits, { atomic: true }).catch(err => err)
  t.equal(err.code, 'flumelog:too-large')
  t.match(err.message, /1011 bytes .* 1010 bytes, with blocks of 1024/)
  t.equal((await all(log)).length, 9)
  await log.close()
})

tape('a file with atomic batches is an ordinary log', async (t) => {
  const disk = new Disk()
  const log = open(disk, { checksum: false })
  for (let i = 0; i < 20; i++) await log.append(batch(), { atomic: true })
  await log.close()
  const again = open(disk, {})
  t.equal((await all(again)).length, 20 * BATCH)
  t.equal(again.log.stats().cut, null)
  await again.close()
})

/**
 * Random appends at once, of which the power cut interrupts the n-th operation.
 * @returns {Promise<string | null>} what is wrong
 */
async function cutPower (sync, n, random, counts) {
  const disk = new Disk({ random, pageSize: 128 })
  const log = open(disk, { sync })
  await log.append(Buffer.alloc(100, 200))
  disk.operations = 0
  disk.plan.set(n, 'off')
  const appends = Array.from({ length: 2 + random.below(4) }, (_, i) => {
    const isAtomic = random() < 0.6
    const length = isAtomic ? 2 + random.below(BATCH) : 1
    const values = Array.from({ length }, (_, j) => Buffer.alloc(random.pick([20, 90, 124, 252]), 10 * (i + 1) + j))
    return { isAtomic: isAtomic && sizeOf(values) < BLOCK_SIZE - 14 - 4 * length, values, isAcknowledged: false }
  })
  for (const append of appends) {
    const { values, isAtomic } = append
    // with the write that is in progress, or with the next one
    if (random() < 0.3) await new Promise(resolve => setImmediate(resolve))
    log.append(values, { atomic: isAtomic }).then(() => { append.isAcknowledged = true })
  }
  log.append(Buffer.alloc(300, 202), { sync: true }).then(() => disk.turnOff())
  await disk.off
  const again = open(disk.afterPowerLoss(), { sync })
  const found = firstBytes((await all(again)).map(({ value }) => value)).filter(byte => byte < 200)
  await again.close()
  const wanted = appends.flatMap(({ values }) => firstBytes(values))
  if (String(found) !== String(wanted.slice(0, found.length))) return `it has ${found}, which is not how ${wanted} starts`
  const batches = appends.filter(({ isAtomic }) => isAtomic)
  for (const { values, isAcknowledged } of batches) {
    const count = firstBytes(values).filter(byte => found.includes(byte)).length
    if (count !== 0 && count !== values.length) return `${count} of ${values.length} records of a batch are there`
    if (count === 0 && isAcknowledged) return 'a batch was acknowledged, and is not there'
  }
  const there = batches.filter(({ values }) => found.includes(values[0][0])).length
  counts[there === 0 ? 'none' : there === batches.length ? 'all' : 'some']++
  return null
}

function firstBytes (values) {
  return values.map(value => value[0])
}

function batch (from = 1) {
  return Array.from({ length: BATCH }, (_, i) => Buffer.alloc(100, from + i))
}

function open (disk, options) {
  return promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE, ...options })))
}

function all ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}
