'use strict'

// Compactions of logs that are appended to, or deleted from, without pause: they end, and what is copied while the log is held
// is bounded. What is counted are bytes and blocks, not time.

const fs = require('fs')
const tape = require('tape')
const { verify } = require('../../maintenance')
const { open } = require('../../promises')
const { Compaction } = require('../../lib/space/compaction')
const { ControlledFile } = require('../helpers/controlled-file')
const { testFolder } = require('../helpers/folder')
const { collect } = require('../helpers/reading')

const MIB = 1024 * 1024
/** Bytes that may be copied, and blocks in which deletions may be repeated, while nothing is written. */
const MAX_HELD = 6 * MIB
const MAX_HELD_BLOCKS = 256

tape('a compaction ends while large records are appended without pause, and holds them for a bounded number of bytes', async (t) => {
  const log = await open(testFolder(t)('log'), { large: true, sync: 'never' })
  const counts = counting(t)
  await fill(log, 8 * MIB, 50_000)
  // far more than has to be appended before it ends
  const appending = keepAppending(log, 1.5 * MIB + 7, 200)
  const { before } = await log.compact()
  await appending.stop()
  t.ok(appending.count < 200, `${appending.count} records were appended`)
  t.ok(counts.copied < 6 * before + 32 * MIB, `${counts.copied} bytes were copied of a log of ${before}`)
  t.ok(counts.held <= MAX_HELD, `${counts.held} of them while appends were held`)
  await log.close()
})

tape('a compaction ends while small records are appended without pause, and holds them for a bounded number of bytes', async (t) => {
  const log = await open(testFolder(t)('log'), { sync: 'never' })
  const counts = counting(t)
  await fill(log, 16 * MIB, 1000)
  // from each round to the next, more than it has copied
  const appending = keepAppending(log, 1000, 300_000, 4000)
  const { before } = await log.compact()
  await appending.stop()
  t.ok(appending.count < 300_000, `${appending.count} records were appended`)
  t.ok(counts.copied < 4 * before + 32 * MIB, `${counts.copied} bytes were copied of a log of ${before}`)
  t.ok(counts.held <= MAX_HELD, `${counts.held} of them while appends were held`)
  await log.close()
})

tape('a compaction ends while records are deleted all over the log, and repeats a bounded number of deletions while it holds them', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 1024, sync: 'never' })
  const counts = counting(t)
  const seqs = await Promise.all(Array.from({ length: 60_000 }, (_, n) => log.append(String(n).padStart(20, '.'))))
  /** Those that are left, by block. */
  const left = Array.from({ length: Math.floor(seqs.at(-1) / 1024) }, () => [])
  for (const seq of seqs) left[Math.floor(seq / 1024)]?.push(seq)
  await log.del(0)
  const deleted = []
  // before each fsync, one record of each block: all of them, or as many as the compaction lets through
  counts.onsync = async (compaction) => {
    const state = { isOver: false }
    const round = left.map(seqs => log.del(seqs.pop()))
    deleted.push(...round)
    Promise.all(round).then(() => { state.isOver = true }, () => {})
    while (!state.isOver && !compaction.isBehind) await new Promise(resolve => setImmediate(resolve))
  }
  await log.compact()
  await Promise.all(deleted)
  t.ok(counts.rounds < 15, `${counts.rounds} rounds`)
  t.ok(counts.heldBlocks <= MAX_HELD_BLOCKS, `in ${counts.heldBlocks} of ${left.length} blocks while deletions were held`)
  await log.close()
})

tape('a compaction goes on if a block is trimmed while it is read to repeat a deletion', async (t) => {
  const file = new ControlledFile(testFolder(t)('log'))
  const log = await file.open({ blockSize: 1024, cacheSize: 0 })
  const seqs = await appendNumbers(log)
  afterFirstRound(t, async () => {
    await log.del(seqs[20])
    file.held.add('read')
  })
  const compacting = log.compact()
  const read = await file.next('read')
  file.held.delete('read')
  const start = await log.trim({ lt: seqs[50] })
  read.finish()
  t.equal((await compacting).records, 100 - seqs.findIndex(seq => seq >= start))
  await log.close()
})

tape('what is trimmed after a compaction has copied it is not in the compacted log, and its space is freed', async (t) => {
  const path = testFolder(t)('log')
  const log = await open(path, { blockSize: 1024 })
  const seqs = await appendNumbers(log)
  let start = 0
  afterFirstRound(t, async () => { start = await log.trim({ lt: seqs[50] }) })
  const compacted = await log.compact()
  // before anything else is done
  const begin = log.start
  const [first] = await collect(log.flumelog, { limit: 1 })
  const left = seqs.filter(seq => seq >= start)
  t.equal(Number(String(first.value).replaceAll('.', '')), 100 - left.length, 'a stream begins with the first record that is left')
  t.deepEqual([begin, compacted.start, compacted.records], [first.seq - first.seq % 1024, begin, left.length], 'the log starts there already')
  await log.close()
  // the first block tells the block size
  t.ok(fs.readFileSync(path).subarray(1024, begin).every(byte => byte === 0), 'nothing is left in front of it')
  t.equal((await verify(path)).valid, true)
})

/** @returns {Promise<number[]>} the seqs of 100 records */
async function appendNumbers (log) {
  const seqs = []
  for (let n = 0; n < 100; n++) seqs.push(await log.append(String(n).padStart(100, '.')))
  return seqs
}

/** Does something when a compaction has copied blocks for the first time. */
function afterFirstRound (t, run) {
  const { copyBlocks } = Compaction.prototype
  const restore = () => Object.assign(Compaction.prototype, { copyBlocks })
  t.teardown(restore)
  Compaction.prototype.copyBlocks = async function (to) {
    restore()
    await copyBlocks.call(this, to)
    await run()
  }
}

/** Counts what compactions do from now on. */
function counting (t) {
  const counts = { copied: 0, held: 0, heldBlocks: 0, rounds: 0, onsync: null }
  const { catchUp, block, write, sync } = Compaction.prototype
  t.teardown(() => Object.assign(Compaction.prototype, { catchUp, block, write, sync }))
  const isHeld = ({ writer, isCopying }) => writer.state === 'operating' && !isCopying
  Object.assign(Compaction.prototype, {
    catchUp () {
      counts.rounds++
      return catchUp.call(this)
    },
    block (number) {
      if (isHeld(this)) counts.heldBlocks++
      return block.call(this, number)
    },
    write (bytes) {
      counts.copied += bytes
      if (isHeld(this)) counts.held += bytes
      return write.call(this, bytes)
    },
    async sync () {
      if (!isHeld(this)) await counts.onsync?.(this)
      return sync.call(this)
    }
  })
  return counts
}

/** Fills a log, and deletes the first record. */
async function fill (log, bytes, size) {
  await log.append(Array.from({ length: bytes / size }, () => Buffer.alloc(size, 'x')))
  await log.del(0)
}

/** Keeps so many appends in flight, up to a number of records. */
function keepAppending (log, size, most, inFlight = 4) {
  const data = Buffer.alloc(size, 'y')
  const state = { count: 0, isOver: false }
  const one = async () => {
    while (!state.isOver && state.count < most) {
      state.count++
      await log.append(data)
    }
  }
  const all = Promise.all(Array.from({ length: inFlight }, () => one()))
  return {
    get count () { return state.count },
    async stop () {
      state.isOver = true
      await all
    }
  }
}
