'use strict'

// Tests that compare combinations of options of stream and scan with an array, with every integer as every bound, on a small log with
// deleted records, of any kind.

const test = require('tape')
const { promises } = require('./promises')
const { randomFrom } = require('./random')
const { collect, codeOf, event, until } = require('./reading')
const { thorough } = require('./thorough')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Of tens of thousands of combinations, each run tries others. */
const SHARE = thorough ? 1 : 0.15

const PAIRS = [['gt', 'lt'], ['gt', 'lte'], ['gte', 'lt'], ['gte', 'lte'], ['gt', 'gte'], ['lt', 'lte']]
const NAMES = ['gt', 'gte', 'lt', 'lte']
/** Sizes of the records of the small log, the number of the first one that is deleted, and so on. */
const SIZES = [3, 10, 18, 4, 8, 5, 3]
const DELETED = [1, 3, 4]

const text = (item) => typeof item === 'number'
  ? `${item}`
  : Buffer.isBuffer(item) ? item.toString('hex') : `${item.seq}:${item.value.toString('hex')}`

/** Runs queries with limited concurrency, and returns those with wrong results. */
async function compare (log, model, queries) {
  const wrong = []
  for (const options of queries) {
    const found = (await collect(log, options)).map(text).join()
    const { limit } = options
    const expected = model.stream({ ...options, limit: limit > 0 && limit < Infinity ? limit : undefined }).map(text).join()
    if (found !== expected) wrong.push({ options, found, expected })
  }
  return wrong
}

/** Reads from within the callback: the texts of what is given, and the end. */
function reading (source) {
  const got = []
  const ended = event(resolve => source(null, function next (end, item) {
    if (end) return resolve(end)
    got.push(text(item))
    source(null, next)
  }))
  return { got, ended }
}

/** One after the other, in the log and in its model. */
async function appendMore (log, model, sizes) {
  const { append } = promises(log)
  for (const size of sizes) {
    const value = model.make(size)
    await append(value)
    model.append([value])
  }
}

/** Every single bound, with every integer from -2 to the end of the log + 2. */
function * singles (model) {
  for (const name of NAMES) {
    for (let at = -2; at <= model.end + 2; at++) yield { [name]: at }
  }
}

function * pairs (model) {
  for (const [a, b] of PAIRS) {
    for (let x = -2; x <= model.end + 2; x++) {
      for (let y = -2; y <= model.end + 2; y++) yield { [a]: x, [b]: y }
    }
  }
}

function scanned (log, options, most = Infinity) {
  return new Promise((resolve, reject) => {
    const found = []
    log.scan(options, (block, start, end, seq) => {
      found.push(text({ seq, value: block.subarray(start, end) }))
      return found.length < most
    }, err => err ? reject(err) : resolve(found))
  })
}

/**
 * @param {object} kind of log
 * @param {Array<[string, object, boolean]>} kind.SOURCES where the records come from
 * @param {(settings?: object, reopened?: boolean) => Promise<{ log: any, close: () => Promise<void>, model: any }>} kind.smallLog with records of
 *   `SIZES`, of which those with the numbers `DELETED` are deleted
 * @param {() => Promise<any>} kind.emptyLog
 * @param {{ from: number, lowerStep: number, upperStep: number, after: number[], startsLater?: boolean }} kind.live bounds of live streams; `after` the
 *   last record; `startsLater`: they start when a server has answered
 * @param {any[]} [kind.caches] values of the option `cache` to be combined with others
 */
function boundsTests ({ SOURCES, smallLog, emptyLog, live, caches = [undefined, true, false] }) {
  for (const [what, settings, reopened] of SOURCES) {
    test(`any integer can be a bound, forward and backward; the log is ${what}`, async (t) => {
      const { log, close, model } = await smallLog(settings, reopened)
      const queries = []
      for (const bounds of singles(model)) {
        for (const reverse of [false, true]) queries.push({ ...bounds, reverse })
      }
      t.deepEqual(await compare(log, model, queries), [], `${queries.length} of them`)
      await close()
    })
  }

  test('any two integers can be bounds, forward and backward', async (t) => {
    t.comment(`SEED=${SEED} repeats it`)
    const random = randomFrom(SEED)
    const logs = []
    for (const [, settings, reopened] of SOURCES) logs.push(await smallLog(settings, reopened))
    let count = 0
    const wrong = []
    for (const bounds of pairs(logs[0].model)) {
      // neighbouring pairs differ in their direction and log; with ALL=1, every log is asked for every pair
      const reverse = count++ % 2 === 0
      if (random() >= SHARE) continue
      const [x, y] = Object.values(bounds)
      const asked = process.env.ALL ? logs : [logs[Math.abs(x - y) % logs.length]]
      for (const { log, model } of asked) wrong.push(...await compare(log, model, [{ ...bounds, reverse, values: false }]))
    }
    t.deepEqual(wrong, [], `of ${count}`)
    for (const { close } of logs) await close()
  })

  test('reverse, limit, seqs, values and cache can be combined with each other and with bounds', async (t) => {
    for (const reopened of new Set(SOURCES.map(([, , reopened]) => reopened))) {
      const { log, close, model } = await smallLog({}, reopened)
      const queries = []
      for (const bounds of [{}, { gt: 0 }, { gte: 1 }, { lt: 105 }, { lte: 104 }, { gt: 0, lt: 105 }, { gte: 32, lte: 32 }, { gt: 33, lte: 95 }]) {
        for (const reverse of [undefined, false, true]) {
          for (const limit of [undefined, -1, 0, 1, 2, 3, 4, 5, Infinity]) {
            for (const seqs of [undefined, true, false]) {
              for (const values of [undefined, true, false]) {
                for (const cache of caches) queries.push({ ...bounds, reverse, limit, seqs, values, cache })
              }
            }
          }
        }
      }
      t.deepEqual(await compare(log, model, queries), [], `${queries.length} of them`)
      await close()
    }
  })

  test('infinite, undefined and null bounds do not restrict a stream', async (t) => {
    const { log, close, model } = await smallLog()
    const all = model.stream({})
    for (const options of [
      { gt: -Infinity }, { gte: -Infinity }, { lt: Infinity }, { lte: Infinity }, { gt: undefined, lt: undefined },
      { gte: null, lte: null }, { gt: -Infinity, lt: Infinity }, { gt: Number.MIN_SAFE_INTEGER, lt: Number.MAX_SAFE_INTEGER }
    ]) {
      t.deepEqual(await collect(log, options), all)
      t.deepEqual(await collect(log, { ...options, reverse: true }), all.toReversed())
    }
    for (const options of [{ gt: Infinity }, { gte: Infinity }, { lt: -Infinity }, { lte: -Infinity }, { gt: 2 ** 60 }, { lt: -(2 ** 60) }]) {
      t.deepEqual(await collect(log, options), [])
      t.deepEqual(await collect(log, { ...options, reverse: true }), [])
    }
    await close()
  })

  test('all four bounds can be combined', async (t) => {
    t.comment(`SEED=${SEED} repeats it`)
    const random = randomFrom(SEED)
    const { log, close, model } = await smallLog()
    const at = [-1, 0, 1, 7, 31, 32, 33, 96, 105, 106, 112]
    const queries = []
    for (const gt of at) for (const gte of at) for (const lt of at) for (const lte of at) if (random() < SHARE) queries.push({ gt, gte, lt, lte, reverse: (gt + lt) % 2 === 0 })
    t.deepEqual(await compare(log, model, queries), [], `${queries.length} of them`)
    await close()
  })

  test('an empty log yields nothing within any bounds', async (t) => {
    const log = await emptyLog()
    for (const bounds of [...singles({ end: 0 }), ...pairs({ end: 0 }), {}]) {
      for (const reverse of [false, true]) {
        const found = await collect(log.log, { ...bounds, reverse })
        if (found.length !== 0) t.fail(JSON.stringify({ bounds, reverse, found }))
      }
    }
    t.equal(log.log.since.value, -1)
    await log.close()
  })

  test('scan yields the same records as stream, within the same bounds', async (t) => {
    for (const reopened of [false, true]) {
      const { log, close, model } = await smallLog({}, reopened)
      const wrong = []
      let count = 0
      for (const bounds of singles(model)) {
        for (const reverse of [false, true]) {
          for (const how of [{ cache: true }, { cache: false }, { cache: false, reuse: true }]) {
            const options = { ...bounds, reverse, ...how }
            const found = await scanned(log, options)
            const expected = model.stream(options).map(text).join()
            count++
            if (found.join() !== expected) wrong.push({ options, found, expected })
          }
        }
      }
      t.deepEqual(wrong, [], `${count} of them`)
      t.deepEqual(await scanned(log, {}, 2), model.stream({ limit: 2 }).map(text), 'and ends when it is told to')
      t.deepEqual(await scanned(log, { reverse: true, gt: 0 }, 1), model.stream({ reverse: true, limit: 1 }).map(text))
      await close()
    }
  })

  test('old: false yields only records appended later, within bounds and limit', async (t) => {
    for (const options of [{}, { limit: 2 }, { gt: 0 }, { gt: 112 }, { gte: 200 }, { lt: 150 }, { lte: 128 }, { reverse: true }, { live: true }, { gt: 130, lt: 180 }, { seqs: false }, { values: false }]) {
      const { log, close, model } = await smallLog({}, true)
      const before = model.end
      const { got, ended } = reading(log.stream({ old: false, ...options }))
      await appendMore(log, model, Array(8).fill(12))
      const expected = model.stream({ ...options, reverse: false, gte: Math.max(before, options.gte ?? 0) })
      await close()
      t.equal(await ended, true)
      t.deepEqual(got, expected.map(text), JSON.stringify(options))
    }
  })

  test('a live stream yields old and new records within its bounds, and ends after an upper bound', async (t) => {
    t.comment(`SEED=${SEED} repeats it`)
    const random = randomFrom(SEED)
    // all records the log will have, to choose bounds
    const { model: whole, close } = await smallLog()
    await close()
    const sizes = [12, 3, 18, 5]
    for (const size of sizes) whole.append([whole.make(size)])
    const wrong = []
    let count = 0
    for (const [a, b] of [['gt', 'lt'], ['gte', 'lte']]) {
      for (let x = live.from; x <= whole.end + 2; x += live.lowerStep) {
        for (let y = live.from; y <= whole.end + 2; y += live.upperStep) {
          if (random() >= SHARE) continue
          const bounds = { [a]: x, [b]: y }
          const { log, close, model } = await smallLog()
          const { got, ended } = reading(log.stream({ ...bounds, live: true }))
          let endedEarly = false
          let closing = false
          ended.then(() => { endedEarly = !closing })
          await appendMore(log, model, sizes)
          const expected = model.stream(bounds).map(text)
          // a record behind the bound, or none possible within it, is what ends it
          const most = b === 'lt' ? y - 1 : y
          const mustEnd = model.end > most || (a === 'gt' ? x + 1 : x) > most
          await until(() => got.length >= expected.length && endedEarly === mustEnd)
          closing = true
          await close()
          const end = await ended
          count++
          if (end !== true || got.join() !== expected.join() || endedEarly !== mustEnd) wrong.push({ bounds, end, got, expected, endedEarly, mustEnd })
        }
      }
    }
    t.deepEqual(wrong.slice(0, 5), [], `${count} of them`)
  })

  test('a live stream that starts after the end of the log waits for records there', async (t) => {
    for (const gt of live.after) {
      for (const reverse of [false, true]) {
        const { log, close, model } = await smallLog({}, true)
        const { got: texts, ended } = reading(log.stream({ gt, live: true, reverse, values: false }))
        await appendMore(log, model, Array(8).fill(12))
        await close()
        t.equal(await ended, true)
        const got = texts.map(Number)
        const appended = model.stream({ gt, values: false })
        // what is appended before a server has told where the log ends is old
        const ascent = got.findIndex((seq, i) => i > 0 && seq > got[i - 1])
        const old = !reverse || !live.startsLater ? 0 : ascent === -1 ? got.length : ascent
        t.deepEqual(got, [...appended.slice(0, old).reverse(), ...appended.slice(old)], `gt: ${gt}${reverse ? ', reverse' : ''}`)
      }
    }
  })

  test('reverse with live yields the old records in reverse, then new ones as they are appended', async (t) => {
    for (const options of [{}, { gt: 0 }, { gt: 40 }, { lt: 105 }, { lt: 150 }, { limit: 2 }, { limit: 6 }, { gt: 0, lt: 150, limit: 5 }, { values: false }]) {
      const { log, close, model } = await smallLog({}, true)
      const old = model.stream({ ...options, reverse: true })
      const before = model.end
      const { got, ended } = reading(log.stream({ ...options, live: true, reverse: true }))
      // some logs are read later
      await until(() => got.length >= old.length)
      await appendMore(log, model, Array(6).fill(12))
      await close()
      t.equal(await ended, true)
      const left = options.limit === undefined ? undefined : options.limit - old.length
      const fresh = left === 0 ? [] : model.stream({ ...options, limit: left, gte: before })
      t.deepEqual(got, [...old, ...fresh].map(text), JSON.stringify(options))
    }
  })

  test('a bound or limit that is not an integer is an error, and does not affect the log', async (t) => {
    const { log, close, model } = await smallLog()
    for (const name of NAMES) {
      for (const value of [NaN, 0.5, -1.5, '0', '', true, {}, [], [1], () => 1, Buffer.alloc(1), new Date(0), 1n, Symbol('x')]) {
        t.equal(await codeOf(collect(log, { [name]: value })), 'flumelog:invalid', `${name}: ${typeof value} ${String(value)}`)
        t.equal(await codeOf(scanned(log, { [name]: value })), 'flumelog:invalid')
      }
    }
    for (const value of [NaN, 0.5, 1.5, '1', true, {}, 1n]) t.equal(await codeOf(collect(log, { limit: value })), 'flumelog:invalid', `limit: ${typeof value} ${String(value)}`)
    for (const value of [1, 'x', true, () => {}]) t.equal(await codeOf(collect(log, value)), 'flumelog:invalid', `options: ${String(value)}`)
    t.deepEqual(await collect(log, null), model.stream({}))
    t.deepEqual(await collect(log), model.stream({}))
    await close()
  })
}

module.exports = { boundsTests, SIZES, DELETED }
