'use strict'

// A client of a shared log, or a read-only reader, reads while another process appends, deletes, frees blocks, trims, compacts, and closes
// the log and opens it again: here all in one process, in which each read of the follower, and each message to it, is held back and
// goes on later, in a random order. Whatever a call is answered must be right for some moment between call and answer, and when
// nothing is held back any more, all calls are answered and the follower has all that the log has.
// `RUNS=10000 SEED=1 node test/read/ends.js` looks further; a seed finds the same steps again, and nearly the same order of events.

// first: it replaces functions of the file system
const { explore } = require('../helpers/exploration')
const fs = require('fs')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 500 : 15))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

// logs that something is wrong with may not be closed
tape.onFailure(() => setTimeout(() => process.exit(1), 5000).unref())

for (const kind of ['client', 'reader']) {
  tape(`a ${kind} that hears of everything late, and reads it in any order, is never wrong about the log`, async (t) => {
    t.comment(`SEED=${SEED} repeats it`)
    const inFolder = testFolder(t)
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const file = inFolder(`log-${seed}`)
      const { problems, trail } = await explore(file, seed, kind)
      if (problems.length > 0) return t.fail(`SEED=${seed}: ${problems.join('\n')}\nafter\n${trail.join('\n')}`)
      for (const name of fs.readdirSync(inFolder(''))) fs.rmSync(inFolder(name), { recursive: true })
    }
    t.pass(`${RUNS} runs`)
  })
}
