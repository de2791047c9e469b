'use strict'

/* global flumelog */

// A log that several tabs share, while those that own it are closed, reloaded and crash.

const test = require('tape')
const { inBrowser, inWorker } = require('./helpers/browser')
const { randomFrom } = require('../../../test/helpers/random')
const { thorough } = require('../../../test/helpers/thorough')

/** Seconds for which the owners of four tabs end, some by being frozen: frozen.js tests that alone. */
const SECONDS = Number(process.env.SECONDS ?? 0)
const ENDS = ['close', 'crash', 'reload', 'terminate', ...(SECONDS > 0 ? ['freeze'] : [])]
/** How many owners end. */
const OWNERS = thorough ? 8 : ENDS.length
/** Appends of each tab that are acknowledged between two of these. */
const ACKNOWLEDGED = 60
/** A busy machine is slow. Milliseconds. */
const OPTIONS = { shared: true, codec: 'json', blockSize: 1024, timeout: 50000 }
const seed = Number(process.env.SEED ?? Date.now() % 1000000)

/** Seconds after which it is printed what is waited for. */
const PATIENCE = 40

/**
 * @template T
 * @param {string | (() => string)} what is waited for, printed if it takes long
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function waiting (what, promise) {
  const timer = setInterval(() => console.log(`# waiting for ${typeof what === 'string' ? what : what()}`), PATIENCE * 1000)
  try {
    return await promise
  } finally {
    clearInterval(timer)
  }
}

/** In a page: appends a record, deletes it, and compacts the log. */
async function compactSome (log) {
  try {
    const seq = await log.append({ id: 'deleted' })
    await log.del(seq)
    await log.compact()
  } catch (err) {
    // it was compacted, or is, by another call; or it is closed
    if (err.code === 'flumelog:unreachable' && globalThis.wasFrozen) return
    if (!['flumelog:trimmed', 'flumelog:compacted', 'flumelog:invalid', 'flumelog:closed'].includes(err.code)) throw err
  }
}

/** In a page: opens the log, and appends until it is told to stop; tells what was acknowledged. */
function appendOn ({ name, id, options, isCompacting }) {
  globalThis.isStopped = globalThis.wasFrozen = false
  document.addEventListener('freeze', () => { globalThis.wasFrozen = true })
  globalThis.stopped = (async () => {
    const log = globalThis.log = await flumelog.open(name, options)
    let told
    for (let n = 0; !globalThis.isStopped;) {
      const numbers = Array.from({ length: 7 }, () => n++)
      const stored = []
      await Promise.all(numbers.map(n => log.append({ id, n }).then(() => stored.push(n), (err) => {
        // nobody knows what became of those that were in flight
        if (err.code !== 'flumelog:unreachable' || !globalThis.wasFrozen) throw err
      })))
      if (isCompacting && n % 35 === 0) globalThis.compactSome(log).catch(err => globalThis.ended(id, `compact: ${err.code} ${err.stack}`))
      // no faster than the test reads it
      await told
      told = globalThis.acknowledged(id, stored)
    }
    await log.close()
  })().then(() => globalThis.ended(id, null), err => globalThis.ended(id, `${err.code} ${err.stack}`))
}

/** In a page: follows the log, as a client or as the owner. */
async function follow ({ name, options }) {
  const log = globalThis.log = await flumelog.open(name, options)
  const seen = globalThis.seen = []
  globalThis.following = (async () => {
    for await (const { seq, value } of log.stream({ live: true })) {
      seen.push([seq, value.id, value.n])
      if (value.id === 'end') break
    }
  })()
}

/** Tabs that append to a log. */
class Tabs {
  constructor (open, name, isCompacting) {
    this.open = open
    this.name = name
    this.isCompacting = isCompacting
    /** By the id of who appends. @type {Map<string, { page: any, numbers: number[], since: number, isOver: boolean, hasCrashed: boolean, isFrozen: boolean }>} */
    this.all = new Map()
    this.failures = []
    this.lastId = 0
    this.onchange = () => {}
  }

  get running () {
    return [...this.all.values()].filter(({ isOver, isFrozen }) => !isOver && !isFrozen)
  }

  async add (page) {
    const isNew = page === undefined
    const id = `tab ${++this.lastId}`
    page ??= await waiting(`a page for ${id}`, this.open())
    const tab = { id, page, numbers: [], since: 0, isOver: false, hasCrashed: false, isFrozen: false }
    this.all.set(id, tab)
    if (isNew) {
      await page.exposeFunction('acknowledged', (id, numbers) => {
        const tab = this.all.get(id)
        tab.numbers.push(...numbers)
        tab.since += numbers.length
        this.onchange()
      })
      await page.exposeFunction('ended', (id, problem) => {
        if (problem !== null && !this.all.get(id).isOver) this.failures.push(`${id}: ${problem}`)
        this.all.get(id).isOver = true
        this.onchange()
      })
      // with few processes, a crash may be that of several tabs
      page.on('error', () => {
        for (const tab of this.all.values()) if (tab.page === page) tab.isOver = tab.hasCrashed = true
        this.onchange()
      })
    }
    await waiting(`${id} to start`, page.evaluate(`globalThis.compactSome = ${compactSome}`))
    await waiting(`${id} to start`, page.evaluate(appendOn, { name: this.name, id, options: OPTIONS, isCompacting: this.isCompacting }))
  }

  /**
   * @param {string} what
   * @param {() => boolean} condition
   */
  async until (what, condition) {
    const all = () => this.running.map(({ id, since, numbers }) => `${id}: ${since} of ${numbers.length}`).join(', ')
    while (!condition() && this.failures.length === 0) await waiting(() => `${what}: ${all()}`, new Promise(resolve => { this.onchange = resolve }))
    if (this.failures.length > 0) throw new Error(this.failures.join('\n'))
  }

  /** Each has appended, since the last time, and the owner is known. */
  async progress () {
    for (const tab of this.running) tab.since = 0
    await this.until('appends', () => this.running.every(({ since }) => since >= ACKNOWLEDGED))
  }

  async owner () {
    for (const tab of this.running) if (await waiting(`the role of ${tab.id}`, tab.page.evaluate(() => globalThis.log.role).catch(() => null)) === 'owner') return tab
    return null
  }

  async end (tab, how) {
    const { page } = tab
    if (how === 'crash') {
      const crashed = new Promise(resolve => page.once('error', resolve))
      const session = await page.createCDPSession()
      session.send('Page.crash').catch(() => {})
      await waiting(`${tab.id} to crash`, crashed)
    } else {
      tab.isOver = true
      if (how === 'close') await waiting(`${tab.id} to be closed`, page.close())
      else if (how === 'reload') await waiting(`${tab.id} to be reloaded`, page.reload({ waitUntil: 'load' }))
      else await waiting(`${tab.id} to terminate its worker`, page.evaluate(() => globalThis.log.connection.worker.terminate()))
    }
    return how === 'reload' || how === 'terminate' ? page : undefined
  }

  /** Freezes a tab until the others have appended. */
  async freeze (tab) {
    const session = await tab.page.createCDPSession()
    await waiting(`${tab.id} to be frozen`, session.send('Page.setWebLifecycleState', { state: 'frozen' }))
    tab.isFrozen = true
    await this.progress()
    await waiting(`${tab.id} to be thawed`, session.send('Page.setWebLifecycleState', { state: 'active' }))
    tab.isFrozen = false
    await this.progress()
    await waiting(`${tab.id} to be detached`, session.detach())
    const role = await waiting(`the role of ${tab.id}`, tab.page.evaluate(() => globalThis.log.role))
    if (role !== 'client') this.failures.push(`${tab.id} is the ${role} after it was frozen`)
  }

  /** Those that have crashed end with the browser. */
  async close () {
    for (const page of new Set([...this.all.values()].filter(({ hasCrashed }) => !hasCrashed).map(({ page }) => page))) if (!page.isClosed()) await waiting('a page to be closed', page.close())
  }

  async stop () {
    for (const { page } of this.running) await waiting('a tab to be told to stop', page.evaluate(() => { globalThis.isStopped = true }))
    await this.until('tabs to close the log', () => this.running.length === 0)
  }
}

/** @returns {string[]} what is wrong */
function problemsOf (tabs, records) {
  const problems = []
  const found = new Map()
  for (const [, id, n] of records) {
    if (id === 'deleted') continue
    const numbers = found.get(id) ?? []
    if (numbers.length > 0 && n <= numbers.at(-1)) problems.push(`${id}: ${n} comes after ${numbers.at(-1)}`)
    found.set(id, numbers)
    numbers.push(n)
  }
  for (const { id, numbers } of tabs.all.values()) {
    const there = new Set(found.get(id))
    for (const n of numbers) if (!there.has(n)) problems.push(`${id}: ${n} is lost`)
  }
  return problems
}

/** In a page that shares the log: all records, when those that append have ended. */
async function readAll ({ name, options }) {
  const log = globalThis.log ??= await flumelog.open(name, options)
  await log.append({ id: 'end', n: 0 })
  await globalThis.following
  const all = []
  for await (const { seq, value } of log.stream()) all.push([seq, value.id, value.n])
  const { id } = log
  await log.close()
  return { seen: globalThis.seen, all, id }
}

/**
 * Lets tabs append while the owners of their log end.
 * @param {Tabs} tabs
 * @param {{ count: number, seconds?: number }} size
 * @param {(ends: readonly string[]) => string} pick
 * @param {() => Promise<void>} yieldOwnership called when another tab than these is the owner
 * @returns {Promise<string[]>} how they have ended
 */
async function endOwners (tabs, { count, seconds = 0 }, pick, yieldOwnership) {
  const ends = []
  const until = performance.now() + seconds * 1000
  while (ends.length < OWNERS || performance.now() < until) {
    while (tabs.running.length < count) await tabs.add()
    await tabs.progress()
    const owner = await tabs.owner()
    if (owner === null) await yieldOwnership()
    else {
      const how = ends.length < ENDS.length ? ENDS[ends.length] : pick(ENDS)
      ends.push(how)
      if (how === 'freeze') await tabs.freeze(owner)
      else await tabs.add(await tabs.end(owner, how))
    }
  }
  await tabs.progress()
  await tabs.stop()
  return ends
}

inBrowser(({ open }) => {
  for (const count of [2, 4]) {
    test(`${count} tabs append to one log while its owners are closed, reloaded and crash: each acknowledged record is there once, in order (SEED=${seed})`, async (t) => {
      const { pick } = randomFrom(seed + count)
      const name = `tabs-${count}`
      const tabs = new Tabs(open, name, false)
      for (let i = 0; i < count; i++) await tabs.add()
      await tabs.progress()
      // the last to open it, and most often a client
      const reader = await open()
      await reader.evaluate(follow, { name, options: OPTIONS })
      const ends = await endOwners(tabs, { count, seconds: count === 4 ? SECONDS : 0 }, pick, async () => {
        await reader.reload({ waitUntil: 'load' })
        await reader.evaluate(follow, { name, options: OPTIONS })
      })
      const { seen, all } = await waiting('the reader', reader.evaluate(readAll, { name, options: OPTIONS }))
      t.deepEqual(problemsOf(tabs, all).slice(0, 5), [], `${all.length} records of ${tabs.all.size} tabs; ${ends.length} owners ended: ${ends.join(', ')}`)
      t.deepEqual(seen, all, 'a live stream of another tab has seen all of them, once and in order')
      await tabs.close()
      await waiting('the reader to be closed', reader.close())
    })
  }

  test(`3 tabs append to one log and compact it while its owners are closed, reloaded and crash: each acknowledged record is there once, in order (SEED=${seed})`, async (t) => {
    const { pick } = randomFrom(seed)
    const name = 'tabs-compacting'
    const tabs = new Tabs(open, name, true)
    const ends = await endOwners(tabs, { count: 3 }, pick, async () => {})
    const reader = await open()
    await reader.evaluate(`globalThis.compactSome = ${compactSome}`)
    await reader.evaluate(async ({ name, options }) => {
      globalThis.log = await flumelog.open(name, options)
      while (globalThis.log.id === '0') await globalThis.compactSome(globalThis.log)
    }, { name, options: OPTIONS })
    const { all, id } = await reader.evaluate(readAll, { name, options: OPTIONS })
    t.deepEqual(problemsOf(tabs, all).slice(0, 5), [], `${all.length} records of ${tabs.all.size} tabs; ${ends.length} owners ended: ${ends.join(', ')}`)
    t.notEqual(id, '0', 'it was compacted')
    await tabs.close()
    await reader.close()
  })

  test('a tab that is a client of a shared log has all members', async (t) => {
    const [owner, client] = [await open(), await open()]
    for (const page of [owner, client]) await page.evaluate(async (options) => { globalThis.log = await flumelog.open('members', options) }, { ...OPTIONS, large: true })
    const found = await client.evaluate(async () => {
      const { log } = globalThis
      const all = async (source, options) => {
        const found = []
        for await (const item of source.stream(options)) found.push(item)
        return found
      }
      const found = { role: log.role }
      const live = []
      let seenFirst
      const hasSeenFirst = new Promise(resolve => { seenFirst = resolve })
      const following = (async () => {
        for await (const value of log.stream({ live: true, seqs: false })) {
          if (live.push(value.i ?? value.length) === 301) seenFirst()
          if (value.i === 1000) break
        }
      })()
      const seqs = await Promise.all(Array.from({ length: 300 }, (_, i) => log.append({ i })))
      const large = 'x'.repeat(5000)
      const largeSeq = await log.append(large)
      found.large = await log.get(largeSeq) === large
      found.get = await log.get(seqs[77])
      found.search = (await log.search(value => value.i === undefined ? 1 : value.i - 200)).seq === seqs[200]
      // before some of them are deleted
      await hasSeenFirst
      await log.del(seqs[3])
      await log.del({ gte: seqs[10], lt: seqs[20] })
      found.deleted = await log.get(seqs[3]).catch(err => err.code)
      const cursor = log.cursor('mine')
      await cursor.ready()
      await cursor.commit(seqs[250], { sync: true })
      found.cursors = (await log.cursors()).map(({ name, seq, held }) => [name, seq === seqs[250], held])
      found.trimmed = await log.trim({ lt: seqs[150] }) === log.start
      const before = (await all(log, { seqs: false }))
      const { id, records } = await log.compact()
      const after = (await all(log, { seqs: false }))
      found.compacted = [id === log.id, id !== '0', records > 100, JSON.stringify(after) === JSON.stringify(before)]
      found.after = (await all(cursor, { limit: 1 })).map(({ value }) => value.i)
      const condition = await log.append({ i: 999 }, { after: log.since.value - 1 }).catch(err => err.code)
      found.condition = condition
      await log.append({ i: 1000 })
      await following
      found.live = live.length === 302 && live.at(-1) === 1000 && live[300] === 5000
      found.stats = (await log.stats()).appended.records > 300
      await cursor.close()
      await log.sync()
      found.stillClient = log.role
      return found
    })
    t.deepEqual(found, {
      role: 'client',
      large: true,
      get: { i: 77 },
      search: true,
      deleted: 'flumelog:deleted',
      cursors: [['mine', true, true]],
      trimmed: true,
      compacted: [true, true, true, true],
      after: [251],
      condition: 'flumelog:conflict',
      live: true,
      stats: true,
      stillClient: 'client'
    })
    const held = await owner.evaluate(async () => {
      const cursor = globalThis.log.cursor('mine')
      const seq = await cursor.ready()
      const { value: { value } } = await cursor.stream().next()
      return [seq >= 0, value.i, globalThis.log.role]
    })
    t.deepEqual(held, [true, 251, 'owner'], 'the owner goes on with a cursor that the client has closed')
    const refused = await client.evaluate(() => globalThis.log.cursor('mine').ready().catch(err => err.code))
    t.equal(refused, 'flumelog:locked', 'only one tab at a time has a cursor')
    const unshared = await client.evaluate(() => flumelog.open('members', { codec: 'json' }).catch(err => err.code))
    t.equal(unshared, 'flumelog:locked', 'a tab that does not share the log cannot open it')
    await owner.close()
    const taken = await client.evaluate(async () => {
      const { log } = globalThis
      await log.append({ i: 1001 })
      const cursor = log.cursor('mine')
      while (cursor.seq === undefined) await cursor.ready().catch(() => {})
      const result = [log.role, await log.get(log.since.value)]
      await log.close()
      return result
    })
    t.deepEqual(taken, ['owner', { i: 1001 }], 'the client takes over when the owner is closed, with the cursor')
    await client.close()
  })

  test('a full quota fails the appends of all tabs that share a log: what was acknowledged is there, and appending works again in each', async (t) => {
    const pages = [await open(), await open()]
    for (const page of pages) await page.evaluate(async (options) => { globalThis.log = await flumelog.open('full-shared', options) }, { ...OPTIONS, blockSize: 65536 })
    const session = await pages[0].createCDPSession()
    const { origin } = new URL(pages[0].url())
    const { usage } = await pages[0].evaluate(() => navigator.storage.estimate())
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + 4 * 1024 * 1024 })
    const full = await Promise.all(pages.map((page, tab) => page.evaluate(async (tab) => {
      const acknowledged = []
      for (let n = 0; ; n++) {
        try {
          acknowledged.push([await globalThis.log.append({ tab, n, padding: 'x'.repeat(20000) }), tab, n])
        } catch (err) {
          return { acknowledged, code: err.code }
        }
      }
    }, tab)))
    t.deepEqual(full.map(({ code }) => code), ['ENOSPC', 'ENOSPC'])
    await session.send('Storage.overrideQuotaForOrigin', { origin })
    await session.detach()
    const after = []
    for (const [tab, page] of pages.entries()) after.push([await page.evaluate(tab => globalThis.log.append({ tab, n: -1 }), tab), tab, -1])
    const expected = [...full.flatMap(({ acknowledged }) => acknowledged).sort(([a], [b]) => a - b), ...after]
    t.ok(expected.length > 20, `${expected.length} records were acknowledged`)
    for (const page of pages) {
      const found = await page.evaluate(async () => {
        const all = []
        for await (const { seq, value: { tab, n } } of globalThis.log.stream()) all.push([seq, tab, n])
        return all
      })
      t.deepEqual(found, expected)
    }
    for (const page of pages) await page.evaluate(() => globalThis.log.close())
    for (const page of pages) await page.close()
  })

  test('the files of a shared log are those of a log of one tab', async (t) => {
    const page = await open()
    const found = await page.evaluate(async (options) => {
      const { open, openReleased, exportFiles, importFiles, listLogs, removeLog } = flumelog
      const [one, other] = await Promise.all([open('both-ways', options), open('both-ways', options)])
      await one.append({ n: 1 })
      await other.append({ n: 2 })
      const roles = [one.role, other.role].sort()
      await Promise.all([one.close(), other.close()])
      const { shared, ...alone } = options
      const log = await openReleased('both-ways', alone)
      await log.append({ n: 3 })
      await log.close()
      await importFiles('both-copy', await exportFiles('both-ways'))
      await removeLog('both-ways')
      const copy = await open('both-copy', options)
      const values = []
      for await (const { value } of copy.stream()) values.push(value.n)
      await copy.close()
      return { roles, values, listed: (await listLogs()).filter(name => name.startsWith('both')) }
    }, OPTIONS)
    t.deepEqual(found, { roles: ['client', 'owner'], values: [1, 2, 3], listed: ['both-copy'] })
    await page.close()
  })

  test('a browser without handles that do not exclude each other refuses to share a log, and says why', async (t) => {
    const page = await open()
    const found = await inWorker(page, async ({ open, listLogs }) => {
      delete globalThis.FileSystemSyncAccessHandle.prototype.mode
      const err = await open('unshareable', { shared: true }).catch(err => err)
      return [err.code, err.message, (await listLogs()).includes('unshareable')]
    })
    t.deepEqual(found, ['flumelog:unsupported', 'unshareable: `shared` needs createSyncAccessHandle({ mode: \'readwrite-unsafe\' }), which this browser does not have (Chromium 121 and later do): open the log without `shared`, in one tab at a time', false])
    await page.close()
  })
})
