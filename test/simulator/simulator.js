'use strict'

// Runs of several processes on a simulated machine (see test/helpers/simulator), each from a seed, compared with what
// docs/reliability.md promises. As a test, it makes a few; to explore more, or to see one again:
//
//     node test/simulator/simulator.js --minutes 600
//     node test/simulator/simulator.js --seed 17 --shrink --history
//
// Ctrl-C ends it after the run in progress, and prints what was run.

const fs = require('fs')
const path = require('path')
const v8 = require('v8')
const { parseArgs } = require('util')
const { LIMITS } = require('../helpers/simulator/modules')
const { runOf } = require('../helpers/simulator/run-of')
const { shrink } = require('../helpers/simulator/shrink')
const { World } = require('../helpers/simulator/world')
const { thorough } = require('../helpers/thorough')

const STEPS = 500
/**
 * Seeds that once failed. A change of what the simulator does makes another run of each, so those from before its last one are not kept.
 * @type {number[]}
 */
const FOUND = []

/**
 * Each simulated process has functions of its own, most of which run too seldom to be worth optimising: that took a fifth of the time. Those of V8 in
 * Node.js 20; others do not have them all.
 */
const FLAGS = ['--always-sparkplug', '--interrupt-budget=600000']

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    minutes: { type: 'string' },
    steps: { type: 'string', default: String(STEPS) },
    first: { type: 'boolean', default: false },
    progress: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    history: { type: 'boolean', default: false }
  }
})

// what a process has not finished when it is killed, nobody waits for
process.on('unhandledRejection', (err) => {
  if (/** @type {any} */ (err)?.code !== 'EDEAD') World.current?.problem(`unhandled rejection: ${/** @type {any} */ (err)?.stack ?? err}`)
})

if (process.argv.length > 2) explore()
else test()

/** @param {number} count */
function stepsUpTo (count) {
  return Array.from({ length: count }, (_, i) => i)
}

function test () {
  const tape = require('tape')
  // always the same ones: a run of others can find what nobody has repaired yet, and that is for those who explore
  const first = 1
  tape('each limit that is smaller in some runs is one of the code', (t) => {
    for (const [file, name] of LIMITS) t.match(fs.readFileSync(path.join(__dirname, '..', '..', 'lib', file), 'utf8'), new RegExp(`^const ${name} = `, 'm'), `${name} in ${file}`)
    t.end()
  })
  tape('a seed gives the same run again', async (t) => {
    const runs = [runOf(first), runOf(first)]
    for (const run of runs) await run.run(stepsUpTo(STEPS))
    t.ok(runs[0].world.history.length > 1)
    t.deepEqual(runs[0].world.history, runs[1].world.history)
  })
  const seeds = new Set([...stepsUpTo(thorough ? 400 : 5).map(i => first + i), ...FOUND])
  for (const seed of seeds) {
    tape(`processes that share a machine find what was acknowledged, whatever goes wrong (--seed ${seed})`, async (t) => {
      const problems = await runOf(seed).run(stepsUpTo(STEPS))
      t.deepEqual(problems, [])
    })
  }
}

async function explore () {
  if (process.versions.v8?.startsWith('11.')) for (const flag of FLAGS) v8.setFlagsFromString(flag)
  const first = Number(values.seed ?? Date.now() % 2 ** 31)
  const runs = Number(values.runs ?? (values.minutes === undefined ? 1 : Infinity))
  // of the processor's time: what a machine finds does not depend on what else it does
  const seconds = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6
  let end = seconds() + (values.minutes === undefined ? Infinity : Number(values.minutes) * 60)
  process.once('SIGINT', () => { end = 0 })
  const steps = stepsUpTo(Number(values.steps))
  const startedAt = seconds()
  const counts = { runs: 0, failed: 0, operations: 0, events: 0, simulatedSeconds: 0 }
  for (let seed = first; seed < first + runs && seconds() < end; seed++) {
    if (values.progress) fs.writeSync(1, `run ${seed} after ${(seconds() - startedAt).toFixed(1)} seconds\n`)
    let simulation = runOf(seed)
    const problems = await simulation.run(steps)
    counts.runs++
    counts.operations += simulation.operations
    counts.events += simulation.events
    counts.simulatedSeconds += simulation.time / 1000
    if (problems.length > 0) {
      counts.failed++
      console.log(`seed ${seed}: ${problems[0]}`)
      if (values.first) break
      if (values.shrink) ({ simulation } = await shrink(seed, steps))
    }
    if (values.history) console.log(simulation.world.history.join('\n'))
    // signals are handled between runs
    await new Promise(resolve => setImmediate(resolve))
  }
  const took = seconds() - startedAt
  console.log(`${counts.runs} runs from seed ${first}, ${counts.failed} failed; ${counts.operations} operations (${Math.round(counts.operations / took)} per second), ` +
    `${counts.events} events in ${Math.round(counts.simulatedSeconds)} simulated seconds; it took ${took.toFixed(1)} seconds of the processor`)
  if (counts.failed > 0) process.exitCode = 1
}
