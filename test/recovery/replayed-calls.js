'use strict'

// The simulated machine (test/simulator/simulator.js) is like the real one: a writer's system calls are recorded, some of those that were not fsynced
// are left out, and the log that is opened in what is left is compared with the same model. By strace where there is one, and by wrapping the module `fs`.
//
//     node test/recovery/replayed-calls.js [--seconds 4] [--seed 1] [--strace | --fs]

const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const FlumeLog = require('../..')
const { processFolder } = require('../helpers/folder')
const { isIntact, numbered } = require('../helpers/numbered')
const { tryPowerCuts } = require('../helpers/power-cuts')
const { hasStrace } = require('../helpers/recorded-calls')
const { promises } = require('../helpers/promises')
const { collect } = require('../helpers/reading')
const { Model, nameOf } = require('../helpers/simulator/model')
const { thorough } = require('../helpers/thorough')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'traced-writer.js')
/** Power cuts tried with the calls of one run of the program. */
const CUTS_PER_RUN = 60

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: thorough ? '8' : '1' }, seed: { type: 'string' }, strace: { type: 'boolean' }, fs: { type: 'boolean' } }
})
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const RECORDERS = [
  { name: 'the module fs', strace: false, isWanted: values.fs || !values.strace },
  { name: 'strace', strace: true, isWanted: values.strace || (!values.fs && hasStrace()) }
].filter(({ isWanted }) => isWanted)
const SECONDS = Number(values.seconds) / RECORDERS.length

const folder = processFolder()

for (const { name, strace } of RECORDERS) {
  tape(`whatever a power cut leaves of the calls that were not fsynced, the promises hold (${name})`, async (t) => {
    t.comment(`--seed ${SEED} ${strace ? '--strace' : '--fs'} repeats it`)
    const until = Date.now() + SECONDS * 1000
    const counts = { runs: 0, cuts: 0, found: 0, synced: 0 }
    const hadSomething = () => counts.found > 0 && counts.synced > 0
    // on a busy machine there is time for one run only
    const throwIfStopped = () => Date.now() < until || (!hadSomething() && counts.runs < 20)
    for (let seed = SEED; throwIfStopped() && counts.violation === undefined; seed++) await replay(seed, strace, counts)
    t.comment(JSON.stringify(counts))
    t.equal(counts.violation, undefined, `${counts.cuts} power cuts`)
    t.ok(hadSomething(), 'there was something to lose')
  })
}

/** One run of the program, and many power cuts in it. */
async function replay (seed, strace, counts) {
  const root = path.join(folder, `${strace ? 'strace' : 'fs'}-${seed}`)
  counts.runs++
  const violation = await tryPowerCuts({ folder, root, program: [PROGRAM, path.join(root, 'log'), String(seed)], seed, cuts: CUTS_PER_RUN, strace }, (replayed, left, random, told) => {
    counts.cuts++
    if (told.length === 0) return Promise.resolve(null)
    replayed.materialize(left, random)
    return problemOf(path.join(left, 'log'), told, counts)
  })
  if (violation !== null) counts.violation = violation
}

/** @returns {Promise<string | null>} what is wrong */
async function problemOf (file, told, counts) {
  const { details: { blockSize, checksum, sync } } = told[0]
  const problems = []
  const model = modelOf(told.slice(1), sync, problem => problems.push(problem))
  const log = promises(FlumeLog(file, { blockSize, checksum, validate: isIntact }))
  await log.onReady()
  const { cut } = log.log.stats()
  const records = (await collect(log.log)).map(({ seq, value }) => ({ seq, text: textOf(value) }))
  await log.close()
  counts.found += records.length
  counts.synced += [...model.entries.values()].filter(({ isDurable }) => isDurable).length
  if (['closed', 'opened'].includes(told.at(-1).what) && cut !== null) problems.push(`a log that was closed is truncated to ${cut.offset}`)
  const entries = [...model.entries.values()]
  const seen = model.recovered(records, 'after a power cut', '0')
  // no call has failed
  const missing = entries.find((entry, i) => !seen.has(entry) && entry.deletion === 'no' && entries.slice(i).some(later => seen.has(later)))
  if (missing !== undefined) problems.push(`${nameOf(missing)} is lost, and a later one is there`)
  return problems[0] ?? null
}

/** What the program has told of, until the power went. */
function modelOf (told, sync, problem) {
  const model = new Model(problem, false)
  const entryAt = (seq) => [...model.entries.values()].find(entry => entry.seq === seq)
  for (const { what, details } of told) {
    if (what === 'appending') {
      const { first, sizes, isAtomic } = details
      sizes.forEach((size, i) => model.add(textOf(numbered(first + i, size)), 0, first + i, isAtomic ? String(first) : null))
    } else if (what === 'appended') {
      const { first, seqs, isSynced } = details
      const entries = [...model.entries.values()].slice(first - 1)
      seqs.forEach((seq, i) => Object.assign(entries[i], { state: 'acknowledged', isDurable: isSynced, ...seq === null ? {} : { seq, id: '0' } }))
    } else if (what === 'synced' || what === 'closed') {
      for (const entry of model.entries.values()) if (entry.n <= details.upTo) Object.assign(entry, { state: 'acknowledged', isDurable: true })
      for (const seq of details.deleted) Object.assign(entryAt(seq), { deletion: 'acknowledged', isDeletionDurable: true })
    } else if (what === 'deleting') {
      for (const seq of details) if (entryAt(seq).deletion === 'no') entryAt(seq).deletion = 'asked'
    } else if (what === 'deleted') {
      for (const seq of details) Object.assign(entryAt(seq), { deletion: 'acknowledged', isDeletionDurable: sync === 'always' || entryAt(seq).isDeletionDurable })
    }
  }
  model.powerCut()
  return model
}

/** @param {Buffer} record */
function textOf (record) {
  return record.toString('latin1')
}
