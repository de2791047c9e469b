'use strict'

// Power cuts in a real process that uses this interface: its calls are recorded, some of those that were not fsynced are left out, and the
// log is opened in what is left. Of a transaction, all records have to be there or none; and everything that `onDrain` told of.
//
//     node test/async-append-only-log/power-cuts.js [--seconds 1] [--seed 1]

const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const { openLog } = require('./helpers/open')
const { processFolder } = require('../../../test/helpers/folder')
const { tryPowerCuts } = require('../../../test/helpers/power-cuts')
const { hasStrace } = require('../../../test/helpers/recorded-calls')
const { thorough } = require('../../../test/helpers/thorough')

const PROGRAM = path.join(__dirname, 'helpers', 'programs', 'traced-transactions.js')
/** Power cuts tried with the calls of one run of the program. */
const CUTS_PER_RUN = 40

const { values } = parseArgs({ options: { seconds: { type: 'string', default: thorough ? '4' : '1' }, seed: { type: 'string' } } })
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const RECORDERS = hasStrace() ? [false, true] : [false]
const folder = processFolder()

for (const strace of RECORDERS) {
  tape(`whatever a power cut leaves, all of a transaction is in the log or none of it, and all that was stored is (${strace ? 'strace' : 'the module fs'})`, async (t) => {
    t.comment(`--seed ${SEED} repeats it`)
    const until = Date.now() + Number(values.seconds) * 1000 / RECORDERS.length
    const counts = { runs: 0, cuts: 0, whole: 0, lost: 0, stored: 0 }
    let violation = null
    for (let seed = SEED; violation === null && (counts.runs === 0 || Date.now() < until); seed++) violation = await replay(seed, strace, counts)
    t.comment(JSON.stringify(counts))
    t.equal(violation, null, `${counts.cuts} power cuts`)
    t.ok(counts.runs > 0 && counts.cuts > 0)
  })
}

/** @returns {Promise<string | null>} what is wrong */
function replay (seed, strace, counts) {
  const root = path.join(folder, `${strace}-${seed}`)
  counts.runs++
  return tryPowerCuts({ folder, root, program: [PROGRAM, path.join(root, 'log'), String(seed)], seed, cuts: CUTS_PER_RUN, strace }, async (replayed, left, random, told) => {
    counts.cuts++
    if (told.length === 0) return null
    replayed.materialize(left, random)
    const log = openLog(path.join(left, 'log'), { blockSize: told[0].details.blockSize })
    // a compaction that was interrupted comes first
    await log.onDrain()
    const records = (await log.collect()).filter(({ value }) => value !== null).map(({ value }) => JSON.parse(value))
    await log.close()
    return problemOf(records, told, counts)
  })
}

/**
 * @param {Array<{ n: number, transaction?: number, first?: number, records?: number }>} records that are left
 * @param {Array<{ what: string, details: any }>} told by the program until the power went
 * @returns {string | null}
 */
function problemOf (records, told, counts) {
  const all = (wanted) => told.filter(({ what }) => what === wanted).map(({ details }) => details)
  const appended = all('appending').at(-1)?.upTo ?? 0
  const stored = Math.max(0, ...all('stored'))
  const deleting = new Set(all('deleting'))
  const found = new Set(records.map(({ n }) => n))
  const end = Math.max(-1, ...found) + 1
  if (records.some(({ n }, i) => i > 0 && n <= records[i - 1].n)) return 'records are not in their order'
  if (end > appended) return `record ${end - 1} was not appended`
  for (const n of all('deleted')) if (found.has(n)) return `record ${n} was deleted`
  for (let n = 0; n < Math.max(stored, end); n++) if (!found.has(n) && !deleting.has(n)) return `record ${n} is lost; ${stored} were stored, and the log goes on to ${end}`
  for (const { transaction, first, records: count } of records) {
    if (transaction !== undefined && end < first + count) return `of transaction ${transaction}, ${end - first} of ${count} records are left`
  }
  counts.whole += records.filter(({ n, first }) => n === first).length
  counts.lost += appended - end
  counts.stored += stored
  return null
}
