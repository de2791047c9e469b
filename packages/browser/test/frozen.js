'use strict'

/* global flumelog */

// Pages that the browser freezes, or keeps in its back/forward cache. tabs.js has more of the first kind.

const test = require('tape')
const { inBrowser } = require('./helpers/browser')

/** A busy machine is slow. Milliseconds. */
const OPTIONS = { shared: true, codec: 'json', blockSize: 1024, timeout: 50000 }

/** In a page: opens a log, and follows it. */
async function follow ({ name, options, count }) {
  const log = globalThis.log = await flumelog.open(name, options)
  const seen = globalThis.seen = []
  globalThis.until = (count) => new Promise((resolve) => {
    const look = () => seen.length >= count ? resolve() : setTimeout(look, 10)
    look()
  })
  globalThis.following = (async () => {
    for await (const { value } of log.stream({ live: true })) if (seen.push(value) === count) break
  })()
}

/** @param {import('puppeteer-core').Page} page */
async function leave (page) {
  await page.goto(new URL('away', page.url()).href)
}

inBrowser(({ open }) => {
  test('a tab in the back/forward cache keeps the log from no other one, and goes on as a client with its calls, streams and cursors', async (t) => {
    const [page, other] = [await open(), await open()]
    await page.evaluate(follow, { name: 'cached', options: OPTIONS, count: 6 })
    await page.evaluate(async () => {
      const { log } = globalThis
      await log.append([1, 2, 3])
      await log.cursor('mine').commit(log.since.value)
      await globalThis.until(3)
      // a call that the page makes when it is about to be frozen
      globalThis.addEventListener('pagehide', () => { globalThis.late = log.get(log.since.value) })
    })
    await leave(page)
    const role = await other.evaluate(async (options) => {
      const log = globalThis.log = await flumelog.open('cached', options)
      await log.append([4, 5])
      return log.role
    }, OPTIONS)
    t.equal(role, 'owner')
    await page.goBack()
    const found = await page.evaluate(async () => {
      const { log } = globalThis
      const late = await globalThis.late
      const { role } = log
      const cursor = log.cursor('mine')
      const committed = cursor.seq === log.since.value
      const seq = await log.append(6)
      await globalThis.following
      const left = []
      for await (const { value } of cursor.stream()) left.push(value)
      await cursor.commit(seq)
      await log.close()
      return { late, role, committed, seen: globalThis.seen, left }
    })
    t.deepEqual(found, { late: 3, role: 'client', committed: false, seen: [1, 2, 3, 4, 5, 6], left: [4, 5, 6] })
    await other.close()
    await page.close()
  })

  test('a page in the back/forward cache does not lock a log that it does not share, and goes on when it is back', async (t) => {
    const options = { codec: 'json' }
    const page = await open()
    await page.evaluate(follow, { name: 'alone', options, count: 3 })
    await page.evaluate(async () => {
      await globalThis.log.append(1)
      await globalThis.until(1)
    })
    await leave(page)
    await page.evaluate(async (options) => {
      const log = await flumelog.openReleased('alone', options)
      await log.append(2)
      await log.close()
    }, options)
    await page.goBack()
    const seen = await page.evaluate(async () => {
      const { log } = globalThis
      await log.append(3)
      await globalThis.following
      await log.close()
      return globalThis.seen
    })
    t.deepEqual(seen, [1, 2, 3])
    await page.close()
  })

  test('a page that comes back to a log that another one has locked meanwhile is told so by all its calls', async (t) => {
    const options = { codec: 'json' }
    const [page, other] = [await open(), await open()]
    await page.evaluate(follow, { name: 'taken', options, count: 3 })
    await leave(page)
    await other.evaluate(async (options) => { globalThis.log = await flumelog.open('taken', options) }, options)
    await page.goBack()
    const codes = await page.evaluate(async () => {
      const { log } = globalThis
      const code = promise => promise.then(() => 'done', err => err.code)
      return [await code(globalThis.following), await code(log.append(1)), await code(log.since.next())]
    })
    t.deepEqual(codes, ['flumelog:locked', 'flumelog:locked', 'flumelog:locked'])
    await other.close()
    await page.close()
  })

  test('a stream that a frozen page reads goes on after the record given last, backwards and with a limit, unless the log was compacted', async (t) => {
    const [page, other] = [await open(), await open()]
    const found = async () => page.evaluate(async () => {
      const { log } = globalThis
      await log.append(Array.from({ length: 3000 }, (_, i) => i))
      const all = async (stream, options) => {
        const seqs = []
        for await (const { value } of log.stream(options)) seqs.push(value)
        return seqs
      }
      return all(log, { limit: 5 })
    })
    await page.evaluate(follow, { name: 'backwards', options: OPTIONS, count: -1 })
    t.deepEqual(await found(), [0, 1, 2, 3, 4])
    await page.evaluate(async () => {
      const { log } = globalThis
      globalThis.iterators = [{ reverse: true }, { limit: 2500 }, { reverse: true, limit: 2500 }, { values: false }, { seqs: false }].map(options => log.stream(options))
      globalThis.read = await Promise.all(globalThis.iterators.map(async iterator => [(await iterator.next()).value, (await iterator.next()).value]))
    })
    const session = await page.createCDPSession()
    const freeze = async () => {
      await session.send('Page.setWebLifecycleState', { state: 'frozen' })
      await other.evaluate(async (options) => {
        globalThis.log ??= await flumelog.open('backwards', options)
        await globalThis.log.append('other')
      }, OPTIONS)
    }
    const thaw = () => session.send('Page.setWebLifecycleState', { state: 'active' })
    await freeze()
    await thaw()
    const counts = await page.evaluate(async () => {
      const counts = []
      for (const [i, iterator] of globalThis.iterators.entries()) {
        const all = globalThis.read[i]
        for await (const item of iterator) all.push(item)
        const order = all.map(item => item.seq ?? item)
        counts.push([all.length, order.every((value, j) => j === 0 || typeof value === 'string' || (i % 2 === 0 && i < 3 ? value < order[j - 1] : value > order[j - 1]))])
      }
      return counts
    })
    t.deepEqual(counts, [[3000, true], [2500, true], [2500, true], [3001, true], [3001, true]])
    await page.evaluate(async () => {
      globalThis.iterators = [globalThis.log.stream()]
      await globalThis.iterators[0].next()
    })
    await freeze()
    await other.evaluate(async () => {
      await globalThis.log.del(globalThis.log.since.value)
      await globalThis.log.compact()
    })
    await thaw()
    const code = await page.evaluate(async () => {
      try {
        for await (const record of globalThis.iterators[0]) globalThis.record = record
      } catch (err) {
        return err.code
      }
    })
    t.equal(code, 'flumelog:compacted')
    await other.close()
    await page.close()
  })
})
