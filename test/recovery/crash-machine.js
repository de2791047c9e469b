'use strict'

// Random appends, batches, deletes and syncs, with writes that fail; at a random moment
// the power goes, or the process is killed; the log is opened again and compared with what
// it acknowledged; and on, and on. In simulated time, so that a seed repeats all of it.
// `npm run test:crash` crashes 10,000 times.
//
//     node test/recovery/crash-machine.js [--crashes 60] [--seed 1]

const tape = require('tape')
const { parseArgs } = require('util')
const { Crashing } = require('../helpers/crashing')
const { thorough } = require('../helpers/thorough')

const { values } = parseArgs({ options: { crashes: { type: 'string', default: thorough ? '300' : '60' }, seed: { type: 'string' } } })
const CRASHES = Number(values.crashes)
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)

tape(`${CRASHES} crashes lose nothing that was acknowledged, and leave nothing that was not appended`, async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const counts = { crashes: 0, synced: 0, found: 0, deleted: 0, trimmed: 0, cut: 0, failed: 0 }
  const hadSomething = () => counts.found > 0 && counts.synced > 0 && counts.cut > 0 && counts.trimmed > 0 && counts.failed > 0
  // one seed in fifty draws no disk that fails
  const mustGoOn = () => counts.crashes < CRASHES || (CRASHES >= 60 && !hadSomething() && counts.crashes < 5 * CRASHES)
  for (let seed = SEED; mustGoOn(); seed++) await crash(seed, counts, counts.crashes < CRASHES ? CRASHES : Infinity)
  t.comment(JSON.stringify(counts))
  t.ok(hadSomething(), 'the crashes came while there was something to lose')
})

tape('a seed of the crash machine repeats everything that happened', async (t) => {
  for (let seed = SEED; seed < SEED + 3; seed++) {
    const hashes = [await crash(seed, {}, Infinity), await crash(seed, {}, Infinity)]
    t.equal(hashes[0], hashes[1], `--seed ${seed}`)
  }
})

/** @returns {Promise<number>} a checksum over all that happened */
async function crash (seed, counts, most) {
  const crashing = new Crashing(seed, counts)
  try {
    await crashing.run(most)
  } catch (err) {
    err.message += ` (--seed ${seed} --crashes ${crashing.lives} shows it)\n${crashing.history.join('\n')}`
    throw err
  }
  return crashing.hash
}
