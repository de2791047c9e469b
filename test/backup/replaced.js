'use strict'

// Logs and backups that are replaced with another one, by a process that is killed, or loses its power.
//
//     node test/backup/replaced.js [--seed 1]

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const { openOffsetMap, verify } = require('../../maintenance')
const { open } = require('../../promises')
const { processFolder } = require('../helpers/folder')
const { overwrite } = require('../helpers/logs')
const { randomFrom } = require('../helpers/random')
const { collect } = require('../helpers/reading')
const { record } = require('../helpers/recorded-calls')
const { ReplayedFolder } = require('../helpers/replayed-folder')
const { thorough } = require('../helpers/thorough')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'replace-log.js')
/** Power cuts tried after each call. */
const CUTS = 1

const { values } = parseArgs({ options: { seed: { type: 'string' } } })
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const folder = processFolder()
const file = (name) => path.join(folder, name)
const lines = (count, from = 0) => Array.from({ length: count }, (_, i) => `record ${from + i}`)
const random = randomFrom(SEED)

/** Three generations of a log, in files of their own, and another log. */
async function makeGenerations () {
  const log = await open(file('log'), { blockSize: 256 })
  await log.append(lines(30))
  for (let n = 0; n < 3; n++) {
    if (n > 0) {
      await log.del((await collect(log.flumelog)).find(({ value }) => String(value) === `record ${n}`).seq)
      await log.compact()
    }
    await log.append(lines(5, 100 * n + 100))
    // what repair leaves out
    await log.del(await log.append('deleted'))
    await log.append('last')
    await log.backup(file(`generation-${n}`), { full: true })
  }
  await log.close()
  await makeCrashed()
  // what is to be repaired
  copy(file('generation-1'), file('generation-4'))
  const { start } = await verify(file('generation-4'))
  overwrite(file('generation-4'), start + 256 + 20, 'corrupt')
}

/** A log whose records are behind its recovery point. */
async function makeCrashed () {
  const log = await open(file('running'), { blockSize: 256, sync: 'never' })
  await log.append(lines(40))
  for (const suffix of ['', '.meta']) fs.copyFileSync(file('running' + suffix), file('generation-3' + suffix))
  await log.close()
}

/** What the user of a log can tell of it. */
async function stateOf (name) {
  const log = await open(name)
  const records = []
  for await (const { seq, value } of log.stream({ skipCorrupt: true })) records.push(`${seq}: ${value}`)
  const { id } = log
  await log.close()
  const map = await openOffsetMap(name)
  const { valid } = await verify(name)
  const state = JSON.stringify({ id, valid, records: records.length, first: records[0], last: records.at(-1), map: map && { id: map.id, previousId: map.previousId, seq: await map.map(0) ?? await map.map(records.length) } })
  map?.close()
  return state
}

/** Copies a log with the files beside it. */
function copy (from, to) {
  for (const name of fs.readdirSync(path.dirname(from))) {
    if (name.startsWith(path.basename(from))) fs.copyFileSync(path.join(path.dirname(from), name), to + name.slice(path.basename(from).length))
  }
}

const CASES = [
  { how: 'backup', what: 'a full backup', generations: thorough ? [[0, 2], [2, 1], [1, 0], [3, 2]] : [[0, 2], [2, 1], [3, 2]].slice(SEED % 2) },
  { how: 'restore', what: 'a restored log', generations: thorough ? [[0, 2], [2, 1], [1, 0]] : [[1, 0]] },
  { how: 'repair', what: 'a repaired log', generations: [[4, 4]] }
]

for (const { how, what, generations } of CASES) {
  tape(`${what} that replaces another one is either of them with its id, whenever that is interrupted`, async (t) => {
    t.comment(`--seed ${SEED} repeats it`)
    for (const [before, after] of generations) {
      const root = fs.mkdtempSync(file('root-'))
      await copyGeneration(before, root)
      await replaceAndInterrupt(t, root, how, after)
    }
  })
}

tape('a backup that was replaced by a process that was killed before it could say so is replaced like any other', async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const root = fs.mkdtempSync(file('root-'))
  await copyGeneration(0, root)
  const killed = await replaceAndInterrupt(t, root, 'backup', 2)
  await replaceAndInterrupt(t, killed, 'backup', 1)
})

async function copyGeneration (number, folder) {
  if (!fs.existsSync(file('log'))) await makeGenerations()
  copy(file(`generation-${number}`), path.join(folder, 'target'))
}

/**
 * Replaces the log in a folder, and looks at what there is if that is interrupted.
 * @param {import('tape').Test} t
 * @param {string} root the folder
 * @param {string} how
 * @param {number} after the generation that replaces it
 * @returns {Promise<string>} a folder with what is left by a process that is killed as soon as the other log has the name
 */
async function replaceAndInterrupt (t, root, how, after) {
  const killed = fs.mkdtempSync(file('root-'))
  const kept = fs.mkdtempSync(file('kept-'))
  copy(path.join(root, 'target'), path.join(kept, 'target'))
  const present = fs.readdirSync(root).flatMap((name, i) => created(root, name, fs.readFileSync(path.join(root, name)), i))
  const events = [...present, ...record([PROGRAM, how, file(`generation-${after}`), path.join(root, 'target')], { strace: false, output: file('calls') })]
  const replayed = new ReplayedFolder(root)
  const states = [await stateOf(path.join(kept, 'target')), await stateOf(path.join(root, 'target'))]
  const counts = [0, 0]
  const wrong = new Set()
  for (const event of events) {
    replayed.apply(event)
    if (event.end === undefined || event.id < 0 || !['rename', 'unlink', 'fsync'].includes(event.end)) continue
    for (let cut = 0; cut <= CUTS; cut++) {
      const left = fs.mkdtempSync(file('left-'))
      if (cut === 0) replayed.materializeAll(left)
      else replayed.materialize(left, random)
      const isFirst = cut === 0 && counts[1] === 0
      if (isFirst) fs.cpSync(left, killed, { recursive: true })
      const found = states.indexOf(await stateOf(path.join(left, 'target')).catch(err => err.message))
      if (found === -1) wrong.add(`${cut === 0 ? 'killed' : 'power cut'} after ${event.end}: ${await stateOf(path.join(left, 'target')).catch(err => err.message)}`)
      else counts[found]++
      fs.rmSync(left, { recursive: true })
    }
  }
  t.deepEqual([...wrong].slice(0, 2), [], `replaced by generation ${after}`)
  t.ok(counts[0] > 0 && counts[1] > 0, `${counts[0]} times as before, ${counts[1]} times replaced`)
  return killed
}

/** The events by which a file is created, and made durable. */
function created (root, name, data, number) {
  const id = -1 - 10 * number
  const fd = 1000 + number
  const call = (at, start, result, rest) => [{ id: id - at, start, ...rest }, { id: id - at, end: start, result }]
  return [
    ...call(1, 'open', fd, { path: path.join(root, name), creates: true, empties: false }),
    ...call(2, 'write', data.length, { fd, data, offset: 0 }),
    ...call(3, 'fsync', 0, { fd }),
    ...call(4, 'close', 0, { fd }),
    ...call(5, 'open', fd, { path: root, creates: false, empties: false }),
    ...call(6, 'fsync', 0, { fd }),
    ...call(7, 'close', 0, { fd })
  ]
}
