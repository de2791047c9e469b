'use strict'

// What callers give may be used by them again at once, also while the log is being opened.

const tape = require('tape')
const FlumeLog = require('../..')
const { newFile } = require('../helpers/folder')
const { promises } = require('../helpers/promises')
const { codeOf, collect } = require('../helpers/reading')
const { machine, sharedLog } = require('../helpers/simulator/machine')

const BLOCK_SIZE = 64
const called = (call, ...args) => new Promise((resolve, reject) => call(...args, (err, result) => err ? reject(err) : resolve(result)))
const open = (file) => promises(FlumeLog(file, { blockSize: BLOCK_SIZE }))

/** A closed log with ten records, of which each fills most of a block. */
async function tenRecords () {
  const file = newFile()
  const log = open(file)
  await log.append(Array.from({ length: 10 }, (_, i) => Buffer.alloc(40, 1 + i)))
  await log.close()
  return { file, seqs: Array.from({ length: 10 }, (_, i) => i * BLOCK_SIZE) }
}

const CALLS = {
  'an array of records to be deleted': (log, seqs) => {
    const list = [seqs[1], seqs[2]]
    const done = log.del(list)
    list.splice(0, 2, seqs[5], seqs[6], seqs[7])
    return done
  },
  'a range to be deleted': (log, seqs) => {
    const range = { gte: seqs[1], lte: seqs[2] }
    const done = log.del(range)
    Object.assign(range, { gte: seqs[4], lte: seqs[8] })
    return done
  }
}

for (const [what, call] of Object.entries(CALLS)) {
  tape(`${what} can be changed after the call`, async (t) => {
    const { file, seqs } = await tenRecords()
    const log = open(file)
    await call(log, seqs)
    t.deepEqual(await collect(log.log, { values: false }), seqs.filter((_, i) => i !== 1 && i !== 2))
    await log.close()
  })
}

tape('the options of a trim can be changed after the call', async (t) => {
  const { file, seqs } = await tenRecords()
  const log = open(file)
  const options = { lt: seqs[3] }
  const trimmed = log.trim(options)
  options.lt = seqs[8]
  t.equal(await trimmed, seqs[3])
  t.deepEqual(await collect(log.log, { values: false }), seqs.slice(3))
  await log.close()
})

const READS = {
  stream: (log, options) => collect({ stream: () => log.log.stream(options) }).then(records => records.map(({ seq }) => seq)),
  batches: (log, options) => collect({ stream: () => log.log.batches(options) }).then(batches => batches.flat().map(({ seq }) => seq)),
  scan: async (log, options) => {
    const seqs = []
    await called(log.log.scan, options, (block, start, end, seq) => { seqs.push(seq) })
    return seqs
  }
}

for (const [name, read] of Object.entries(READS)) {
  tape(`the options of ${name} can be changed after the call`, async (t) => {
    const { file, seqs } = await tenRecords()
    const log = open(file)
    const expected = [seqs[2], seqs[1], seqs[0]]
    for (const state of ['opening', 'open']) {
      const options = { lt: seqs[3], reverse: true }
      const found = read(log, options)
      Object.assign(options, { lt: seqs[8], reverse: false, gt: null })
      t.deepEqual(await found, expected, state)
      await log.onReady()
    }
    await log.close()
  })
}

tape('a source reads what was asked for in the call that made it, whenever it is read', async (t) => {
  const { file, seqs } = await tenRecords()
  const log = open(file)
  await log.onReady()
  for (const name of ['stream', 'batches']) {
    const options = { gt: seqs[7], values: false }
    const source = log.log[name](options)
    options.gt = seqs[1]
    t.deepEqual((await collect({ stream: () => source })).flat(), seqs.slice(8), name)
  }
  await log.close()
})

tape('the options of a sink, a compaction and a backup can be changed after the call', async (t) => {
  const { file } = await tenRecords()
  const log = open(file)
  const steps = []
  const controller = new AbortController()
  const ofSink = { sync: true }
  const ofCompact = { onProgress: () => { steps.push('compact') } }
  const sink = log.log.sink(ofSink)
  const compacted = called(log.log.compact, ofCompact)
  ofSink.synch = true
  Object.assign(ofCompact, { onProgress: () => { steps.push('not given') }, signal: controller.signal })
  controller.abort()
  let end = null
  sink((abort) => { end = abort })
  await compacted
  t.equal(end, null, 'the sink reads')
  t.deepEqual([...new Set(steps)], ['compact'])
  const target = newFile()
  await called(log.log.backup, target)
  await log.append(Buffer.alloc(40, 11))
  const ofBackup = { full: false }
  const backedUp = called(log.log.backup, target, ofBackup)
  ofBackup.full = true
  t.ok((await backedUp).incremental)
  await log.close()
})

tape('a client of a shared log deletes what it was given, whatever is done with the array since', async (t) => {
  const { world, owner, join, settled, values } = await sharedLog()
  const client = await join()
  const second = await settled(owner.append('second'))
  await settled(owner.append('third'))
  // it does not know yet what the owner has appended
  const list = [second]
  const deleted = settled(client.del(list))
  list[0] = 0
  await deleted
  t.deepEqual(await values(owner), ['first', 'third'])
  world.end()
})

tape('what a bound throws is the error of a deletion or a trim, also while the log is being opened', async (t) => {
  const { world, settled } = machine()
  const log = world.start().require('./index')('/log', { blockSize: BLOCK_SIZE })
  const reason = new Error('a getter')
  const throwing = (thrown) => Object.defineProperty({}, 'lt', { enumerable: true, get () { throw thrown } })
  const called = (name, options) => new Promise((resolve, reject) => log[name](options, err => err ? reject(err) : resolve(undefined)))
  const errorOf = (promise) => settled(promise.then(() => null, err => err))
  for (const name of ['del', 'trim']) {
    for (const state of ['opening', 'open']) {
      t.equal(await errorOf(called(name, throwing(reason))), reason, `${name}, ${state}`)
      t.equal(await codeOf(settled(called(name, throwing(null)))), 'flumelog:invalid', `${name} of what is no error, ${state}`)
    }
  }
  t.deepEqual(world.problems, [])
  world.end()
})
