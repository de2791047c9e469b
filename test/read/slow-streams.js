'use strict'

// Streams that are pulled now and then, of a log and of a read-only one in the same file, while records are appended, deleted, trimmed by
// the caller and by `retain`, and the log is compacted and opened again. `RUNS=1000 SEED=1 node test/read/slow-streams.js` looks further;
// a seed finds the same steps again, and nearly the same order of events.

const fs = require('fs')
const tape = require('tape')
const { testFolder } = require('../helpers/folder')
const { readSlowly } = require('../helpers/slow-streams')
const { thorough } = require('../helpers/thorough')

const RUNS = Number(process.env.RUNS ?? (thorough ? 300 : 8))
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)

tape('a stream that is pulled slowly gives all records that stay, whatever is trimmed and compacted meanwhile, and `retain` leaves as many as it says', async (t) => {
  t.comment(`SEED=${SEED} repeats it`)
  const inFolder = testFolder(t)
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const { problems, trail } = await readSlowly(inFolder(`log-${seed}`), seed)
    if (problems.length > 0) return t.fail(`SEED=${seed}: ${problems.join('\n')}\nafter\n${trail.join('\n')}`)
    for (const name of fs.readdirSync(inFolder(''))) fs.rmSync(inFolder(name), { recursive: true })
  }
  t.pass(`${RUNS} runs`)
})
