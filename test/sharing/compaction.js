'use strict'

// Compactions of a shared log: by the owner, and for clients, while all of them append, delete and read. Then nothing that was
// acknowledged is lost, stored twice or back again, and seqs lead to their records, also when the owner is killed at any step.
// `EVERY=1 node test/sharing/compaction.js` kills it at each step.

const { spawn } = require('child_process')
const fs = require('fs')
const path = require('path')
const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
const { preloading } = require('../helpers/runtime')
const { flumelog } = require('../helpers/command-line')
const { RawClient, del: deletion } = require('../helpers/raw-client')

const OWNER = path.join(__dirname, '..', 'helpers', 'programs', 'compacting-owner.js')
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const EVERY = Number(process.env.EVERY ?? 0)
const SETTINGS = { blockSize: 1024, shared: true }

tape('a client has the owner compact the log, and all go on in the new file', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client, other] = [await open(file, SETTINGS), await open(file, SETTINGS), await open(file, SETTINGS)]
  t.deepEqual([owner, client, other].map(log => log.flumelog.role), ['owner', 'client', 'client'])
  const seqs = []
  for (let n = 0; n < 300; n++) seqs.push(await client.append(`record ${n}`))
  await client.del(seqs.filter((_, n) => n % 3 > 0))
  const kept = Array.from({ length: 100 }, (_, n) => `record ${3 * n}`)
  const live = other.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
  const seen = []
  for (let n = 0; n < 50; n++) seen.push(String((await live.next()).value))
  const maps = []
  for (const log of [owner, client, other]) log.onCompact(map => maps.push(map))
  const compacted = await client.compact()
  t.deepEqual([compacted.records, compacted.deleted, compacted.dropped], [100, 200, 0])
  await other.append('after it')
  for (let n = 50; n < 101; n++) seen.push(String((await live.next()).value))
  t.deepEqual(seen, [...kept, 'after it'], 'a stream goes on at the next record')
  await live.return()
  t.deepEqual(new Set(maps.map(({ id }) => id)), new Set([compacted.id]))
  t.equal(maps.length, 3)
  t.equal(String(await client.get(await maps[1].map(seqs[33]))), 'record 33')
  for (const log of [owner, client, other, await open(file, SETTINGS)]) {
    await shows(log, 'after it')
    t.deepEqual(await valuesOf(log), [...kept, 'after it'], log.flumelog.role)
    t.deepEqual([log.id, log.flumelog.start], [compacted.id, compacted.start])
    t.equal(await log.get(seqs[0]).catch(err => err.code), 'flumelog:trimmed')
  }
  const again = await other.compact()
  t.equal(again.id, compacted.id, 'nothing is deleted')
  for (let n = 0; n < 3; n++) {
    await client.del(await lastSeqOf(client))
    const { id } = await [other, owner, client][n].compact()
    await client.append(`generation ${n}`)
    for (const log of [owner, client, other]) await shows(log, `generation ${n}`)
    t.deepEqual([owner.id, client.id, other.id], [id, id, id])
  }
})

tape('a client cannot send `keep`, and says so; an abort ends only its own wait', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  await client.append(['one', 'two'])
  const err = await client.compact({ keep: () => true }).catch(err => err)
  t.equal(err.code, 'flumelog:invalid')
  t.match(err.message, /cannot call `keep` of another one/)
  const { records } = await owner.compact({ keep: value => String(value) === 'two' })
  t.equal(records, 1)
  while (client.id !== owner.id) await new Promise(resolve => setTimeout(resolve, 1))
  t.deepEqual(await valuesOf(client), ['two'])
  t.equal((await client.compact({ signal: AbortSignal.abort() }).catch(err => err)).name, 'AbortError')
  await client.del(client.flumelog.since.value)
  const aborted = new AbortController()
  const waiting = client.compact({ signal: aborted.signal }).catch(err => err)
  aborted.abort()
  t.equal((await waiting).name, 'AbortError')
  const closed = client.compact().catch(err => err)
  await client.close()
  t.equal((await closed).code, 'flumelog:closed')
  await owner.close()
})

tape('a client that waits for a compaction gets it from the next owner if this one closes', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  const seqs = await Promise.all(Array.from({ length: 2000 }, (_, n) => owner.append(`record ${n}`)))
  await owner.del(seqs[0])
  const compacted = client.compact()
  await until(() => fs.existsSync(file + '.unfinished') || client.flumelog.id !== '0')
  await owner.close()
  t.equal((await compacted).records, 1999)
  t.equal(client.flumelog.role, 'owner')
  await client.close()
})

tape('what a client deletes while it moves to the compacted log is what it meant before', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, { ...SETTINGS, blocking: false })]
  for (let n = 0; n < 3; n++) {
    const { length } = await valuesOf(owner)
    const seqs = await owner.append(Array.from({ length: 100 }, (_, i) => `record ${n} ${i}`)).then(() => seqsOf(owner))
    await owner.del(seqs[length])
    await until(() => client.flumelog.since.value === owner.flumelog.since.value)
    let deleted
    const remove = owner.onCompact(() => { deleted = client.del({ gt: seqs.at(-11) }) })
    await owner.compact()
    remove()
    await deleted
    await client.sync()
    const values = await valuesOf(owner)
    t.equal(values.length, 89 * (n + 1), 'the last ten are deleted')
  }
  await client.close()
  await owner.close()
})

tape('flumelog compact works on a log that others share, and on one of which the owner is gone', async (t) => {
  const file = testFolder(t)('log')
  const [owner, client] = [await open(file, SETTINGS), await open(file, SETTINGS)]
  const seqs = []
  for (let n = 0; n < 10; n++) seqs.push(await client.append(`record ${n}`))
  await client.del(seqs.slice(1, 9))
  const { code, stdout, stderr } = await flumelog(['compact', file, '--yes'])
  t.deepEqual([code, stderr], [0, ''])
  t.match(stdout, /2 records kept, 8 deleted records or freed blocks dropped, by the process that owns the log; offsets have changed/)
  t.deepEqual(await valuesOf(client), ['record 0', 'record 9'])
  await client.del(client.flumelog.since.value)
  await owner.close()
  await client.append('the owner now')
  t.equal((await flumelog(['compact', file, '--yes'])).code, 0)
  t.deepEqual(await valuesOf(client), ['record 0', 'the owner now'])
  await client.close()
})

tape('what a client asks for before it knows of a compaction is meant as it was then; one that does not follow is cut off before the next', async (t) => {
  const file = testFolder(t)('log')
  const owner = await open(file, { ...SETTINGS, timeout: 100 })
  const seqs = []
  for (let n = 0; n < 10; n++) seqs.push(await owner.append(`record ${n}`))
  const raw = new RawClient(file)
  await raw.greet()
  await owner.del(seqs.slice(0, 5))
  const { id } = await owner.compact()
  t.equal(JSON.parse(String(await raw.frame('COMPACTED'))).id, id)
  raw.send(deletion(1, seqs[0]), deletion(2, seqs[5]))
  await until(() => raw.count('REPLY') === 2)
  t.deepEqual(raw.frames.filter(({ name }) => name === 'REPLY').map(({ body }) => JSON.parse(String(body))), [{ request: 1 }, { request: 2 }], 'both are gone')
  t.deepEqual(await valuesOf(owner), ['record 6', 'record 7', 'record 8', 'record 9'])
  await owner.compact()
  t.equal(await raw.refusal(), 'closed')
  await owner.close()
})

tape('whatever clients append and delete while a shared log is compacted again and again, nothing is lost, and no seq is wrong', async (t) => {
  t.comment(`SEED=${SEED}`)
  const random = randomFrom(SEED)
  for (const options of [{ sync: 'interval' }, { sync: 'always', large: true }, { checksum: false, blockSize: 256, ackInterval: 1 }]) {
    const settings = { ...SETTINGS, ...options }
    const file = testFolder(t)('log')
    const owner = await open(file, settings)
    const workers = await Promise.all(['a', 'b', 'c'].map(name => worker(name, file, settings, random)))
    for (let n = 0; n < 6; n++) {
      await workers[n % 3].has(20 * n + 10)
      await random.pick([owner, workers[0].log]).compact()
    }
    const problems = await finish(workers)
    await owner.close()
    t.deepEqual([...problems, ...await problemsOf(file, workers, settings)], [], JSON.stringify(options))
  }
})

const kills = EVERY > 0
  ? [0, 1, 2, 3].flatMap(renames => Array.from({ length: renames === 0 ? 60 : 12 }, (_, calls) => ({ renames, calls })).filter(({ calls }) => calls % EVERY === 0))
  : killsOf(randomFrom(SEED))

tape('killed at any step of a compaction, the owner leaves a log that a client goes on with: nothing is lost, stored twice, or back', async (t) => {
  t.comment(`SEED=${SEED}`)
  const random = randomFrom(SEED)
  const counts = { killed: 0, compacted: 0 }
  for (const kill of kills) {
    const file = testFolder(t)('log')
    const settings = { ...SETTINGS, sync: random.pick(['interval', 'always']) }
    const owner = spawn(process.execPath, [...preloading([]), OWNER, file, JSON.stringify(settings), JSON.stringify(kill)], { stdio: ['pipe', 'pipe', 'inherit'] })
    const said = lines(owner.stdout)
    await said.next()
    const workers = await Promise.all(['a', 'b'].map(name => worker(name, file, settings, random)))
    await workers[0].has(60)
    const isAsked = random() < 0.5
    owner.stdin.write(isAsked ? 'be armed\n' : 'compact\n')
    await said.next()
    const asked = isAsked ? workers[0].log.compact() : null
    const { done } = await Promise.race([said.next(), ...isAsked ? [asked] : []])
    if (done) counts.killed++
    owner.kill('SIGKILL')
    await asked
    await workers[0].has(workers[0].acknowledged.size + 20)
    await workers[1].has(workers[1].acknowledged.size + 20)
    if (workers[0].log.id !== '0') counts.compacted++
    await workers[1].log.compact()
    const problems = await finish(workers)
    t.deepEqual([...problems, ...await problemsOf(file, workers, settings)], [], JSON.stringify(kill))
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.killed > 0)
})

/** @returns {Array<{ renames: number, calls: number }>} where the owner is killed: more often when it switches */
function killsOf (random) {
  return [{ renames: 0, calls: random.below(10) }, { renames: 0, calls: 10 + random.below(20) }, ...[1, 2, 3].map(renames => ({ renames, calls: random.below(3) })), { renames: 3, calls: 0 }]
}

/** Appends and deletes until it is stopped, one after the other and several at once. */
async function worker (name, file, settings, random) {
  const log = await open(file, settings)
  const state = {
    name,
    log,
    isOver: false,
    count: 0,
    /** Seqs by value, as they are now: a promise if the log was compacted since. */
    acknowledged: new Map(),
    deleting: new Set(),
    deleted: new Set(),
    problems: [],
    async has (size) {
      while (state.acknowledged.size < size) await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  // what is acknowledged from now on has seqs of the compacted log
  log.onCompact(({ map }) => {
    for (const [value, seq] of state.acknowledged) state.acknowledged.set(value, Promise.resolve(seq).then(seq => seq === undefined || seq === null ? seq : map(seq).catch(() => undefined)))
  })
  state.running = (async () => {
    while (!state.isOver) {
      const values = Array.from({ length: 1 + random.below(4) }, () => `${name} ${++state.count} ${'.'.repeat(random.below(settings.large ? 2000 : 100))}`)
      const appends = values.map(value => append(state, value))
      if (random() < 0.3) await Promise.all([...appends, del(state, random)])
      else await Promise.all(random() < 0.7 ? appends : [])
      // or compactions would not catch up on a slow disk
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  })()
  return state
}

async function append (state, value) {
  const { log, acknowledged } = state
  const { id } = log
  const seq = await log.append(value)
  acknowledged.set(value, seq)
  // a seq that the owner gave out just before the log was compacted is one from before
  if (log.id !== id) acknowledged.set(value, undefined)
}

/** Deletes one of its records by the seq that it has for it. */
async function del (state, random) {
  const { log, acknowledged, deleting, deleted, problems } = state
  const value = random.pick([...acknowledged.keys(), ''])
  if (value === '' || deleting.has(value)) return
  const { id } = log
  const seq = await acknowledged.get(value)
  if (log.id !== id || typeof seq !== 'number') return
  deleting.add(value)
  await log.del(seq).then(() => deleted.add(value), (err) => {
    // compacted between the look and the call
    if (err.code !== 'flumelog:trimmed' || log.id === id) problems.push(`deleting ${value} at ${seq}: ${err.stack}`)
    else deleting.delete(value)
  })
}

/** @returns {Promise<string[]>} what seqs do not lead to their records */
async function finish (workers) {
  for (const state of workers) state.isOver = true
  await Promise.all(workers.map(({ running }) => running))
  for (const { log } of workers) await log.sync()
  const problems = workers.flatMap(({ problems }) => problems)
  for (const { log, acknowledged, deleting, name } of workers) {
    for (const [value, seq] of acknowledged) {
      const now = await seq
      if (now === undefined || deleting.has(value)) continue
      const found = now === null ? 'nothing' : await log.get(now).then(String, err => err.message)
      if (found !== value) problems.push(`${name}: ${value.slice(0, 12)} is not at ${now}, but ${found.slice(0, 200)}`)
    }
  }
  for (const { log } of workers) await log.close()
  return problems
}

/** @returns {Promise<string[]>} what is wrong with a log */
async function problemsOf (file, workers, { blockSize, checksum, large }) {
  const log = await open(file, { blockSize, checksum, large })
  const found = await valuesOf(log)
  const { records } = log.stats()
  await log.close()
  // the chunks of large records count
  const problems = records === found.length || large ? [] : [`${records} records are counted, ${found.length} are there`]
  if (fs.existsSync(file + '.unfinished')) problems.push('a copy is left')
  for (const { name, acknowledged, deleting, deleted } of workers) {
    const own = found.filter(value => value.startsWith(`${name} `))
    const numbers = own.map(value => Number(value.split(' ')[1]))
    if (numbers.some((number, i) => i > 0 && number <= numbers[i - 1])) problems.push(`${name} has ${numbers.filter((number, i) => i > 0 && number <= numbers[i - 1])} twice, or late`)
    const there = new Set(own)
    for (const value of acknowledged.keys()) if (!there.has(value) && !deleting.has(value)) problems.push(`${value.slice(0, 12)} is lost`)
    for (const value of deleted) if (there.has(value)) problems.push(`${value.slice(0, 12)} was deleted`)
  }
  return problems
}

async function valuesOf (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(String(value))
  return values
}

async function seqsOf (log) {
  const seqs = []
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  return seqs
}

/** Resolves when a process has heard of the last record. */
async function shows (log, value) {
  await until(async () => (await valuesOf(log)).at(-1) === value)
}

async function until (isTrue) {
  while (!await isTrue()) await new Promise(resolve => setTimeout(resolve, 1))
}

async function lastSeqOf (log) {
  const { value } = await log.stream({ reverse: true, limit: 1, values: false })[Symbol.asyncIterator]().next()
  return value
}

/** @returns {AsyncGenerator<string>} */
async function * lines (stream) {
  let text = ''
  for await (const chunk of stream) {
    text += chunk
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      yield text.slice(0, at)
      text = text.slice(at + 1)
    }
  }
}
