'use strict'

// Random appends, deletions, trims and syncs of a log on a random-access-storage, which has no recovery point; at a random moment the power
// goes, or the process is killed: what was synced stays, but for what docs/api.md excuses there.
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
    const crashing = new Crashing(seed, counts)
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
