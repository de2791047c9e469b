'use strict'

// How fast are ssb-db2 and jitdb on this log, relative to async-append-only-log, which they are made for? Both delay writes until 250 ms
// have passed without an append, so what is called "written" has a lower bound of that.

const fs = require('fs')
const path = require('path')
const { promisify } = require('util')
const pull = require('pull-stream')
const { collectGarbage } = require('./helpers/garbage')
const { timePhases } = require('./helpers/rows')
const { logs, makeFeeds, recordsOf, loadAll, startSsb, openLog } = require('./helpers/ssb')

const MESSAGES = 10000
/** Messages of the log of which indexes are built. */
const sizes = { quick: [MESSAGES], full: [MESSAGES, 100000] }
/** Messages that a live query gets one after the other. */
const SINGLE = 3

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  return [
    { name: `addBatch of ${named(MESSAGES)} messages`, rows: logs.map(log => appending(log, addBatches)) },
    { name: `add of ${named(MESSAGES)} messages, all at once`, rows: logs.map(log => appending(log, addAll)) },
    ...sizes[size].map(count => ({ name: `jitdb: indexes of ${named(count)} messages`, rows: [...logs.map(log => indexBuild(log, count)), bareBuild(count)] })),
    { name: `ssb-db2: all indexes of ${named(MESSAGES)} messages`, rows: logs.map(log => fullBuild(log)) },
    { name: `a live query of ${named(MESSAGES)} messages`, rows: logs.map(log => liveQuery(log)) },
    { name: `opening with ${named(MESSAGES)} messages`, rows: logs.map(log => opening(log)) }
  ]
}

/** @param {number} count */
const named = (count) => count.toLocaleString('en')

/** A folder of ssb-db2 with a log, without indexes. */
function stored (log, count) {
  return {
    name: `${log.name}-${count}`,
    async make (folder) {
      fs.mkdirSync(path.join(folder, 'db2'))
      const opened = openLog(log, folder)
      const records = recordsOf(makeFeeds(MESSAGES))
      for (let n = 0; n < count; n += records.length) {
        for (const record of records) opened.append(record, () => {})
        await promisify(opened.onDrain)()
      }
      await promisify(opened.close)()
    }
  }
}

/** Signed messages, as JSON. */
const signed = {
  name: 'messages',
  async make (folder) { fs.writeFileSync(path.join(folder, 'feeds'), JSON.stringify(makeFeeds(MESSAGES))) }
}

/** @param {string} input */
const readFeeds = (input) => JSON.parse(fs.readFileSync(path.join(input, 'feeds'), 'utf8'))

const addBatches = (db, feeds) => Promise.all(feeds.map(messages => promisify(db.addBatch)(messages)))
const addAll = (db, feeds) => Promise.all(feeds.flat().map(message => promisify(db.add)(message)))

/** Appends to a new database, until the last callback, and until everything is written and in the index that ssb-db2 always has. */
function appending (log, add) {
  return {
    name: log.name,
    input: signed,
    async run ({ input, scratch }) {
      const feeds = readFeeds(input)
      const { db, close } = startSsb(log, scratch)
      await promisify(db.onDrain)()
      const begin = performance.now()
      await add(db, feeds)
      const called = secondsSince(begin)
      await promisify(db.getLog().onDrain)()
      const written = secondsSince(begin)
      await promisify(db.onDrain)()
      const indexed = secondsSince(begin)
      await close()
      return Object.entries({ 'called back': called, written, indexed }).map(([part, seconds]) => ({ phase: 'cold', part, ...measure(MESSAGES, seconds) }))
    }
  }
}

/** A query by type and one by author, which jitdb has no indexes for yet: it scans the log, and seeks fields in the bipf of each record. */
function indexBuild (log, count) {
  return {
    name: log.name,
    input: stored(log, count),
    async run ({ input, scratch }) {
      loadAll(log)
      let runs = 0
      return timePhases(async () => {
        const opened = openLog(log, input)
        await once(opened.since)
        const begin = performance.now()
        await buildIndexes(opened, path.join(scratch, `${runs++}`), count)
        const seconds = secondsSince(begin)
        await promisify(opened.close)()
        return measure(count, seconds)
      })
    }
  }
}

/** @param {number} count */
function bareBuild (count) {
  return {
    name: 'records in memory',
    note: 'what jitdb itself takes: it gets all records of an array, with a Buffer and an object per record, from a loop',
    async run ({ scratch }) {
      loadAll(logs[1])
      const records = recordsOf(makeFeeds(MESSAGES))
      let runs = 0
      return timePhases(async () => {
        const begin = performance.now()
        await buildIndexes(inMemory(records, count), path.join(scratch, `${runs++}`), count)
        return measure(count, secondsSince(begin))
      })
    }
  }
}

/**
 * As much of a log as jitdb needs.
 * @param {Buffer[]} records
 * @param {number} count
 */
function inMemory (records, count) {
  const Obv = require('obz')
  const since = Obv()
  since.set(count - 1)
  const compactionProgress = Obv()
  compactionProgress.set({ percent: 1, done: true, sizeDiff: 0 })
  return {
    since,
    compactionProgress,
    stream: () => ({
      pipe (sink) {
        for (let offset = 0; offset < count; offset++) {
          const { buffer, byteOffset, length } = records[offset % records.length]
          sink.write({ offset, value: Buffer.from(buffer, byteOffset, length) })
        }
        sink.end()
      }
    })
  }
}

async function buildIndexes (log, folder, count) {
  const jitdb = require('jitdb')(log, folder)
  const { query, fromDB, where, or, equal, count: counted, toPromise } = require('jitdb/operators')
  const { seekType, seekAuthor } = require('ssb-db2/seekers')
  const [{ id }] = [require('ssb-keys').generate('ed25519', Buffer.alloc(32, 1))]
  const found = await query(
    fromDB(jitdb),
    where(or(equal(seekType, 'post', { indexType: 'type' }), equal(seekAuthor, id, { indexType: 'author', prefix: 32 }))),
    counted(),
    toPromise()
  )
  // a quarter are posts, a tenth is of the author
  if (found < count / 4 || found > count * 0.36) throw new Error(`found ${found} of ${count} messages`)
}

/** Starts ssb-db2 on a log without indexes, until all it has by default are built and a query is answered. */
function fullBuild (log) {
  return {
    name: log.name,
    input: stored(log, MESSAGES),
    async run ({ input, scratch }) {
      loadAll(log)
      fs.cpSync(input, scratch, { recursive: true })
      const begin = performance.now()
      const { db, close } = startSsb(log, scratch)
      await countPosts(db, MESSAGES / 4)
      const seconds = secondsSince(begin)
      await close()
      return { phase: 'cold', ...measure(MESSAGES, seconds) }
    }
  }
}

/** From `addBatch` until a live query has all of them, and the delay of single ones. */
function liveQuery (log) {
  return {
    name: log.name,
    input: signed,
    async run ({ input, scratch }) {
      const feeds = readFeeds(input)
      const { db, close } = startSsb(log, scratch)
      await promisify(db.onDrain)()
      const { where, author, or, live, toPullStream } = require('ssb-db2/operators')
      let got = 0
      let wanted = 0
      let answer = () => {}
      const arrived = (count) => new Promise(resolve => { wanted += count; answer = resolve })
      const authors = feeds.map(([{ author: id }]) => author(id))
      pull(db.query(where(or(...authors)), live(), toPullStream()), pull.drain(() => { if (++got === wanted) answer() }))
      // jitdb's live streams start when the query's operations are ready
      await promisify(db.onDrain)()

      const last = feeds.map(messages => messages.splice(-SINGLE)).flat()
      const delays = []
      const count = feeds.flat().length
      const all = arrived(count)
      const begin = performance.now()
      await addBatches(db, feeds)
      await all
      const seconds = secondsSince(begin)
      for (const message of last.slice(0, SINGLE)) {
        const begin = performance.now()
        const one = arrived(1)
        await promisify(db.addBatch)([message])
        await one
        delays.push(performance.now() - begin)
      }
      await close()
      return [{ phase: 'cold', part: 'all', ...measure(count, seconds) }, { phase: 'cold', part: 'one', milliseconds: delays.sort((a, b) => a - b)[SINGLE >> 1] }]
    }
  }
}

/** The log alone, until its end is known; and ssb-db2 with all of its indexes, until a query is answered. */
function opening (log) {
  return {
    name: log.name,
    input: {
      name: `${log.name}-indexed`,
      async make (folder) {
        await stored(log, MESSAGES).make(folder)
        const { db, close } = startSsb(log, folder)
        await countPosts(db, MESSAGES / 4)
        // jitdb stores its indexes some time after the answer
        await new Promise(resolve => setTimeout(resolve, 2000))
        await close()
      }
    },
    async run ({ input }) {
      loadAll(log)
      // or it would be done meanwhile: what loading has left takes longer than what is measured
      collectGarbage()
      const begin = performance.now()
      const opened = openLog(log, input)
      await once(opened.since)
      const alone = performance.now() - begin
      await promisify(opened.close)()
      collectGarbage()
      const again = performance.now()
      const { db, close } = startSsb(log, input)
      await countPosts(db, MESSAGES / 4)
      const whole = performance.now() - again
      await close()
      return [{ phase: 'cold', part: 'the log', milliseconds: alone }, { phase: 'cold', part: 'ssb-db2, with a query', milliseconds: whole }]
    }
  }
}

async function countPosts (db, wanted) {
  const { where, type, count, toPromise } = require('ssb-db2/operators')
  const found = await db.query(where(type('post')), count(), toPromise())
  if (found !== wanted) throw new Error(`found ${found} posts, not ${wanted}`)
}

/** @param {Function} since */
const once = (since) => new Promise(resolve => since.once(resolve))
const secondsSince = (begin) => (performance.now() - begin) / 1000

/** @param {number} records @param {number} seconds */
function measure (records, seconds) {
  return { records, bytes: records * RECORD_BYTES, seconds }
}

/** Bytes in a typical record of these messages. */
const RECORD_BYTES = 560

module.exports = { name: 'ssb', question: 'How fast are ssb-db2 and jitdb, relative to async-append-only-log?', groups }
