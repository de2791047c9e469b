'use strict'

// append([...], { atomic: true }): all of a batch, or none of it.

const tape = require('tape')
const pull = require('pull-stream')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { Disk, randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')

const BATCH = 8

tape('a power cut at any moment leaves all of an atomic batch or none of it', async (t) => {
  const counts = { none: 0, all: 0 }
  for (const sync of ['interval', 'always', 'never']) {
    for (let n = 1; n < 12; n++) {
      for (let seed = 1; seed <= 25; seed++) {
        const disk = new Disk({ random: randomFrom(seed * 100 + n), pageSize: 128 })
        const log = open(disk, { sync })
        await log.append(Buffer.alloc(100, 200))
        disk.operations = 0
        disk.plan.set(n, 'off')
        let isAcknowledged = false
        log.append(batch(), { atomic: true }).then(() => { isAcknowledged = true })
        log.append(Buffer.alloc(300, 201))
        log.append(Buffer.alloc(300, 202), { sync: true }).then(() => disk.turnOff())
        await disk.off
        const again = open(disk.afterPowerLoss(), { sync })
        const found = (await all(again)).filter(({ value }) => value[0] < 200).length
        if (found !== 0 && found !== BATCH) t.fail(`${found} of ${BATCH} are there (sync ${sync}, operation ${n}, seed ${seed})`)
        if (found === 0 && isAcknowledged) t.fail(`it was acknowledged, and is not there (sync ${sync}, operation ${n}, seed ${seed})`)
        counts[found === 0 ? 'none' : 'all']++
        await again.close()
      }
    }
  }
  t.ok(counts.none > 50 && counts.all > 50, `${counts.none} times none, ${counts.all} times all`)
})

tape('an atomic batch gets a block of its own, and calls back with the seqs of all its records', async (t) => {
  const log = open(new Disk(), {})
  await log.append('before')
  const seqs = await log.append(batch(), { atomic: true })
  t.deepEqual(seqs, Array.from({ length: BATCH }, (_, i) => 1024 + i * 104))
  t.equal(await log.append('after'), 2048)
  t.deepEqual(await log.append(['alone'], { atomic: true }), [3072])
  t.deepEqual(await log.append('no array', { atomic: true }), [4096])
  t.deepEqual(await log.append([], { atomic: true }), [])
  t.deepEqual((await all(log)).map(({ seq }) => seq), [0, ...seqs, 2048, 3072, 4096])
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

function batch () {
  return Array.from({ length: BATCH }, (_, i) => Buffer.alloc(100, i + 1))
}

function open (disk, options) {
  return promises(createLog(disk.file('log'), settingsOf({ blockSize: 1024, ...options })))
}

function all ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}
