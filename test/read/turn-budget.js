'use strict'

// The time that answers from memory may take in one turn of the event loop: the budget by
// itself, on a simulated clock, and every kind of chain that it has to interrupt.

const test = require('tape')
const pull = require('pull-stream')
const RAM = require('random-access-memory')
const { systemClock } = require('../../lib/clock')
const { createLog } = require('../../lib/log')
const { settingsOf } = require('../../lib/options')
const { storageFile } = require('../../lib/storage/storage-file')
const { wrap } = require('../../promises')
const push = require('../../push')
const { TurnBudget, CHECK_INTERVAL, MAX_TURN_TIME } = require('../../lib/read/turn-budget')
const { promises } = require('../helpers/promises')
const { collect, event } = require('../helpers/reading')

/** A clock whose time the test sets, and whose turns it ends. */
class SimulatedClock {
  constructor () {
    this.time = 0
    this.immediates = []
    this.now = () => this.time
    this.setImmediate = (run) => this.immediates.push(run)
  }

  endTurn () {
    for (const run of this.immediates.splice(0)) run()
  }
}

function budgetAt (clock) {
  return new TurnBudget(clock)
}

/** Asks until the budget looks at the clock. */
function askOften (budget) {
  let spent = 0
  for (let i = 0; i < CHECK_INTERVAL; i++) if (budget.isSpent()) spent++
  return spent
}

test('a budget is spent when the turn has taken too long, and new in the next turn', (t) => {
  const clock = new SimulatedClock()
  const budget = budgetAt(clock)
  t.equal(askOften(budget), 0, 'the first look starts the turn\'s time')
  clock.time += MAX_TURN_TIME / 2
  t.equal(askOften(budget), 0, 'half of it is left')
  clock.time += MAX_TURN_TIME / 2
  t.equal(askOften(budget), 1, 'it is spent at the next look at the clock')
  t.ok(budget.isSpent(), 'and stays so')
  t.ok(budget.isSpent())
  clock.endTurn()
  clock.time += 100
  t.equal(askOften(budget), 0, 'the next turn has its own')
  t.end()
})

test('turns that ask rarely are never spent, however long they take', (t) => {
  const clock = new SimulatedClock()
  const budget = budgetAt(clock)
  let spent = 0
  for (let turn = 0; turn < 10 * CHECK_INTERVAL; turn++) {
    if (budget.isSpent()) spent++
    clock.time += 10
    clock.endTurn()
  }
  t.equal(spent, 0)
  t.end()
})

test('what is deferred runs in later turns, in order, for as long as each turn has time', (t) => {
  const clock = new SimulatedClock()
  const budget = budgetAt(clock)
  const ran = []
  const total = 5 * CHECK_INTERVAL
  for (let i = 0; i < total; i++) {
    budget.defer(() => {
      clock.time += MAX_TURN_TIME / CHECK_INTERVAL
      ran.push(i)
    })
  }
  let turns = 0
  while (ran.length < total && turns < 100) {
    clock.endTurn()
    turns++
  }
  t.deepEqual(ran, Array.from({ length: total }, (_, i) => i))
  t.ok(turns > 2 && turns <= 10, `${turns} turns`)
  clock.endTurn()
  t.deepEqual([clock.immediates.length, budget.deferred.length], [0, 0], 'nothing is left behind')
  t.end()
})

test('what a deferred call defers runs one turn later, and one that throws stops none of the others', (t) => {
  const clock = new SimulatedClock()
  const budget = budgetAt(clock)
  const ran = []
  budget.defer(() => { throw new Error('thrown by a caller') })
  budget.defer(() => {
    ran.push('second')
    budget.defer(() => ran.push('third'))
  })
  t.throws(() => clock.endTurn(), /thrown by a caller/)
  t.deepEqual(ran, [])
  clock.endTurn()
  t.deepEqual(ran, ['second'])
  clock.endTurn()
  t.deepEqual(ran, ['second', 'third'])
  t.end()
})

test('flush runs what is deferred at once, and nothing of it runs again', (t) => {
  const clock = new SimulatedClock()
  const budget = budgetAt(clock)
  const ran = []
  for (let i = 0; i < 3; i++) budget.defer(() => ran.push(i))
  budget.flush()
  t.deepEqual(ran, [0, 1, 2])
  clock.endTurn()
  t.deepEqual(ran, [0, 1, 2])
  t.end()
})

// Chains of answers from memory

const COUNT = 30000

/** A log for which time passes with each look at the clock: how fast the machine is does not matter. */
async function cachedLog () {
  let now = 0
  const clock = { ...systemClock, now: () => { now += 2; return now } }
  const settings = settingsOf({ blockSize: 4096, cacheSize: 100e6 })
  const log = promises(createLog(storageFile(new RAM(), settings), settings, clock))
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
  'a sink of a push-stream': ({ log }) => event(end => push(log).stream().pipe({ paused: false, write () {}, end })),
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
