'use strict'

/* global Worker, flumelog, self */

// Logs in a browser that do random things, compared with an array, and workers that are terminated at random moments.

const test = require('tape')
const { inBrowser, inWorker } = require('./helpers/browser')
const { randomFrom } = require('../../../test/helpers/random')
const { thorough } = require('../../../test/helpers/thorough')

const SEEDS = Number(process.env.SEEDS ?? (thorough ? 200 : 25))
const STEPS = 40
const KILLS = thorough ? 40 : 12
/** Of a worker, before it is terminated. */
const MAX_MESSAGES = 400
/** Numbers of records that a worker deletes are multiples of this. */
const MAY_BE_DELETED = 7
const seed = Number(process.env.SEED ?? Date.now() % 1000000)

/** In a worker: random calls of one log, each compared with an array of its records. */
async function runModel ({ open, removeLog }, { seed, steps }) {
  let state = seed
  const below = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 2 ** 32 * limit)
  }
  const name = `model-${seed}`
  const options = { codec: 'json', blockSize: [512, 1024, 4096][below(3)], checksum: below(2) === 0 }
  const history = []
  const assert = (condition, message) => {
    if (!condition) throw new Error(`seed ${seed}: ${message}, after ${history.join(', ')}`)
  }
  const same = (found, expected, message) => assert(JSON.stringify(found) === JSON.stringify(expected), `${message}: ${JSON.stringify(found).slice(0, 200)} is not ${JSON.stringify(expected).slice(0, 200)}`)
  const all = async (options) => {
    const found = []
    for await (const record of log.stream(options)) found.push(record)
    return found
  }
  let log = await open(name, options)
  /** Records that are not deleted. */
  let records = []
  let made = 0
  const steps_ = {
    async append () {
      const values = Array.from({ length: 1 + below(20) }, () => ({ n: made++, padding: 'x'.repeat(below(150)) }))
      if (below(2) === 0) {
        const seqs = await Promise.all(values.map(value => log.append(value)))
        values.forEach((value, i) => records.push({ seq: seqs[i], value }))
      } else for (const value of values) records.push({ seq: await log.append(value), value })
      assert(log.since.value === records.at(-1).seq, 'since is the last record')
    },
    async get () {
      if (records.length === 0) return
      const { seq, value } = records[below(records.length)]
      same(await log.get(seq), value, 'get')
    },
    async stream () {
      const reverse = below(2) === 0
      const first = below(records.length + 1)
      const gte = records[first]?.seq ?? log.since.value + 1
      const limit = below(3) === 0 ? 1 + below(10) : 0
      const expected = reverse ? records.slice(first).reverse() : records.slice(first)
      same(await all({ gte, reverse, limit }), limit > 0 ? expected.slice(0, limit) : expected, 'stream')
    },
    async del () {
      if (records.length === 0) return
      const [{ seq }] = records.splice(below(records.length), 1)
      await log.del(seq)
      assert(await log.get(seq).catch(err => err.code) === 'flumelog:deleted', 'it is deleted')
    },
    async delRange () {
      const first = below(records.length + 1)
      const gone = records.slice(first, first + below(30))
      if (gone.length === 0) return
      await log.del({ gte: gone[0].seq, lte: gone.at(-1).seq })
      records = records.filter(record => !gone.includes(record))
    },
    async trim () {
      if (records.length === 0) return
      const lt = records[below(records.length)].seq
      const start = await log.trim({ lt })
      assert(start <= lt && start === log.start, 'only what is before has been trimmed')
      records = records.filter(({ seq }) => seq >= start)
    },
    async compact () {
      await log.compact()
      const found = await all()
      same(found.map(({ value }) => value), records.map(({ value }) => value), 'compaction keeps all records')
      records = found
    },
    async commit () {
      if (records.length === 0) return
      const cursor = log.cursor('mine')
      const { seq } = records[below(records.length)]
      await cursor.commit(seq, { rewind: true })
      const after = []
      for await (const record of cursor.stream({ limit: 5 })) after.push(record)
      same(after, records.filter(record => record.seq > seq).slice(0, 5), 'records after a cursor')
    },
    async reopen () {
      await log.close()
      log = await open(name, options)
      same(await all(), records, 'all records after it was opened again')
    }
  }
  const weighted = ['append', 'append', 'append', 'append', 'get', 'get', 'stream', 'stream', 'del', 'del', 'delRange', 'trim', 'commit', 'reopen', 'compact']
  for (let step = 0; step < steps; step++) {
    const call = weighted[below(weighted.length)]
    history.push(call)
    await steps_[call]()
  }
  await steps_.reopen()
  await log.close()
  await removeLog(name)
  return made
}

/** In a worker: appends, deletes and compacts until it is terminated, and tells what is done. */
async function work ({ open }, mayBeDeleted) {
  const log = await open('killed', { codec: 'json', blockSize: 1024 })
  const tell = (message) => self.postMessage(message)
  const cursor = log.cursor('mine')
  await cursor.ready()
  let next = 0
  for await (const { value } of log.stream({ reverse: true, limit: 1 })) next = value.n
  // the last records may be deleted
  next += 1000
  const compacting = (async () => {
    for (;;) {
      await log.compact()
      tell({ compacted: true })
      await new Promise(resolve => setTimeout(resolve))
    }
  })()
  for (let i = 0; ; i++) {
    const numbers = Array.from({ length: 1 + i % 30 }, () => next++)
    await Promise.all(numbers.map(n => log.append({ n }).then(() => tell({ appended: n }))))
    const n = numbers.find(n => n % mayBeDeleted === 0)
    if (n !== undefined && i % 3 === 0) {
      for (let isDone = false; !isDone;) {
        try {
          const { seq } = await log.search(value => value.n - n)
          await log.del(seq)
          isDone = true
        } catch (err) {
          // a compaction may have moved it in between
          if (!['flumelog:trimmed', 'flumelog:not-found'].includes(err.code)) throw err
        }
      }
      tell({ deleted: n })
    }
    if (i % 5 === 0) await cursor.commit(log.since.value).catch(() => {})
    if (i < 0) await compacting
  }
}

/**
 * In the page: lets a worker run until it has told of so much, and of so many compactions with those before it, terminates it, and looks at what it has left.
 * @returns {Promise<string[]>} what is wrong
 */
async function killOnce ({ code, messages, compactions, mayBeDeleted }) {
  const known = globalThis.known ??= { acknowledged: new Set(), deleted: new Set(), compactions: 0 }
  const { acknowledged, deleted } = known
  await new Promise((resolve, reject) => {
    const worker = new Worker('/runner.mjs', { type: 'module' })
    worker.onmessage = ({ data }) => {
      if ('failed' in data) reject(new Error(data.failed))
      else if ('appended' in data) acknowledged.add(data.appended)
      else if ('deleted' in data) deleted.add(data.deleted)
      else if ('compacted' in data) known.compactions++
      if (--messages > 0 || known.compactions < compactions) return
      worker.terminate()
      resolve(undefined)
    }
    worker.postMessage({ code, argument: mayBeDeleted })
  })
  const log = await flumelog.openReleased('killed', { codec: 'json' })
  const found = []
  for await (const { value } of log.stream()) found.push(value.n)
  await log.cursor('mine').ready()
  await log.close()
  const there = new Set(found)
  const problems = found.some((n, i) => i > 0 && n <= found[i - 1]) ? ['not in order'] : []
  for (const n of acknowledged) if (n % mayBeDeleted !== 0 && !there.has(n)) problems.push(`${n} is lost`)
  for (const n of deleted) if (there.has(n)) problems.push(`${n} is back`)
  // what the terminated worker had not told of yet
  for (const n of found) acknowledged.add(n)
  return problems
}

inBrowser(({ open }) => {
  /** @type {import('puppeteer-core').Page} */
  let page
  test('a page is there', async (t) => {
    page = await open()
    t.ok(page)
  })

  test(`a log in a browser does what an array does (SEED=${seed})`, async (t) => {
    let records = 0
    for (let i = 0; i < SEEDS; i++) records += await inWorker(page, runModel, { seed: seed + i, steps: STEPS })
    t.ok(records > SEEDS, `${records} records were appended to ${SEEDS} logs`)
  })

  test(`a worker that is terminated at any moment has stored what it has acknowledged, once, and in order (SEED=${seed})`, async (t) => {
    const random = randomFrom(seed)
    for (let kill = 0; kill < KILLS; kill++) {
      const problems = await page.evaluate(killOnce, { code: String(work), messages: 1 + random.below(MAX_MESSAGES), compactions: kill === KILLS - 1 ? 1 : 0, mayBeDeleted: MAY_BE_DELETED })
      if (problems.length > 0) return t.fail(`kill ${kill}: ${problems.slice(0, 5).join(', ')}`)
    }
    const counts = await page.evaluate(() => [globalThis.known.acknowledged.size, globalThis.known.deleted.size, globalThis.known.compactions])
    t.ok(Math.min(...counts) > 0, `${counts} records, deletions and compactions`)
  })
})
