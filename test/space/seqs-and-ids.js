'use strict'

// A seq is an offset in the log with one `id`: every call gives seqs of the log that has `log.id` when its callback is called, and when
// the promise that it has settled is awaited.

const tape = require('tape')
const { open } = require('../../promises')
const { testFolder } = require('../helpers/folder')
const { randomFrom } = require('../helpers/random')
const { until } = require('../helpers/followers')
const { collect } = require('../helpers/reading')
const { thorough } = require('../helpers/thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 1e6)
const COMPACTIONS = Number(process.env.COMPACTIONS ?? (thorough ? 4 : 2))
/** Blocks are not cached for long: reads of the file are pending when the log moves. */
const OPTIONS = { blockSize: 512, cacheSize: 4096 }
const FIRST_RECORDS = 300

/** Notes pairs of seqs and ids, and finds those that do not belong together. */
class Pairs {
  /** @param {import('../../promises').FlumeLog} writer of the log, which compacts it */
  constructor (writer) {
    this.starts = [{ id: writer.id, start: writer.start }]
    this.pairs = []
    writer.onCompact(({ id }) => this.starts.push({ id, start: writer.start }))
  }

  note (what, seq, { id }) {
    if (seq >= 0) this.pairs.push({ what, seq, id })
  }

  get wrong () {
    const { starts } = this
    return this.pairs.filter(({ seq, id }) => {
      const index = starts.findIndex(generation => generation.id === id)
      return index === -1 || seq < starts[index].start || seq >= (starts[index + 1]?.start ?? Infinity)
    })
  }

  get kinds () {
    return [...new Set(this.pairs.map(({ what }) => what))].sort()
  }
}

const KINDS = ['append', 'append atomic', 'append cb', 'batches', 'commit', 'getPrevious', 'getPrevious cb', 'onCompact', 'scan', 'search', 'search cb', 'since', 'since.next', 'stream']

const ROLES = ['a log', 'a client of a shared log', 'a read-only log']

// another one each time
for (const role of thorough ? ROLES : [ROLES[SEED % ROLES.length]]) {
  for (const large of thorough ? [false, true] : [SEED % 2 === 1]) {
    tape(`${role}${large ? ' with large records' : ''} gives only seqs that belong to its id while the log is compacted`, async (t) => {
      t.comment(`SEED=${SEED}`)
      const random = randomFrom(SEED)
      const file = testFolder(t)('log')
      const options = { ...OPTIONS, large }
      const shared = role === 'a client of a shared log'
      const writer = await open(file, { ...options, shared })
      const log = role === 'a log' ? writer : await open(file, { ...options, shared, readOnly: !shared })
      const appending = role === 'a read-only log' ? writer : log
      let count = 0
      const record = () => String(count++).padEnd(large && random() < 0.2 ? 1500 : 20)
      await writer.append(Array.from({ length: FIRST_RECORDS }, record))
      await until(() => log.since.value === writer.since.value)
      const pairs = new Pairs(writer)
      const problems = []
      const note = (what, seq, of = log) => pairs.note(what, seq, of)
      const target = () => { const wanted = random() * count; return value => Number(value) - wanted }
      /** What is at a seq that was given just now. */
      const check = async (seq, value) => {
        const found = await log.get(seq).catch(err => err.code)
        // it may have been deleted or compacted meanwhile
        if (!['flumelog:deleted', 'flumelog:trimmed'].includes(found) && !value.equals(found)) problems.push(`${value} at ${seq}: ${found}`)
      }
      const checked = async (what, promise) => {
        const found = await promise.catch(err => err.code)
        // a seq that was passed can be from before a compaction
        if (['flumelog:deleted', 'flumelog:trimmed', 'flumelog:not-found'].includes(found)) return
        note(what, found.seq)
        await check(found.seq, found.value)
      }
      log.onCompact(() => note('onCompact', log.since.value))
      log.flumelog.since(seq => note('since', seq))
      const cursor = log.cursor('mailer')
      const steps = {
        append: async () => note('append', await appending.append(record()), appending),
        atomic: async () => { for (const seq of await appending.append(['a', 'b'].map(() => String(count++)), { atomic: true })) note('append atomic', seq, appending) },
        'append cb': () => new Promise(resolve => appending.flumelog.append(record(), (_, seq) => resolve(note('append cb', seq, appending)))),
        search: () => checked('search', log.search(target())),
        'search cb': () => new Promise(resolve => log.flumelog.search(target(), (err, seq) => resolve(err ? null : note('search cb', seq)))),
        getPrevious: () => checked('getPrevious', log.getPrevious(log.since.value)),
        'getPrevious cb': () => new Promise(resolve => log.flumelog.getPrevious(log.since.value, (err, _, seq) => resolve(err ? null : note('getPrevious cb', seq)))),
        'since.next': async () => note('since.next', await log.since.next()),
        stream: async () => { for await (const { seq } of log.stream({ reverse: random() < 0.5, limit: 30 })) note('stream', seq) },
        batches: async () => { for await (const batch of log.batches({ limit: 100 })) note('batches', batch[0].seq) },
        scan: () => new Promise(resolve => log.flumelog.scan({}, (_, start, end, seq) => { note('scan', seq) }, resolve)),
        commit: async () => {
          for await (const { seq } of cursor.stream({ limit: 10 })) {
            await cursor.commit(seq)
            note('commit', cursor.seq)
          }
        }
      }
      const state = { isOver: false, hasEnded: false }
      const loops = Object.values(steps).map(async (step) => {
        while (!state.isOver) {
          await step()
          await new Promise(resolve => setImmediate(resolve))
        }
      })
      const failed = Promise.all(loops).catch(err => { problems.push(err.stack) })
      for (let i = 0; i < COMPACTIONS && problems.length === 0; i++) {
        for await (const { seq, value } of writer.stream({ live: false })) if (Number(value) <= count - FIRST_RECORDS) await writer.del(seq)
        await writer.compact()
        await until(() => log.id === writer.id)
      }
      state.isOver = true
      // for those that wait for a change
      failed.then(() => { state.hasEnded = true })
      while (!state.hasEnded) await writer.append('0')
      t.deepEqual(problems, [])
      t.deepEqual(pairs.wrong.slice(0, 5), [])
      t.deepEqual(pairs.kinds, KINDS)
      if (log !== writer) await log.close()
      await writer.close()
    })
  }
}

tape('what `sink` and `appendFrom` say of the last record is its seq since the compactions that came after it', async (t) => {
  const log = await open(testFolder(t)('log'), { blockSize: 512 })
  let resolveStored
  const stored = new Promise((resolve) => { resolveStored = resolve })
  async function * records () {
    yield * ['a', 'b', 'c']
    await stored
  }
  const appended = log.appendFrom(records())
  await until(() => log.flumelog.stats().written.records === 3)
  for (let i = 0; i < 2; i++) await log.compact()
  resolveStored()
  const { seq } = await appended
  t.equal(String(await log.get(seq)), 'c')
  await log.close()
})

tape('`onCompact` is called before anything else of the program gets a seq from after the compaction', async (t) => {
  const file = testFolder(t)('log')
  const log = await open(file, { blockSize: 512 })
  const reader = await open(file, { readOnly: true, blockSize: 512 })
  await log.append(['a', 'b', 'c'])
  // a reader watches the file while something waits for its end
  const live = collect(reader.flumelog, { live: true })
  await until(() => reader.since.value === log.since.value)
  for (const each of [log, reader]) {
    const calls = []
    each.flumelog.since((seq) => calls.push(['since', seq]), false)
    each.onCompact(({ id }) => calls.push(['onCompact', id, each.id === id, each.since.value]))
    await log.compact()
    // a reader has to follow one before the next
    await until(() => reader.id === log.id)
    t.deepEqual(calls.slice(-2), [['onCompact', log.id, true, log.since.value], ['since', log.since.value]])
  }
  await reader.close()
  await live
  await log.close()
})
