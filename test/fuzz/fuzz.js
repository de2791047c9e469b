'use strict'

// Random lives of logs with many operations in progress, on simulated disks and on real
// files; see test/helpers/fuzz. Each failure comes with the seed that repeats it.
//
//     node test/fuzz/fuzz.js [--seconds 10] [--seed 1 [--kind 'full disk'] [--lives 1]] [--ignore REGEXP] [--all]

const tape = require('tape')
const { parseArgs } = require('util')
const { live, NAMES } = require('../helpers/fuzz/life')
const { shrink } = require('../helpers/fuzz/shrink')
const { processFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: thorough ? '30' : '2' },
    seed: { type: 'string' },
    kind: { type: 'string' },
    lives: { type: 'string', default: 'Infinity' },
    // violations that are known, as a regular expression
    ignore: { type: 'string' },
    // goes on after a failure, and prints one line for each
    all: { type: 'boolean', default: false }
  }
})
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const KINDS = values.kind === undefined ? NAMES : [values.kind]
const SECONDS = Number(values.seconds) / KINDS.length
const LIVES = Number(values.lives)

const options = { folder: processFolder(), ignored: values.ignore === undefined ? null : new RegExp(values.ignore) }

for (const kind of KINDS) {
  tape(`whatever a log is asked at once, it answers each call once, and as the model does: ${kind}`, async (t) => {
    t.comment(`--seed ${SEED} --kind '${kind}' repeats it`)
    const until = Date.now() + SECONDS * 1000
    let lives = 0
    let operations = 0
    let failures = 0
    for (let seed = SEED; lives < LIVES && Date.now() < until; seed++) {
      const life = await live(kind, seed, options)
      lives++
      operations += life.operations
      if (life.violation === null) continue
      failures++
      if (values.all) {
        t.comment(`--seed ${seed} --kind '${kind}': ${life.violation.split('\n').slice(0, 2).join(' ')}`)
        continue
      }
      const { violation, history, operations: least } = await shrink(kind, seed, life, options)
      t.comment(history.join('\n'))
      t.fail(`${violation} (after ${least} operations; --seed ${seed} --kind '${kind}' --lives 1 shows it)`)
      break
    }
    t.equal(failures, 0, `${lives} lives, ${operations} operations`)
  })
}

tape('a seed repeats everything that happens in simulated time', async (t) => {
  for (const [kind, seed] of [['disk', 1], ['faults', 2], ['full disk', 3], ['answers at once', 4], ['failed syncs', 5]]) {
    const [first, second] = [await live(kind, seed, options), await live(kind, seed, options)]
    t.equal(first.hash, second.hash, `--seed ${seed} --kind '${kind}'`)
    t.ok(first.operations > 0)
  }
})
