'use strict'

// Runs the same workload repeatedly, failing its 1st operation on the disk, then its 2nd, its
// 3rd, until a run completes without a fault; without `--thorough`, every third one.

const tape = require('tape')
const pull = require('pull-stream')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { Disk, randomFrom } = require('../helpers/disk')
const { promises } = require('../helpers/promises')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Every operation goes wrong, or every third one, by turns. */
const STEP = thorough ? 1 : 3
const BLOCK_SIZE = 128
const EXPECTED = ['EIO', 'ENOSPC', 'EPARTIALREAD']

for (const sync of ['always', 'interval', 'never']) {
  for (const fate of ['fail', 'tear', 'hold']) {
    const what = { fail: 'fails', tear: 'fails halfway', hold: 'takes long' }[fate]
    tape(`with sync '${sync}', whichever operation ${what}, nothing acknowledged is lost and the log remains usable`, async (t) => {
      t.comment(`SEED=${SEED} repeats it`)
      let runs = 0
      for (let n = 1 + SEED % STEP; ; n += STEP) {
        const reached = await life({ sync, fate, n })
        runs++
        if (!reached) break
      }
      t.ok(runs > 10, `${runs} runs`)
    })
  }
}

tape('after a failed sync every append gets flumelog:failed until the log is opened again', async (t) => {
  const disk = new Disk()
  const log = open(disk, { sync: 'always' })
  await log.append(record(1))
  disk.kinds = ['sync']
  disk.plan.set(1, 'fail')
  disk.operations = 0
  t.equal(await codeOf(log.append(record(2))), 'flumelog:failed')
  t.equal(await codeOf(log.append(record(3))), 'flumelog:failed')
  t.equal(await codeOf(log.append([record(4), record(5)])), 'flumelog:failed')
  t.equal(await codeOf(log.sync()), 'flumelog:failed')
  t.equal(await codeOf(log.del(0)), 'flumelog:failed')
  t.deepEqual(await numbersIn(log), [1], 'reading goes on')
  t.equal(await codeOf(log.close()), 'flumelog:failed', 'close tells it once more')

  const again = open(disk, { sync: 'always' })
  t.deepEqual((await numbersIn(again)).slice(0, 1), [1])
  await again.append(record(6))
  t.equal((await numbersIn(again)).pop(), 6, 'appending works again')
  await again.close()
})

tape('a failed sync in the background fails the appends that follow it', async (t) => {
  const disk = new Disk()
  const log = open(disk, { sync: 'interval', syncBytes: 200 })
  await log.append(record(1))
  disk.kinds = ['sync']
  disk.plan.set(1, 'fail')
  disk.operations = 0
  const codes = []
  for (let i = 2; i < 30; i++) codes.push(await codeOf(log.append(record(i, 40))))
  const failed = codes.indexOf('flumelog:failed')
  t.ok(failed > 0, `append ${failed + 2} was the first to get flumelog:failed`)
  t.ok(codes.slice(failed).every(code => code === 'flumelog:failed'), 'so did all after it')
  t.deepEqual(await numbersIn(log), Array.from({ length: failed + 1 }, (_, i) => i + 1), 'those before it are there')
  await codeOf(log.close())
})

tape('a failed read is reported to its caller, and the next call reads again', async (t) => {
  const disk = new Disk()
  const first = open(disk, {})
  for (let i = 1; i < 40; i++) await first.append(record(i, 40))
  await first.close()
  const log = open(disk, {})
  await log.onReady()
  disk.kinds = ['read']
  disk.operations = 0
  disk.plan.set(1, 'fail')
  const [one, two] = await Promise.all([codeOf(log.get(0)), codeOf(log.get(BLOCK_SIZE * 3))])
  t.equal(one, 'EIO', 'the first gets the error')
  t.equal(two, null, 'another, of another block, does not')
  t.equal(number(await log.get(0)), 1, 'asked again, it is there')
  await log.close()
})

tape('a batch is stored completely or not at all when a write fails', async (t) => {
  for (let n = 1; n < 12; n++) {
    const disk = new Disk({ random: randomFrom(n) })
    const log = open(disk, { sync: 'interval' })
    await log.append(record(1))
    disk.kinds = ['write']
    disk.operations = 0
    disk.plan.set(1 + n % 3, n % 2 ? 'tear' : 'fail')
    const batches = [2, 3, 4, 5, 6].map(i => Array.from({ length: 30 }, () => record(i, 40)))
    const codes = []
    for (const batch of batches) codes.push(await codeOf(log.append(batch)))
    const counts = new Map()
    for (const i of await numbersIn(log)) counts.set(i, (counts.get(i) ?? 0) + 1)
    for (const [i, code] of codes.entries()) {
      const stored = counts.get(i + 2) ?? 0
      if (stored !== (code === null ? 30 : 0)) t.fail(`batch ${i + 2} got ${code}, and ${stored} of its records are there`)
    }
    await log.close()
  }
  t.pass('so they are')
})

/**
 * @returns {Promise<boolean>} whether the operation that was to go wrong was reached
 */
async function life ({ sync, fate, n }) {
  const disk = new Disk({ random: randomFrom(n) })
  disk.plan.set(n, fate)
  const acknowledged = []
  const erased = []
  const maybe = []
  const unclear = new Set()
  let log
  let next = 1

  const tryTo = async (call, then) => {
    const code = await codeOf(call)
    if (code === null) then()
    else if (![...EXPECTED, 'flumelog:failed'].includes(code)) throw new Error(`run ${n}: an error ${code}`)
    return code
  }
  const append = async (size, options) => {
    const i = next++
    const code = await tryTo(log.append(record(i, size), options), () => acknowledged.push(i))
    if (code === 'flumelog:failed') unclear.add(i)
  }

  for (let opening = 0; opening < 3; opening++) {
    log = open(disk, { sync, syncBytes: 300, syncInterval: 1 })
    // a failed open may be retried
    if (await codeOf(log.onReady()) !== null) {
      await log.close()
      log = open(disk, { sync, syncBytes: 300, syncInterval: 1 })
      await log.onReady()
    }
    await append(20)
    await append(70, { sync: true })
    await append(100)
    const batch = [next++, next++, next++]
    const code = await tryTo(log.append(batch.map(i => record(i, 50))), () => acknowledged.push(...batch))
    if (code === 'flumelog:failed') for (const i of batch) unclear.add(i)
    await Promise.all([append(10), append(90), append(30), append(60)])
    const before = await codeOf(log.sync())
    if (before !== null && before !== 'flumelog:failed') throw new Error(`run ${n}: sync gave ${before}`)
    const all = await outcomeOf(streamOf(log))
    if (all !== null && all.length > 2) {
      const { seq, value } = all[all.length - 2]
      const i = number(value)
      maybe.push(i)
      await tryTo(log.del(seq), () => erased.push(i))
    }
    await append(80)
    // streaming again after an error yields everything
    await outcomeOf(streamOf(log))
    check(await numbersIn(log), 'while it was open')
    await codeOf(log.close())
  }
  log = open(disk, { sync })
  // a failed read must not be mistaken for the end of the log
  if (await codeOf(log.onReady()) !== null) log = open(disk, { sync })
  await outcomeOf(streamOf(log))
  check(await numbersIn(log), 'after it was opened again')
  await codeOf(log.close())
  return disk.operations >= n

  function check (found, when) {
    const missing = acknowledged.filter(i => !found.includes(i) && !maybe.includes(i))
    if (missing.length > 0) throw new Error(`run ${n}: ${missing} acknowledged, not there ${when}`)
    const wrong = found.filter(i => !acknowledged.includes(i) && !unclear.has(i))
    if (wrong.length > 0) throw new Error(`run ${n}: ${wrong} got an error, there ${when}`)
    const back = erased.filter(i => found.includes(i))
    if (back.length > 0) throw new Error(`run ${n}: ${back} deleted, there ${when}`)
    if (found.some((i, at) => at > 0 && found[at - 1] >= i)) throw new Error(`run ${n}: out of order ${when}: ${found}`)
  }
}

function open (disk, options) {
  return promises(createLog(disk.file('log'), settingsOf({ blockSize: BLOCK_SIZE, ...options })))
}

function record (i, size = 20) {
  const value = Buffer.alloc(size, 1)
  value.writeUInt32LE(i)
  return value
}

const number = (value) => value.readUInt32LE()

function streamOf ({ log }) {
  return new Promise((resolve, reject) => pull(log.stream(), pull.collect((err, all) => err ? reject(err) : resolve(all))))
}

async function numbersIn (log) {
  return (await streamOf(log)).map(({ value }) => number(value))
}

const outcomeOf = (promise) => promise.catch(() => null)

/** @returns {Promise<string | null>} null if all went well */
const codeOf = (promise) => promise.then(() => null, err => err.code)
