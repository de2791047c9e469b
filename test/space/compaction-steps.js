'use strict'

// Kills a compaction before each of its calls of the system, and fails each of them: the log is as it was, or compacted, with
// all that was acknowledged. `EVERY=1 node test/space/compaction-steps.js` takes every call, and not some of them.

const { hooks, unnoticed } = require('../helpers/stepped-fs')
const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { openOffsetMap } = require('../../maintenance')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
const { thorough } = require('../helpers/thorough')
require('../helpers/small-steps')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Of so many calls one is looked at, on average. */
const EVERY = Number(process.env.EVERY ?? (thorough ? 10 : 30))
const SETTINGS = [{ sync: 'interval' }, { sync: 'always' }, { sync: 'never', checksum: false }]

for (const [i, variant] of SETTINGS.entries()) {
  // another one each time
  if (!thorough && i !== SEED % SETTINGS.length) continue
  const settings = { blockSize: 1024, ...variant }

  tape(`killed at any step, a compaction is done or undone, and all that was acknowledged is there (${JSON.stringify(variant)})`, async (t) => {
    t.comment(`SEED=${SEED} repeats it, as far as the order of the calls does`)
    const folder = testFolder(t)
    const random = randomFrom(SEED + i)
    const run = await prepared(folder('log'), settings, random)
    const snapshots = []
    hooks.before = (name) => unnoticed(() => {
      if (snapshots.length > 0 && !/rename/.test(name) && random.below(EVERY) > 0) return
      const copy = folder(`copy-${snapshots.length}`)
      if (copyFiles(folder('.'), copy)) snapshots.push({ copy, name, state: run.state() })
    })
    await run.compact()
    hooks.before = null
    snapshots.push({ copy: folder('.'), name: 'the end', state: run.state() })
    await run.log.close()
    const ids = new Set()
    const problems = []
    for (const { copy, name, state } of snapshots) {
      const problem = await problemOf(path.join(copy, 'log'), settings, state, ids)
      if (problem !== null) problems.push(`killed before ${name}, in ${copy}: ${problem}`)
    }
    t.deepEqual(problems, [], `${snapshots.length} steps`)
    t.equal(ids.size, 2, 'the log was as it was, or compacted')
  })

  tape(`whatever call fails, a compaction fails or succeeds, and the log works on (${JSON.stringify(variant)})`, async (t) => {
    const folder = testFolder(t)
    const problems = []
    let isHit = true
    let failures = 0
    for (let n = 1 + randomFrom(SEED).below(EVERY); isHit; n += EVERY) {
      const file = folder(`log-${n}`)
      const run = await prepared(file, settings, randomFrom(SEED + n))
      let left = n
      hooks.before = (name) => {
        if (--left === 0) throw Object.assign(new Error(`EIO: ${name}`), { code: 'EIO' })
      }
      const error = await run.compact().then(() => null, err => err)
      hooks.before = null
      isHit = left <= 0
      if (error !== null) failures++
      if (error !== null && !['EIO', 'flumelog:failed'].includes(error.code)) problems.push(`call ${n}: ${error.stack}`)
      // of an append, perhaps
      const isFailed = await run.log.append('more').then(() => {
        run.appended.push('more')
        return false
      }, err => err.code === 'flumelog:failed' || problems.push(`call ${n}: ${err.stack}`) > 0)
      await run.log.close().catch(() => {})
      const problem = await problemOf(file, settings, { ...run.state(), hasFailed: isFailed }, new Set())
      if (problem !== null) problems.push(`call ${n} fails: ${problem}`)
    }
    t.deepEqual(problems, [])
    // of a few calls, each may be one that does not matter
    t.ok(failures > 0 || EVERY > 1, `${failures} of them failed`)
  })
}

tape('killed at any step of its second compaction, or if any step fails, a log has the map of its last compaction', async (t) => {
  const folder = testFolder(t)
  const file = folder('log')
  const settings = { blockSize: 1024 }
  const log = await open(file, settings)
  const bookmarks = []
  for (let n = 0; n < 100; n++) bookmarks.push({ value: `record ${n}`, seq: await log.append(`record ${n}`) })
  await log.del(0)
  await log.compact()
  const before = log.id
  await log.del((await log.stream().next()).value.seq)
  const snapshots = []
  const snapshot = (name) => unnoticed(() => {
    const copy = folder(`copy-${snapshots.length}`)
    if (copyFiles(folder('.'), copy)) snapshots.push({ name, copy })
  })
  hooks.before = (name) => { if (/^(promises\.|renameSync)/.test(name)) snapshot(name) }
  await log.compact()
  hooks.before = null
  snapshot('the end')
  await log.close()
  const ids = new Set()
  for (const { name, copy } of snapshots) ids.add(await mustHaveMap(t, path.join(copy, 'log'), `killed before ${name}`))
  t.deepEqual([...ids], [before, log.id])

  let failures = 0
  for (let n = 1, isHit = true; isHit; n++) {
    const copy = path.join(folder(`failing-${n}`), 'log')
    copyFiles(snapshots[0].copy, path.dirname(copy))
    const log = await open(copy, settings)
    let left = n
    hooks.before = (name) => { if (/^(promises\.|renameSync)/.test(name) && --left === 0) throw Object.assign(new Error(`EIO: ${name}`), { code: 'EIO' }) }
    await log.compact().catch(() => failures++)
    hooks.before = null
    isHit = left <= 0
    await log.close().catch(() => {})
    await mustHaveMap(t, copy, `call ${n} fails`)
  }
  t.ok(failures >= 2, `${failures} failed`)

  async function mustHaveMap (t, file, what) {
    // also before a writer has opened it
    let id = null
    for (const when of ['left', 'opened']) {
      const map = await openOffsetMap(file)
      const found = await Promise.all(bookmarks.slice(2).map(({ seq }) => map.map(seq)))
      const log = await open(file, { readOnly: when === 'left' })
      id = log.id
      if (map.id !== id) t.fail(`${what}, ${when}: a map of another compaction`)
      if (id === before) {
        const values = await Promise.all(found.map(seq => log.get(seq).then(String, err => err.code)))
        t.deepEqual(values, bookmarks.slice(2).map(({ value }) => value), `${what}, ${when}`)
      } else t.equal(map.previousId, before, `${what}, ${when}`)
      await map.close()
      await log.close()
    }
    const left = fs.readdirSync(path.dirname(file)).filter(name => name.includes('unfinished'))
    t.deepEqual(left, [], `${what}: nothing is left`)
    return id
  }
})

/** A log with records of which some are deleted, and what is to be done while it is compacted. */
async function prepared (file, settings, random) {
  const log = await open(file, settings)
  const values = Array.from({ length: 200 }, (_, n) => `record ${n}${'.'.repeat(random.below(90))}`)
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  const appended = [...values]
  const acknowledged = new Set(values)
  /** By value. */
  const deleting = new Set()
  const deleted = new Set()
  const del = async (n) => {
    deleting.add(values[n])
    await log.del(seqs[n]).then(() => deleted.add(values[n]), () => {})
  }
  for (let n = 0; n < 200; n += 1 + random.below(9)) await del(n)
  const progress = { isOver: false }

  async function keepAppending () {
    for (let n = 0; !progress.isOver; n++) {
      const value = `new ${n}`
      appended.push(value)
      await log.append(value, { atomic: random() < 0.3 }).then(() => acknowledged.add(value), () => {})
      if (random() < 0.5) await new Promise(resolve => setImmediate(resolve))
    }
  }

  return {
    log,
    appended,
    state: () => ({ appended: [...appended], acknowledged: new Set(acknowledged), deleting: new Set(deleting), deleted: new Set(deleted) }),
    async compact () {
      const others = [keepAppending(), del(150 + random.below(40)), del(3)]
      try {
        await log.compact()
      } finally {
        progress.isOver = true
        await Promise.all(others)
      }
    }
  }
}

/** @returns {Promise<string | null>} what is wrong with a log, also after another compaction */
async function problemOf (file, settings, state, ids) {
  const problem = await problemNow(file, settings, state, ids)
  if (problem !== null) return problem
  const log = await open(file, settings)
  await log.compact()
  await log.close()
  const left = fs.readdirSync(path.dirname(file)).filter(name => name.startsWith(path.basename(file) + '.unfinished'))
  if (left.length > 0) return `${left} is left`
  const after = await problemNow(file, settings, { ...state, appended: [...state.appended, 'after it'] }, new Set())
  return after && `compacted again: ${after}`
}

/** @returns {Promise<string | null>} what is wrong with a log */
async function problemNow (file, settings, { appended, acknowledged, deleting, deleted, hasFailed }, ids) {
  const log = await open(file, settings)
  ids.add(log.id === '0')
  const found = []
  for await (const value of log.stream({ seqs: false })) found.push(String(value))
  const backward = []
  for await (const value of log.stream({ seqs: false, reverse: true })) backward.push(String(value))
  await log.append('after it')
  await log.close()
  if (backward.reverse().join() !== found.join()) return 'it is another log backward'
  let at = 0
  for (const value of appended) {
    if (found[at] === value) {
      if (deleted.has(value)) return `${value} was deleted`
      at++
    } else if (acknowledged.has(value) && !deleting.has(value) && !(hasFailed && value.startsWith('new'))) return `${value} is not there, but ${found[at]}`
  }
  return at === found.length ? null : `${found[at]} is there`
}

/**
 * Copies files, with their holes.
 * @param {string} from
 * @param {string} to
 * @returns {boolean} false: a call that is in progress has renamed or removed a file meanwhile, so they are of no one moment
 */
function copyFiles (from, to) {
  fs.mkdirSync(to)
  for (const name of fs.readdirSync(from)) {
    if (!name.startsWith('log')) continue
    const bytes = readIfThere(path.join(from, name))
    if (bytes === null) {
      fs.rmSync(to, { recursive: true })
      return false
    }
    const fd = fs.openSync(path.join(to, name), 'w')
    for (let at = 0; at < bytes.length; at += 65536) {
      const part = bytes.subarray(at, at + 65536)
      if (part.some(byte => byte !== 0)) fs.writeSync(fd, part, 0, part.length, at)
    }
    fs.ftruncateSync(fd, bytes.length)
    fs.closeSync(fd)
  }
  return true
}

/** @param {string} file */
function readIfThere (file) {
  try {
    return fs.readFileSync(file)
  } catch (err) {
    if (err.code !== 'ENOENT') throw err
    return null
  }
}
