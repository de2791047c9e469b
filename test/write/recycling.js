'use strict'

// The memory of blocks that were written and that nobody has read is used again.

const tape = require('tape')
const fc = require('fast-check')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { part } = require('../helpers/part')
const { promises } = require('../helpers/promises')
const { testFolder } = require('../helpers/folder')
const { collect } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 40 : 15))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const readers = {
  get: (log, seq) => log.get(seq),
  getPrevious: async (log, seq, next) => (await log.getPrevious(next)).value,
  stream: async (log, seq) => (await collect(log.log, { gte: seq, limit: 1, seqs: false }))[0],
  search: async (log, seq) => (await log.search((value, at) => at - seq)).value,
  scan: (log, seq) => new Promise((resolve, reject) => {
    let found
    log.log.scan({ gte: seq, lte: seq }, (block, start, end) => { found = block.subarray(start, end) }, (err) => err ? reject(err) : resolve(found))
  })
}

const step = fc.record({ count: fc.integer({ min: 1, max: 60 }), reader: fc.constantFrom(...Object.keys(readers), 'none'), which: part() })

tape(`what a reader was given never changes, however much is appended later, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let runs = 0
  const blocks = fc.record({ blockSize: fc.constantFrom(128, 512, 4096), cacheSize: fc.constantFrom(0, 3000, 20000), isFollowed: fc.boolean() })
  await fc.assert(fc.asyncProperty(blocks, fc.array(step, { maxLength: 60 }), async ({ isFollowed, ...options }, steps) => {
    const log = promises(FlumeLog(folder(`log-${++runs}`), options))
    const held = []
    const expected = []
    if (isFollowed) {
      pull(log.log.stream({ live: true, seqs: false }), pull.drain((value) => {
        held.push({ value, text: String(value) })
      }))
    }
    const seqs = []
    for (const { count, reader, which } of steps) {
      for (let i = 0; i < count; i++) expected.push(`record ${expected.length}`.padEnd(30 + which * 60, '.'))
      seqs.push(...await Promise.all(expected.slice(-count).map(text => log.append(text))))
      if (reader === 'none') continue
      // mostly one of the last block, which is still in memory
      const index = seqs.length - 1 - Math.floor(which * (Math.min(seqs.length, 5) - 1))
      const value = await readers[reader](log, seqs[index], seqs[index + 1] ?? log.log.stats().size)
      held.push({ value, text: expected[index] })
    }
    const stored = (await collect(log.log, { seqs: false })).map(String)
    if (stored.some((text, i) => text !== expected[i]) || stored.length !== expected.length) throw new Error('the log has other records')
    const changed = held.find(({ value, text }) => String(value) !== text)
    if (changed !== undefined) throw new Error(`${changed.text} has become ${changed.value}`)
    await log.close()
  }), { numRuns: RUNS, seed: SEED })
  t.pass('nothing has changed')
})

tape('blocks that are written and not read do not displace the ones that are read', async (t) => {
  const log = promises(FlumeLog(testFolder(t)('log'), { blockSize: 4096, cacheSize: 64 * 1024 }))
  const record = 'x'.repeat(1000)
  const seqs = []
  for (let i = 0; i < 400; i++) seqs.push(await log.append(record))
  await collect(log.log)
  for (let i = 0; i < 40; i++) await log.get(seqs[i])
  const before = log.log.stats().cache
  for (let i = 0; i < 400; i++) await log.append(record)
  for (let i = 0; i < 40; i++) await log.get(seqs[i])
  const { misses, evictions } = log.log.stats().cache
  t.deepEqual([misses - before.misses, evictions - before.evictions], [0, 0])
  await log.close()
})
