'use strict'

// The crash machine for a log on a random-access-storage, which has no recovery point: what was synced stays, but for what
// docs/reliability.md excuses there.
//
//     node test/recovery/storage-crashes.js [--crashes 150] [--seed 1]

const tape = require('tape')
const { parseArgs } = require('util')
const { Crashing } = require('../helpers/crashing')
const { thorough } = require('../helpers/thorough')

const { values } = parseArgs({ options: { crashes: { type: 'string', default: thorough ? '1000' : '150' }, seed: { type: 'string' } } })
const CRASHES = Number(values.crashes)
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)

/** Runs disks from this seed on, until there were so many crashes. */
async function crash (seed, most, counts) {
  for (; counts.crashes < most; seed++) {
    const crashing = new Crashing(seed, counts, { isStorage: true })
    await crashing.run(most).catch(err => {
      err.message += ` (--seed ${seed} --crashes ${crashing.lives} shows it)\n${crashing.history.join('\n')}`
      throw err
    })
  }
}

tape(`${CRASHES} crashes of a storage lose nothing that was synced, and bring nothing back that was deleted or trimmed`, async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const counts = { crashes: 0, synced: 0, deleted: 0, excused: 0 }
  await crash(SEED, CRASHES, counts)
  t.comment(JSON.stringify(counts))
  t.ok(counts.synced > 0 && counts.deleted > 0, 'the crashes came while there was something to lose')
})

tape('what was found by these seeds stays repaired', async (t) => {
  for (const [seed, what] of [
    [169, 'what a killed process has written is durable once the log was opened again and synced'],
    [105, 'a trim that was answered holds after a power cut'],
    [104, 'a record that del calls trimmed does not come back']
  ]) {
    const counts = { crashes: 0 }
    await new Crashing(seed, counts, { isStorage: true }).run(Infinity)
    t.ok(counts.crashes > 0, what)
  }
})
