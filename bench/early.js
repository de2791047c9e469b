'use strict'

// What do appends cost that are made before the log is open? A million appends at once: right after the constructor, once it
// is open, and from a listener of `since`; and how much memory they take.
// Databases open synchronously; their clock starts before that, too.
//
// flumelog-aligned-offset and async-append-only-log queue early calls in an array and shift them off one by one, which takes
// half a minute for 200,000 and is quadratic: they are measured in the other ways only.

const fs = require('fs')
const path = require('path')
const peers = require('./peers')
const { peakRss, rss } = require('./helpers/memory')
const { timePhases } = require('./helpers/rows')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')

const counts = { quick: 200000, full: 1000000 }
/** Those that store what is appended, without one transaction per record. */
const measured = peers.filter(({ name, isVolatile }) => !isVolatile && !['better-sqlite3', 'classic-level'].includes(name))

/** Those whose early calls take time that grows with the square of their number. */
const QUADRATIC = ['flumelog-aligned-offset', 'async-append-only-log']

/** When the appends are made: each calls `append` with a log, in the same turn. */
const moments = {
  'before it is open': (peer, log, append) => append(),
  'after it is open': (peer, log, append) => peer.isReady(log, () => setImmediate(append)),
  'in a listener of since': (peer, log, append) => log.since.once(append)
}

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const count = counts[size]
  const rows = Object.keys(moments).flatMap(moment => measured.filter(peer => isMeasured(peer, moment)).map(peer => {
    return row(peer, moment, (folder, records) => peer.kind === 'flumelog'
      ? appendToLog(peer, folder, moment, records, count)
      : appendToStore(peer, folder, records, count))
  }))
  return [{ name: `${count.toLocaleString('en')} appends`, rows }]
}

/**
 * @param {object} peer
 * @param {string} moment
 */
function isMeasured ({ name, kind }, moment) {
  if (moment === 'before it is open') return !QUADRATIC.includes(name)
  // the other one has a `since` without `once`
  return kind === 'flumelog' && (moment === 'after it is open' || name !== 'flumelog-aligned-offset')
}

/**
 * @param {object} peer
 * @param {string} moment
 * @param {(folder: string, records: Buffer[]) => Promise<number>} append resolves to the seconds it took
 */
function row (peer, moment, append) {
  return {
    name: `${peer.name}, ${moment}`,
    note: peer.note,
    async run ({ scratch, size }) {
      const records = distinctRecords()
      const count = counts[size]
      return timePhases(async (phase) => {
        const folder = path.join(scratch, 'store')
        fs.mkdirSync(folder)
        const before = rss()
        const seconds = await append(folder, records)
        // later, the peak may be an earlier run's
        const growth = phase === 'cold' ? peakRss() - before : undefined
        fs.rmSync(folder, { recursive: true })
        return { records: count, bytes: count * RECORD_SIZE, seconds, growth }
      })
    }
  }
}

/** The clock starts at the first append. */
async function appendToLog (peer, folder, moment, records, count) {
  let begin = 0
  const log = peer.create(folder)
  await new Promise((resolve, reject) => moments[moment](peer, log, () => {
    begin = performance.now()
    appendAll(log.append, records, count, resolve, reject)
  }))
  if (peer.isEarly) await peer.whole(log)
  const seconds = (performance.now() - begin) / 1000
  if (log.close) await new Promise((resolve, reject) => log.close((err) => err ? reject(err) : resolve()))
  return seconds
}

async function appendToStore (peer, folder, records, count) {
  const begin = performance.now()
  const store = await peer.open(folder)
  await new Promise((resolve, reject) => appendAll(store.append, records, count, resolve, reject))
  const seconds = (performance.now() - begin) / 1000
  await store.close()
  return seconds
}

function appendAll (append, records, count, resolve, reject) {
  let answered = 0
  const answer = (err) => {
    if (err) reject(err)
    else if (++answered === count) resolve()
  }
  for (let n = 0; n < count; n++) append(records[n % records.length], answer)
}

module.exports = { name: 'early', question: 'What do appends cost that are made before the log is open?', groups }
