'use strict'

// Backups that are killed, or lose their power, at any of their calls of the system.
//
//     node test/backup/interrupted.js [--seconds 2] [--seed 1]

const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { parseArgs } = require('util')
const { verify } = require('../../maintenance')
const { open } = require('../../promises')
const { processFolder } = require('../helpers/folder')
const { tryPowerCuts } = require('../helpers/power-cuts')
const { thorough } = require('../helpers/thorough')

const PROGRAM = path.join(__dirname, '..', 'helpers', 'programs', 'back-up-often.js')
/** Interruptions tried with the calls of one run of the program. */
const CUTS_PER_RUN = 25

const { values } = parseArgs({ options: { seconds: { type: 'string', default: thorough ? '4' : '1' }, seed: { type: 'string' } } })
const SEED = Number(values.seed ?? Date.now() % 2 ** 31)
const folder = processFolder()

tape('a backup that is interrupted at any moment is valid, has what the one before had, and is completed by the next one', async (t) => {
  t.comment(`--seed ${SEED} repeats it`)
  const until = Date.now() + Number(values.seconds) * 1000
  const counts = { runs: 0, cuts: 0, between: 0 }
  let violation = null
  for (let seed = SEED; Date.now() < until && violation === null; seed++) violation = await replay(seed, counts)
  t.comment(JSON.stringify(counts))
  t.equal(violation, null, `${counts.cuts} interruptions`)
  t.ok(counts.between > 0, 'some of them during a backup')
})

/** @returns {Promise<string | null>} what is wrong */
function replay (seed, counts) {
  const root = path.join(folder, `backups-${seed}`)
  const log = path.join(folder, `log-${seed}`)
  counts.runs++
  return tryPowerCuts({ folder, root, program: [PROGRAM, log, path.join(root, 'backup'), String(seed)], seed, cuts: CUTS_PER_RUN }, async (replayed, left, random, told) => {
    // or a power cut
    const isKilled = random() < 0.5
    if (isKilled) replayed.materializeAll(left)
    else replayed.materialize(left, random)
    counts.cuts++
    if (told.at(-1)?.what === 'backing') counts.between++
    await check(left, told, log)
    return null
  })
}

/**
 * @param {string} left
 * @param {any[]} all that was told
 * @param {string} log that was backed up
 */
async function check (left, all, log) {
  const told = all.filter(({ what }) => what === 'backing')
  const backups = told.map(({ records }) => new Map(records))
  const isDone = all.at(-1)?.what === 'backed'
  const before = backups.at(isDone ? -1 : -2) ?? new Map()
  const after = backups.at(-1) ?? before
  const backup = path.join(left, 'backup')
  if (fs.existsSync(backup)) {
    const copy = path.join(left, 'copy')
    for (const name of fs.readdirSync(left)) fs.copyFileSync(path.join(left, name), copy + name.slice('backup'.length))
    const { id, records } = await readAll(copy)
    const ids = [told.at(isDone ? -1 : -2)?.id, told.at(-1).id]
    if (!ids.includes(id)) throw new Error(`the id is ${id} instead of ${ids}`)
    // of the log before a compaction it has nothing of what is in it since, and the other way round
    compare(records, id === ids[0] ? before : after, ids[0] === ids[1] ? after : id === ids[0] ? before : after)
  } else if (before.size > 0) throw new Error('the backup is not there')
  const source = await open(log, { readOnly: true })
  await source.backup(backup)
  compare((await readAll(backup)).records, new Map(await recordsOf(source)), null)
  if ((await readAll(backup)).id !== source.id) throw new Error('the completed backup has another id than the log')
  const expected = fs.readFileSync(log)
  const { start, blockSize } = source
  await source.close()
  // the hole in front of what was trimmed, or compacted, may have a checksum or not
  const [ours, theirs] = [fs.readFileSync(backup), expected].map(bytes => bytes.subarray(start > 0 ? blockSize : 0))
  if (!ours.equals(theirs)) throw new Error('the completed backup is not the same as the log')
  const { valid, closed } = await verify(backup)
  if (!valid || !closed) throw new Error('the completed backup is not valid, or not closed')
  const others = fs.readdirSync(left).filter(name => !/^backup(\.offset-map|\.meta)?$|^copy/.test(name))
  if (others.length > 0) throw new Error(`${others} is left`)
}

/**
 * @param {Map<number, string>} found
 * @param {Map<number, string>} before what is there if nothing has changed
 * @param {Map<number, string> | null} after what is there if all is done; null: nothing has to change
 */
function compare (found, before, after) {
  const later = after ?? before
  for (const [seq, value] of found) {
    if ((before.get(seq) ?? later.get(seq)) !== value) throw new Error(`${seq} is wrong`)
  }
  for (const seq of before.keys()) if (later.has(seq) && !found.has(seq)) throw new Error(`${seq} is missing, of the backup before`)
  const last = Math.max(-1, ...found.keys())
  for (const seq of later.keys()) if (seq < last && !found.has(seq)) throw new Error(`${seq} is missing, in front of ${last}`)
  if (after === null && found.size !== before.size) throw new Error(`${found.size} records instead of ${before.size}`)
}

/** @returns {Promise<{ id: string, records: Map<number, string> }>} once it is open */
async function readAll (file) {
  const log = await open(file)
  const records = new Map(await recordsOf(log))
  await log.close()
  return { id: log.id, records }
}

async function recordsOf (log) {
  const records = []
  for await (const { seq, value } of log.stream()) records.push([seq, value.toString('latin1')])
  return records
}
