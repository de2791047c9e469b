'use strict'

// What does it cost to compact a log, of which one record in 20 is deleted? The shape is that of async-append-only-log's own benchmark: 1.4 million
// records, 1 GB. And how long does an append wait meanwhile?

const fs = require('fs')
const path = require('path')
const { promisify } = require('util')
const { open } = require('../promises')
const { timed, timedWithAppends } = require('./helpers/appends-meanwhile')
const { peakRss, rss } = require('./helpers/memory')
const { recordMaker } = require('./helpers/records')

const RECORD_SIZE = 715
const counts = { quick: 70000, full: 1400000 }
const DELETED_EVERY = 20
/** Appended at a time. */
const BATCH = 1000

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const count = counts[size]
  const rows = [
    row('flumelog-random-access-file', count, make.ours, (folder) => compactOurs(folder, false)),
    row('flumelog-random-access-file, appends meanwhile', count, make.ours, (folder) => compactOurs(folder, true)),
    row('async-append-only-log', count, make.asyncLog, async (folder) => {
      const log = asyncLog(folder)
      await promisify(log.onDrain)()
      return timed(() => promisify(log.compact)())
    }),
    row('better-sqlite3, VACUUM', count, make.sqlite, async (folder) => {
      const db = require('better-sqlite3')(path.join(folder, 'log'))
      return timed(async () => { db.exec('VACUUM') })
    }),
    row('classic-level, compactRange', count, make.level, async (folder) => {
      const db = await openLevel(folder)
      return timed(() => db.compactRange(key(0), key(count)))
    })
  ]
  return [{ name: `compaction of ${(count * RECORD_SIZE / 1e6).toFixed(0)} MB, ${count.toLocaleString('en')} records, 5 % deleted`, rows }]
}

/**
 * @param {string} name
 * @param {number} count
 * @param {(folder: string, count: number) => Promise<void>} make
 * @param {(folder: string) => Promise<{ seconds: number, longest?: number }>} compact
 */
function row (name, count, make, compact) {
  return {
    name,
    input: { name: `${make.name}-${count}`, make: (folder) => make(folder, count) },
    async run ({ input, scratch }) {
      const folder = path.join(scratch, 'copy')
      fs.cpSync(input, folder, { recursive: true })
      const before = rss()
      const { seconds, longest } = await compact(folder)
      return [
        { phase: 'cold', records: count, bytes: count * RECORD_SIZE, seconds },
        { phase: 'cold', part: 'peak RSS beyond that before', memory: Math.max(0, peakRss() - before) },
        ...longest === undefined ? [] : [{ phase: 'cold', part: 'longest append', milliseconds: longest }]
      ]
    }
  }
}

const make = {
  async ours (folder, count) {
    const log = await open(path.join(folder, 'log'))
    const record = recordMaker(RECORD_SIZE)
    for (let n = 0; n < count; n += BATCH) await log.append(Array.from({ length: BATCH }, (_, i) => Buffer.from(record(n + i))))
    let n = 0
    const deleted = []
    for await (const seqs of log.batches({ values: false })) deleted.push(...seqs.filter(() => n++ % DELETED_EVERY === 0))
    for (let at = 0; at < deleted.length; at += BATCH) await log.del(deleted.slice(at, at + BATCH))
    await log.close()
  },

  async asyncLog (folder, count) {
    const log = asyncLog(folder)
    const record = recordMaker(RECORD_SIZE)
    for (let n = 0; n < count; n += BATCH) {
      for (let i = 0; i < BATCH - 1; i++) log.append(Buffer.from(record(n + i)), () => {})
      await promisify(log.append)(Buffer.from(record(n + BATCH - 1)))
    }
    await promisify(log.onDrain)()
    const offsets = []
    await new Promise(resolve => log.stream({ values: false }).pipe({ paused: false, write: (offset) => { offsets.push(offset) }, end: resolve }))
    for (let n = 0; n < offsets.length; n += DELETED_EVERY) await promisify(log.del)(offsets[n])
    await promisify(log.onDeletesFlushed)()
    await promisify(log.close)()
  },

  async sqlite (folder, count) {
    const db = require('better-sqlite3')(path.join(folder, 'log'))
    db.exec('CREATE TABLE records (seq INTEGER PRIMARY KEY, value BLOB)')
    const insert = db.prepare('INSERT INTO records (value) VALUES (?)')
    const record = recordMaker(RECORD_SIZE)
    db.transaction(() => { for (let n = 0; n < count; n++) insert.run(record(n)) })()
    db.exec(`DELETE FROM records WHERE seq % ${DELETED_EVERY} = 0`)
    db.close()
  },

  async level (folder, count) {
    const db = await openLevel(folder)
    const record = recordMaker(RECORD_SIZE)
    for (let n = 0; n < count; n += BATCH) await db.batch(Array.from({ length: BATCH }, (_, i) => ({ type: 'put', key: key(n + i), value: Buffer.from(record(n + i)) })))
    for (let n = 0; n < count; n += DELETED_EVERY) await db.del(key(n))
    await db.close()
  }
}

async function compactOurs (folder, hasAppends) {
  const log = await open(path.join(folder, 'log'))
  const run = () => log.compact()
  return hasAppends ? timedWithAppends(log, Buffer.alloc(RECORD_SIZE, 1), run) : timed(run)
}

function asyncLog (folder) {
  return require('async-append-only-log')(path.join(folder, 'log'), { blockSize: 65536 })
}

async function openLevel (folder) {
  const { ClassicLevel } = require('classic-level')
  const db = new ClassicLevel(path.join(folder, 'log'), { valueEncoding: 'buffer' })
  await db.open()
  return db
}

function key (n) {
  return String(n).padStart(12, '0')
}

module.exports = { name: 'space-compact', question: 'What does compaction cost, and how long does an append wait meanwhile?', groups }
