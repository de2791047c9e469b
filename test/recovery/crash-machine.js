'use strict'

// Random appends, batches, deletes and syncs; at a random moment the power goes, or
// the process is killed; the log is opened again and compared with what it
// acknowledged; and on, and on. `npm run test:crash` crashes 10,000 times.
//
//     node test/recovery/crash-machine.js [--crashes 300] [--seed 1]

const tape = require('tape')
const { parseArgs } = require('util')
const { crc32 } = require('zlib')
const pull = require('pull-stream')
const layout = require('../../lib/format/layout')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { Disk, randomFrom } = require('../helpers/disk')

const { values } = parseArgs({ options: { crashes: { type: 'string', default: '300' }, seed: { type: 'string' } } })
const CRASHES = Number(values.crashes)
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
/** Number of crashes per disk; each disk starts empty. */
const CRASHES_A_DISK = 12

tape(`${CRASHES} crashes lose nothing acknowledged, and leave nothing that was not appended`, async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const counts = { crashes: 0, acknowledged: 0, synced: 0, found: 0, deleted: 0, cut: 0 }
  for (let seed = SEED; counts.crashes < CRASHES; seed++) {
    try {
      await life(randomFrom(seed), counts)
    } catch (err) {
      err.message += ` (--seed ${seed} --crashes 1 shows it)`
      throw err
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.found > 0 && counts.synced > 0 && counts.cut > 0, 'the crashes came while there was something to lose')
})

/** Crashes one disk repeatedly. */
async function life (random, counts) {
  const pageSize = random.pick([64, 512, 4096])
  const settings = settingsOf({
    blockSize: random.pick([128, 256, 1024, 4096, 16384, 65536]),
    checksum: random() < 0.8,
    cacheSize: random.pick([0, 6000, 1 << 20]),
    sync: random.pick(['always', 'interval', 'interval', 'never']),
    syncInterval: random.pick([0, 1, 1000]),
    syncBytes: random.pick([1, 1000, 20000, 1 << 24]),
    validate: isIntact
  })
  let disk = new Disk({ random, pageSize })
  const atomicPart = random.pick([0, 0.1, 0.6])
  /** What has to be there: the records in order, each with what is known of it. */
  let expected = []
  let made = 0

  for (let n = 0; n < CRASHES_A_DISK && counts.crashes < CRASHES; n++) {
    disk.kinds = null
    disk.plan.set(1 + random.below(random.pick([20, 60, 400])), 'off')
    const log = createLog(disk.file('log'), settings)
    const opened = new Promise(resolve => log.onReady(resolve))
    const err = await Promise.race([opened, disk.off])
    if (err instanceof Error) throw err
    if (!disk.isOff) {
      const recovered = log.stats().cut
      if (recovered !== null) counts.cut++
      const found = await Promise.race([readAll(log, disk), disk.off])
      if (!disk.isOff) {
        compare(found, expected)
        counts.found += found.length
        // what is there now was read back; it is synced, since opening syncs what it has looked at
        expected = expected.slice(0, found.length).map((record, i) => ({ ...record, ...found[i], acknowledged: true, synced: true, wanted: found[i].deleted ? 'deleted' : record.wanted }))
        await Promise.race([work(log, random, settings, expected, () => ++made, disk, atomicPart), disk.off])
      }
    }
    const isKill = random() < 0.3
    disk = isKill ? disk.afterKill() : disk.afterPowerLoss()
    counts.crashes++
    for (const record of expected) {
      if (record.acknowledged) counts.acknowledged++
      if (record.synced) counts.synced++
      // what was not synced may be gone for good, even if the next crash is only a kill
      if (!isKill) record.acknowledged = record.synced
      record.mustBeThere = record.acknowledged
      if (record.wanted === 'deleted') {
        record.mustBeDeleted = true
        counts.deleted++
      }
      if (record.wanted === undefined) record.mustNotBeDeleted = true
    }
  }
  // the last time without a crash
  const log = createLog(disk.file('log'), settings)
  const found = await readAll(log, disk)
  compare(found, expected)
  await new Promise((resolve, reject) => log.close(err => err ? reject(err) : resolve()))
}

/** Appends, deletes and syncs until the power goes. */
async function work (log, random, settings, expected, next, disk, atomicPart) {
  const pending = []
  for (let i = 0; i < 200 && !disk.isOff; i++) {
    const what = random()
    if (what < 0.75) {
      const count = random() < 0.7 - atomicPart ? 1 : random.below(12)
      let made = 0
      const batch = Array.from({ length: count }, () => {
        const most = settings.blockSize - 14
        made = next()
        return make(made, Math.min(most, random.pick([12, 20, 40, 100, 1000, 9000, most])))
      })
      const forced = random() < 0.1
      const together = batch.reduce((sum, value) => sum + value.length + 4, 0)
      const atomic = random() < atomicPart && together <= settings.blockSize - 10 ? made : undefined
      const records = batch.map(value => ({ value, acknowledged: false, synced: false, atomic }))
      expected.push(...records)
      pending.push(new Promise((resolve, reject) => {
        const before = expected.length
        log.append(count === 1 ? batch[0] : batch, { sync: forced, atomic: atomic !== undefined }, (err, seq) => {
          if (err) return reject(err)
          if (atomic !== undefined) seq = seq[seq.length - 1]
          for (const record of records) record.acknowledged = true
          // whatever was appended before has been acknowledged, and synced with it
          if (settings.sync === 'always' || forced || (atomic !== undefined && count > 0)) for (const record of expected.slice(0, before)) record.synced = true
          if (records.length > 0) records[records.length - 1].seq = seq
          resolve()
        })
      }))
    } else if (what < 0.85) {
      const record = expected.length > 0 ? random.pick(expected) : undefined
      if (record === undefined || record.seq === undefined || !record.acknowledged) continue
      record.wanted ??= 'maybe'
      pending.push(new Promise((resolve, reject) => log.del(record.seq, (err) => {
        if (err) return reject(err)
        record.wanted = 'deleted'
        resolve()
      })))
    } else if (what < 0.9) {
      const before = expected.length
      pending.push(new Promise((resolve, reject) => log.sync((err) => {
        if (err) return reject(err)
        for (const record of expected.slice(0, before)) record.synced = true
        resolve()
      })))
    }
    if (random() < 0.4) await Promise.race([Promise.all(pending.splice(0)), disk.off])
    else if (random() < 0.3) await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.race([Promise.all(pending), disk.off])
  if (!disk.isOff && random() < 0.5) {
    await Promise.race([new Promise((resolve, reject) => log.close(err => err ? reject(err) : resolve())), disk.off])
    if (!disk.isOff) for (const record of expected) record.synced = true
  }
}

/** What was found must be a prefix of what was appended, and hold all that was promised. */
function compare (found, expected) {
  const promised = expected.findLastIndex(record => record.mustBeThere) + 1
  if (found.length < promised) throw new Error(`${promised} records were promised, ${found.length} are there`)
  if (found.length > expected.length) throw new Error(`${expected.length} records were appended, ${found.length} are there`)
  const cutAt = expected[found.length]
  if (found.length > 0 && cutAt?.atomic !== undefined && expected[found.length - 1].atomic === cutAt.atomic) {
    throw new Error(`an atomic batch is there in part: ${found.length} records, of ${expected.length}`)
  }
  found.forEach((record, i) => {
    const wanted = expected[i]
    if (wanted.seq !== undefined && wanted.seq !== record.seq) throw new Error(`record ${i} was at ${wanted.seq}, it is at ${record.seq}`)
    if (record.deleted) {
      if (wanted.mustNotBeDeleted && wanted.wanted === undefined) throw new Error(`record ${i} was never deleted, and is`)
      return
    }
    if (wanted.mustBeDeleted) throw new Error(`record ${i} was deleted, and is back`)
    if (!record.value.equals(wanted.value)) throw new Error(`record ${i} is not what was appended`)
  })
}

/** All records as they lie in the file, the deleted ones too; the log must show the others. */
async function readAll (log, disk) {
  await new Promise((resolve, reject) => log.onReady(err => err ? reject(err) : resolve()))
  const live = await new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
  const found = []
  const { bytes } = disk.files.get('log')
  for (let start = 0; start < bytes.length; start += log.blockSize) {
    const block = bytes.subarray(start, start + log.blockSize)
    const end = block.length === log.blockSize ? layout.paddingStart(block) : block.length
    for (let position = 0; position < end; position = layout.nextPosition(block, position)) {
      const value = Buffer.from(layout.dataAt(block, position))
      found.push({ seq: start + position, value, deleted: layout.isDeleted(block, position) })
    }
  }
  const shown = found.filter(record => !record.deleted)
  if (shown.length !== live.length || !shown.every(({ seq, value }, i) => seq === live[i].seq && value.equals(live[i].value))) {
    throw new Error('the log does not show what is in the file')
  }
  return found
}

/** A record that can be told from a torn one: its number, its size, a checksum, and bytes derived from the number. */
function make (number, size) {
  const value = Buffer.alloc(Math.max(size, 12), number & 255)
  value.writeUInt32LE(number, 0)
  value.writeUInt32LE(value.length, 4)
  value.writeUInt32LE(crc32(value.subarray(12), number + 1), 8)
  return value
}

function isIntact (value) {
  return value.length >= 12 && value.readUInt32LE(4) === value.length &&
    value.readUInt32LE(8) === crc32(value.subarray(12), value.readUInt32LE(0) + 1)
}
