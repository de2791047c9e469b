'use strict'

// A block of which every record is deleted becomes a hole: it takes no space, and its records
// stay deleted records.

const fs = require('fs')
const tape = require('tape')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { verify } = require('../../maintenance')
const { holeOf } = require('../../lib/format/hole')
const { testFolder } = require('../helpers/folder')
const { makeHoles } = require('../helpers/holes')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')

const BLOCK_SIZE = 32768
const PER_BLOCK = 32
const SYNCS = ['always', 'interval', 'never']

const openLog = (file, options) => promises(FlumeLog(file, { blockSize: BLOCK_SIZE, syncInterval: 1, ...options }))
const blockOf = (file, number) => fs.readFileSync(file).subarray(number * BLOCK_SIZE, (number + 1) * BLOCK_SIZE)
const canPunch = (log) => log.log.stats().holes !== false

/** @returns {Promise<number[]>} seqs of that many full blocks, and of one record more */
async function fill (log, blocks) {
  await log.append(Array.from({ length: blocks * PER_BLOCK + 1 }, (_, i) => Buffer.alloc(1000, 1 + i % 250)))
  return collect(log.log, { values: false })
}

for (const sync of SYNCS) {
  for (const checksum of [true, false]) {
    tape(`when the last record of a block is deleted, the block becomes a hole, at the latest when the log is closed: ${sync}, ${checksum ? 'with' : 'without'} checksums`, async (t) => {
      const file = testFolder(t)('log')
      const log = openLog(file, { sync, checksum })
      const seqs = await fill(log, 4)
      await log.sync()
      const before = log.log.stats().allocated
      for (const seq of seqs.slice(PER_BLOCK, 2 * PER_BLOCK)) await log.del(seq)
      for (const i of [0, 2 * PER_BLOCK]) await log.del(seqs[i])
      const kept = [...seqs.slice(1, PER_BLOCK), ...seqs.slice(2 * PER_BLOCK + 1)]
      t.deepEqual(await collect(log.log, { values: false }), kept)
      const size = log.log.stats().size
      await log.close()
      t.equal(fs.statSync(file).size, size, 'the size stays')
      t.ok(blockOf(file, 1).equals(holeOf(BLOCK_SIZE, checksum)))
      t.notOk(blockOf(file, 2).equals(holeOf(BLOCK_SIZE, checksum)), 'a block of which a record is left stays')
      // the file system may need a page or two for its lists of pages
      if (canPunch(log)) t.ok(before - fs.statSync(file).blocks * 512 >= BLOCK_SIZE - 8192 - 8192, 'its pages are free')
      const again = openLog(file, { sync, blockSize: undefined })
      t.deepEqual(await collect(again.log, { values: false }), kept)
      await again.close()
      const { corrupt, errors } = await verify(file)
      t.notOk(corrupt?.length || errors?.length, 'verify finds it valid')
    })
  }
}

tape('after a process was killed, opening the log frees the blocks that it was about to free', async (t) => {
  const folder = testFolder(t)
  const log = openLog(folder('log'), { sync: 'always' })
  const seqs = await fill(log, 4)
  await log.sync()
  await log.del({ gte: BLOCK_SIZE, lt: 3 * BLOCK_SIZE })
  // as the process may leave it: without what the file system has freed
  for (const name of ['log', 'log.meta']) fs.writeFileSync(folder(name.replace('log', 'killed')), fs.readFileSync(folder(name)))
  const before = fs.statSync(folder('killed')).blocks * 512
  const killed = openLog(folder('killed'), {})
  t.deepEqual(await collect(killed.log, { values: false }), [...seqs.slice(0, PER_BLOCK), ...seqs.slice(3 * PER_BLOCK)])
  if (canPunch(killed)) t.ok(before - killed.log.stats().allocated >= 2 * (BLOCK_SIZE - 8192) - 8192, 'its pages are free')
  await killed.close()
  await log.close()
})

tape('records in a hole are deleted ones, wherever they started', async (t) => {
  const log = openLog(testFolder(t)('log'), { sync: 'always' })
  const seqs = await fill(log, 3)
  await log.del(seqs.slice(PER_BLOCK, 2 * PER_BLOCK))
  await makeHoles(log.log)
  for (const seq of seqs.slice(PER_BLOCK, 2 * PER_BLOCK)) {
    t.equal(await codeOf(log.get(seq)), 'flumelog:deleted', `get of ${seq}`)
    await log.del(seq)
    t.equal((await log.getPrevious(seq)).seq, seqs[PER_BLOCK - 1], 'the one before it is the last that is left')
  }
  t.equal((await log.getPrevious(seqs[2 * PER_BLOCK])).seq, seqs[PER_BLOCK - 1])
  t.equal(await codeOf(log.get(seqs[0] + 1)), 'flumelog:not-found', 'elsewhere, a seq is one of a record')
  await log.close()
})

tape('readers that are within a block when it becomes a hole go on behind it, or in front of it', async (t) => {
  for (const sync of SYNCS) {
    for (const cacheSize of [0, 1 << 20]) {
      const log = openLog(testFolder(t)('log'), { sync, cacheSize })
      const seqs = await fill(log, 4)
      const ways = [{}, { reverse: true }, { live: true }]
      for (const [i, options] of ways.entries()) {
        const block = i + 1
        const first = block * PER_BLOCK
        const left = new Set(seqs.slice(first, first + PER_BLOCK))
        const sequence = options.reverse ? [...seqs].reverse() : seqs
        const at = sequence.indexOf(seqs[first + 5])
        const seen = []
        const before = await collect(log.log, { values: false })
        await new Promise((resolve, reject) => {
          pull(log.log.stream({ ...options, values: false }), pull.asyncMap((seq, cb) => {
            seen.push(seq)
            if (seq !== sequence[at]) return cb(null, seq)
            log.del([...left]).then(() => makeHoles(log.log)).then(() => cb(null, seq), cb)
          }), pull.take(seq => seq !== sequence.at(-1)), pull.onEnd(err => err && err !== true ? reject(err) : resolve()))
        })
        const after = new Set(await collect(log.log, { values: false }))
        const expected = (options.reverse ? before.reverse() : before).filter(seq => after.has(seq) || sequence.indexOf(seq) <= at)
        t.deepEqual(seen, expected, `${JSON.stringify(options)}, ${sync}, cache of ${cacheSize}`)
      }
      await log.close()
    }
  }
})

tape('a block that was emptied while it was the last one becomes a hole when it is full', async (t) => {
  const file = testFolder(t)('log')
  const log = openLog(file, { sync: 'interval' })
  for (let i = 0; i < 72; i++) await log.del(await log.append(Buffer.alloc(1000, 1)))
  await log.close()
  for (const number of [0, 1]) t.ok(blockOf(file, number).equals(holeOf(BLOCK_SIZE, true)), `block ${number}`)
  const again = openLog(file)
  t.deepEqual(await collect(again.log), [])
  t.equal(await again.append(Buffer.from('one')), 2 * BLOCK_SIZE + 8 * 1004, 'it goes on where it ended')
  await again.close()
})

tape('the last record keeps its place, so that since does not go back', async (t) => {
  const file = testFolder(t)('log')
  let log = openLog(file, { sync: 'always' })
  const seqs = await fill(log, 2)
  await log.del({ gte: 0 })
  for (let i = 0; i < 2; i++) {
    t.equal(log.log.since.value, seqs.at(-1))
    await log.close()
    log = openLog(file, { sync: 'always' })
    await log.onReady()
  }
  await log.close()
})
