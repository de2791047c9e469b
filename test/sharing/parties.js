'use strict'

// The same comparison with an array, with each call made by another process of a shared log: the owner, or one of
// two clients. What a process was acknowledged, it sees at once; what others were, after a call to the owner. All
// the time, each of them reads what it likes, so that answers come while it is reading.

const tape = require('tape')
const fc = require('fast-check')
const pull = require('pull-stream')
const FlumeLog = require('../..')
const { modelOf } = require('../helpers/model')
const { compareWithModel, setting, step } = require('../helpers/model-steps')
const { randomFrom } = require('../helpers/random')
const { testFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 100 : 30))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const CLIENTS = 2
/** What a read at any place may get. */
const READ_ERRORS = ['flumelog:deleted', 'flumelog:trimmed', 'flumelog:not-found', 'flumelog:closed']

tape(`the processes of a shared log together behave like an array, in ${RUNS} random runs`, async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const folder = testFolder(t)
  let runs = 0
  await fc.assert(fc.asyncProperty(setting, fc.array(step, { maxLength: 40 }), fc.integer(), async (settings, steps, seed) => {
    const file = folder(`log-${runs++}`)
    const owner = FlumeLog(file, { ...settings, shared: true })
    await called(cb => owner.onReady(cb))
    const model = modelOf(settings, true)
    await compareWithModel(async (options) => {
      const clients = Array.from({ length: CLIENTS }, () => FlumeLog(file, { ...options, shared: true }))
      await Promise.all(clients.map(client => called(cb => client.onReady(cb))))
      return together(owner, clients, settings, model, randomFrom(seed))
    }, settings, steps, model)
    await called(cb => owner.close(cb))
  }), { numRuns: RUNS, seed: SEED })
  t.pass('no difference was found')
})

/**
 * @returns {any} a log of which each call is made by one of these
 */
function together (owner, clients, { large }, model, random) {
  const all = [owner, ...clients]
  /** Who has made the last call. */
  let last = owner
  /** What goes wrong beside the calls. @type {Error | null} */
  let problem = null
  const check = (err) => { if (err && err !== true && !READ_ERRORS.includes(err.code)) problem ??= err }

  /** Clients are not told that another one has trimmed the log: they learn it when they read there. */
  const informed = (log) => log.start === owner.start ? log : owner
  const pick = (choices = all) => {
    for (const log of all) {
      for (let reads = random.below(4); reads > 0; reads--) read(log)
    }
    return random.pick(choices)
  }
  const read = (log) => {
    const { records } = model
    const seq = records.length === 0 ? 0 : records[random.below(records.length)].seq
    if (random() < 0.7) log.get(seq, check)
    else if (random() < 0.5) pull(log.stream({ gte: seq, fromStart: true, limit: 5 }), pull.onEnd(check))
    // it waits at the end, where it ends without a record, or with the next
    else pull(log.stream({ live: true, old: false, limit: 1 }), pull.onEnd(check))
  }
  /** Makes a call by one of them, to which the owner has told what the others have done. */
  const call = (name, choices) => (...args) => {
    const cb = args.pop()
    let log = pick(choices)
    const make = () => {
      if (['get', 'getPrevious', 'search', 'scan'].includes(name)) log = informed(log)
      last = log
      log[name](...args, (err, ...results) => {
        if (problem !== null) return cb(problem)
        if (err || !['del', 'trim'].includes(name)) return cb(err, ...results)
        // what it is told now, it sees now
        const gone = model.records.filter(({ seq, parts }) => name === 'trim' ? Math.min(seq, ...parts) < results[0] : isIn(args[0], seq))
        Promise.all(gone.slice(-5).map(({ seq }) => called(cb => log.get(seq, cb)).then(
          () => { throw new Error(`${name} was acknowledged to the ${log.role}, which reads ${seq} still`) },
          (err) => { if (!READ_ERRORS.includes(err.code)) throw err }
        ))).then(() => cb(null, ...results), cb)
      })
    }
    if (log === last || log === owner) make()
    else log.sync(err => err ? cb(err) : make())
  }

  return {
    // a client places a large record as if it knew no block
    append: call('append', large ? clients : all),
    ...Object.fromEntries(['get', 'getPrevious', 'search', 'del', 'trim', 'reclaim', 'sync', 'scan', 'onReady', 'onDrain'].map(name => [name, call(name)])),
    stream (options) {
      const log = pick()
      let source = null
      return (end, cb) => {
        const go = (err) => {
          if (err) return cb(err)
          last = informed(log)
          source ??= last.stream({ fromStart: true, ...options })
          source(end, cb)
        }
        if (source !== null || end) go()
        else log.sync(go)
      }
    },
    get since () { return last.since },
    stats: () => last.stats(),
    close (cb) {
      last = owner
      Promise.all(clients.map(client => called(cb => client.close(cb)))).then(() => cb(problem), cb)
    }
  }
}

/** @returns {boolean} whether a seq is one of those, or in that range */
function isIn (deleted, seq) {
  if (typeof deleted === 'number') return seq === deleted
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = deleted
  return seq > gt && seq >= gte && seq < lt && seq <= lte
}

/** @returns {Promise<any>} what `start` calls back with */
function called (start) {
  return new Promise((resolve, reject) => start((err, result) => err ? reject(err) : resolve(result)))
}
