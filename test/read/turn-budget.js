'use strict'

// The time that answers from memory may take in one turn of the event loop: every kind of chain is interrupted.

const test = require('tape')
const pull = require('pull-stream')
const { systemClock } = require('../../lib/clock')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { pathFile } = require('../../lib/storage/path-file')
const { wrap } = require('../../promises')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')

const COUNT = 30000

/** A log for which time passes with each look at the clock: how fast the machine is does not matter. */
async function cachedLog () {
  let now = 0
  const clock = { ...systemClock, now: () => { now += 2; return now } }
  // a block of which all records are deleted would become one record later
  const settings = { ...settingsOf({ blockSize: 4096, cacheSize: 100e6 }), holes: false }
  const log = promises(createLog(pathFile(newFile(), settings), settings, clock))
  await log.append(Array.from({ length: COUNT }, () => Buffer.from('a record of the log')))
  const seqs = await collect(log.log, { values: false })
  return { ...log, seqs }
}

/** Repeats a chain until an immediate has run in the middle of it. */
async function isInterrupted (chain) {
  for (let attempt = 0; attempt < 100; attempt++) {
    let isRunning = true
    const turn = event(resolve => setImmediate(() => resolve(isRunning)))
    await chain()
    isRunning = false
    if (await turn) return true
  }
  return false
}

const chains = {
  'gets, each in the callback of the one before': ({ log, seqs }) => event(resolve => (function next (i) {
    if (i === COUNT) return resolve()
    log.get(seqs[i], () => next(i + 1))
  })(0)),
  'awaited gets': async ({ log, seqs }) => {
    const { get } = promises(log)
    for (const seq of seqs) await get(seq)
  },
  'awaited gets of the log with promises': async ({ log, seqs }) => {
    const wrapped = wrap(log)
    for (const seq of seqs) await wrapped.get(seq)
  },
  'awaited gets that fail': async ({ log, seqs }) => {
    const { get } = promises(log)
    for (const seq of seqs) await get(seq + 1).catch(() => {})
  },
  'awaited getPrevious': async ({ getPrevious, seqs }) => {
    for (const seq of seqs.slice(1, 3000)) await getPrevious(seq)
  },
  'awaited searches': async ({ search, seqs }) => {
    for (const seq of seqs.slice(0, 1000)) await search((_, other) => other - seq)
  },
  'for await': async ({ log }) => {
    let count = 0
    for await (const { seq } of wrap(log).stream()) if (seq >= 0) count++
    if (count !== COUNT) throw new Error(`${count} records`)
  },
  'a drain that loops over a stream': ({ log }) => event(resolve => pull(log.stream(), pull.drain(() => {}, resolve))),
  'a drain that loops backward': ({ log }) => event(resolve => pull(log.stream({ reverse: true }), pull.drain(() => {}, resolve))),
  'many streams of one record each': async ({ log, seqs }) => {
    for (const gte of seqs.slice(0, 3000)) await collect(log, { gte, limit: 1 })
  },
  'a scan': ({ log }) => event(resolve => log.scan({}, () => {}, resolve))
}

for (const [name, chain] of Object.entries(chains)) {
  test(`the event loop turns during ${name}`, async (t) => {
    const log = await cachedLog()
    t.ok(await isInterrupted(() => chain(log)))
    await log.close()
  })
}

test('the event loop turns while a stream passes nothing but deleted records', async (t) => {
  const log = await cachedLog()
  await log.del(log.seqs)
  t.ok(await isInterrupted(() => collect(log.log)))
  t.ok(await isInterrupted(() => event(resolve => log.log.scan({}, () => {}, resolve))), 'or a scan')
  t.ok(await isInterrupted(() => event(resolve => log.log.getPrevious(log.log.stats().size, resolve))), 'or getPrevious')
  t.ok(await isInterrupted(() => event(resolve => log.log.search(() => 0, resolve))), 'or a search')
  await log.close()
})

test('gets that were deferred to a later turn are answered before the log closes', async (t) => {
  const log = await cachedLog()
  const answers = []
  for (const seq of log.seqs) log.log.get(seq, (err, value) => answers.push(err ? err.code : String(value)))
  const isDeferred = answers.length < COUNT
  await log.close()
  t.comment(`some were deferred: ${isDeferred}`)
  t.equal(answers.length, COUNT)
  t.ok(answers.every(answer => answer === 'a record of the log'))
})
