'use strict'

// What a power cut leaves of a compaction, by the calls that were made and fsynced: the log is as it was or compacted, with all
// that was durable.
//
//     node test/space/compaction-power-cuts.js [--seconds 1.5] [--seed 1]

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const { open } = require('../../promises')
const { processFolder } = require('../helpers/folder')
const { tryPowerCuts } = require('../helpers/power-cuts')
require('../helpers/small-steps')
const { thorough } = require('../helpers/thorough')
const { OffsetMap } = require('../../lib/space/offset-map')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'traced-compactor.js')
const CUTS_PER_RUN = 25

const { values } = parseArgs({ options: { seconds: { type: 'string', default: thorough ? '3' : '1' }, seed: { type: 'string' } } })
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const folder = processFolder()

tape('a power cut during a compaction leaves the log as it was, or compacted, with all that was durable and the id that belongs to it', async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const until = Date.now() + Number(values.seconds) * 1000
  const counts = { cuts: 0, compacted: 0, found: 0, interrupted: 0 }
  let problem = null
  for (let seed = SEED; (seed === SEED || Date.now() < until) && problem === null; seed++) problem = await replay(seed, counts)
  t.comment(JSON.stringify(counts))
  t.equal(problem, null, `${counts.cuts} power cuts`)
  t.ok(counts.found > 0)
})

/** @returns {Promise<string | null>} what is wrong */
function replay (seed, counts) {
  const root = path.join(folder, `run-${seed}`)
  // most of them while it is compacted: there are renames
  const from = (events) => events.findIndex(({ path: name }) => String(name).endsWith('.unfinished'))
  return tryPowerCuts({ folder, root, program: [PROGRAM, path.join(root, 'log'), String(seed)], seed, cuts: CUTS_PER_RUN, from }, (replayed, left, random, told) => {
    counts.cuts++
    replayed.materialize(left, random)
    return problemOf(path.join(left, 'log'), told, counts)
  })
}

/** @returns {Promise<string | null>} what is wrong, also after another compaction */
async function problemOf (file, told, counts) {
  const wasInterrupted = fs.existsSync(file + '.unfinished')
  const problem = await problemNow(file, told, counts) ?? await problemOfId(file, all(told, 'id').at(-1) ?? '0')
  if (problem !== null) return problem
  if (wasInterrupted) counts.interrupted++
  const log = await open(file, told.find(({ what }) => what === 'settings')?.details)
  await log.compact()
  await log.close()
  const after = await problemNow(file, [...told, { what: 'appending', details: ['after it'] }], counts)
  return after && `compacted again: ${after}`
}

/** @returns {Promise<string | null>} what is wrong */
async function problemNow (file, told, counts) {
  const [durable, deleting, deleted] = ['appended', 'deleting', 'deleted'].map(name => new Set(all(told, name)))
  const log = await open(file, all(told, 'settings')[0])
  const found = []
  for await (const value of log.stream({ seqs: false })) found.push(String(value))
  if (log.id !== '0') counts.compacted++
  await log.append('after it')
  await log.close()
  counts.found += found.length
  let at = 0
  for (const value of all(told, 'appending')) {
    if (found[at] === value) {
      if (deleted.has(value)) return `${value} was deleted`
      at++
    } else if (durable.has(value) && !deleting.has(value)) return `${value} is not there, but ${found[at]}`
  }
  return at === found.length ? null : `${found[at]} is there`
}

/**
 * @param {string} id that the log had last
 * @returns {Promise<string | null>} what is wrong: a user who has stored `id` with an offset has to find the record
 */
async function problemOfId (file, id) {
  const log = await open(file, { readOnly: true })
  const found = log.id
  await log.close()
  if (found === id) return null
  const map = await OffsetMap.open(file, found)
  map?.close()
  return map?.previousId === id ? null : `the id ${id} became ${found}, and nothing says where its records are`
}

function all (told, name) {
  return told.filter(({ what }) => what === name).flatMap(({ details }) => details)
}
