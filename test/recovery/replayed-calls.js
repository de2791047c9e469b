'use strict'

// A crash machine that works from what the program asks of the system: a writer's calls are
// recorded, some of those that were not fsynced are left out, and the log is opened in
// what is left. By strace where there is one, and by wrapping the module `fs`.
//
//     node test/recovery/replayed-calls.js [--seconds 4] [--seed 1] [--strace | --fs]

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const FlumeLog = require('../..')
const { processFolder } = require('../helpers/folder')
const { Model } = require('../helpers/replayed/model')
const { framesOf, reconcile } = require('../helpers/replayed/reconcile')
const { buffers } = require('../helpers/replayed/values')
const { tryPowerCuts } = require('../helpers/power-cuts')
const { hasStrace } = require('../helpers/recorded-calls')
const { promises } = require('../helpers/promises')
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
    const counts = { runs: 0, cuts: 0, found: 0, synced: 0, cut: 0 }
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
  let violation = null
  const model = modelOf(told.slice(1), sync, message => { violation ??= message })
  try {
    const log = promises(FlumeLog(file, { blockSize, checksum, ...buffers.options }))
    await log.onReady()
    const { cut } = log.log.stats()
    await log.close()
    if (cut !== null) counts.cut++
    const isClosed = ['closed', 'opened'].includes(told.at(-1).what)
    if (isClosed && cut !== null) violation ??= `a log that was closed is truncated to ${cut.offset}`
    const frames = framesOf(fs.readFileSync(file), blockSize, message => { violation ??= message })
    counts.found += frames.length
    counts.synced += model.records.filter(({ isDurable }) => isDurable).length
    reconcile(model, frames, { isCrash: true, isCertain: false, hasFaults: false })
  } catch (err) {
    violation ??= err.stack
  }
  return violation
}

/** What the program has told of, until the power went. */
function modelOf (told, sync, violate) {
  const model = new Model(buffers, violate)
  told.forEach(({ what, details }, moment) => {
    if (what === 'appending') {
      const { sizes, isAtomic } = details
      const batch = { isAtomic, hasCallback: true, madeAt: moment, mayBeRefused: false }
      for (const size of sizes) model.add(model.make(size, batch))
    } else if (what === 'appended') {
      const { first, seqs, isSynced } = details
      model.acknowledge(seqs.map((_, i) => model.byNumber.get(first + i)), seqs.map(seq => seq ?? undefined), moment)
      if (isSynced) synced(model, first + seqs.length - 1)
    } else if (what === 'synced' || what === 'closed') {
      synced(model, details.upTo)
      for (const seq of details.deleted) model.bySeq.get(seq).deletedAt = moment
    } else if (what === 'deleting') {
      for (const seq of details) model.bySeq.get(seq).deletingAt = moment
    } else if (what === 'deleted' && sync === 'always') {
      for (const seq of details) model.bySeq.get(seq).deletedAt = moment
    }
  })
  return model
}

/** All records up to this one are to stay. */
function synced (model, number) {
  for (const record of model.records) if (record.number <= number) record.isDurable = true
}
