'use strict'

// Power cuts in a real process: its calls are recorded, some of those that were not fsynced are left out, and the cursor is
// opened in what is left. It has to be at a position that was committed, not before the last durable one, and never at a
// record that the log has lost.
//
//     node test/cursors/power-cuts.js [--seconds 1] [--seed 1]

const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const { open } = require('../../promises')
const { processFolder } = require('../helpers/folder')
const { tryPowerCuts } = require('../helpers/power-cuts')
const { hasStrace } = require('../helpers/recorded-calls')
const { thorough } = require('../helpers/thorough')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'traced-cursor.js')
/** Power cuts tried with the calls of one run of the program. */
const CUTS_PER_RUN = 60

const { values } = parseArgs({ options: { seconds: { type: 'string', default: thorough ? '2' : '1' }, seed: { type: 'string' } } })
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const RECORDERS = hasStrace() ? [false, true] : [false]
const folder = processFolder()

for (const strace of RECORDERS) {
  tape(`whatever a power cut leaves, a cursor is at a committed position of the log (${strace ? 'strace' : 'the module fs'})`, async (t) => {
    t.comment(`--seed ${SEED} repeats it`)
    const until = Date.now() + Number(values.seconds) * 1000 / RECORDERS.length
    const counts = { runs: 0, cuts: 0, moved: 0, durable: 0, compacted: 0 }
    for (let seed = SEED; Date.now() < until; seed++) {
      const violation = await replay(seed, strace, counts)
      if (violation !== null) t.fail(violation)
      if (violation !== null) break
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.moved > 0 && counts.durable > 0, `${counts.cuts} power cuts`)
  })
}

/** @returns {Promise<string | null>} what is wrong */
function replay (seed, strace, counts) {
  const root = path.join(folder, `${strace}-${seed}`)
  counts.runs++
  return tryPowerCuts({ folder, root, program: [PROGRAM, path.join(root, 'log'), String(seed)], seed, cuts: CUTS_PER_RUN, strace }, async (replayed, left, random, told) => {
    counts.cuts++
    const positions = positionsAfter(told)
    replayed.materialize(left, random)
    const log = await open(path.join(left, 'log'))
    const cursor = log.cursor('consumer')
    const seq = await cursor.ready()
    const record = seq === -1 ? -1 : Number(/^record (\d+) /.exec(String(await log.get(seq)))[1])
    if (!positions.includes(record)) return `the cursor is at record ${record}; it may be at one of ${positions}`
    for await (const next of cursor.stream({ values: false })) if (next <= seq) return `${next} comes after ${seq}`
    if (seq !== -1) counts.moved++
    if (log.id !== '0') counts.compacted++
    if (!positions.includes(-1)) counts.durable++
    await log.close()
    return null
  })
}

/**
 * @param {Array<{ what: string, details: any }>} told by the program until the power went
 * @returns {number[]} the numbers of the records at which the cursor may be: at what was durable last, or at what was committed since
 */
function positionsAfter (told) {
  let positions = [-1]
  for (const { what, details } of told) {
    if (what === 'committing') positions.push(details.record)
    if (what === 'committed' && details.isDurable) {
      // of several commits that are gathered, the last one is stored
      const from = positions.indexOf(details.record)
      if (from !== -1) positions = positions.slice(from)
    }
  }
  return positions
}
