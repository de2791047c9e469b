'use strict'

// Rows that several benchmark files have in common: appends to, reads of and gets
// from a peer, each a row as described in runner.js.

const fs = require('fs')
const path = require('path')
const { drive, median } = require('./drive')
const { RECORD_SIZE, recordMaker, distinctRecords, randomNumbers } = require('./records')

/** Before anything is timed, in the same process: code that has not been compiled says nothing. */
const WARM_UP = { count: 20000, inFlight: 1024, seconds: 0.1 }
/** So few in flight are not answered in groups. */
const FEW = 16
/** What is over too soon to be timed is repeated until it took so long, in seconds. */
const LEAST_SECONDS = 0.15
/**
 * Reads of a whole input go on for so many seconds before any is timed, and are then
 * timed for so many: the first ones of a process take up to twice as long, until
 * their code has been compiled and the process has the memory it needs.
 */
const READING = {
  quick: { warmUp: 0, timed: LEAST_SECONDS },
  full: { warmUp: 0.5, timed: 1 },
  check: { warmUp: 0.5, timed: 1 }
}
/** And so many of them at least are not timed, however long they take. */
const LEAST_WARM_UPS = 2
/** Of what is stored all at once, so often before it is timed. */
const WARM_UPS_AT_ONCE = { quick: 1, full: 2, check: 2 }
/** Appends in flight while an input is made. */
const MAKING = 1024

/**
 * @param {object} peer
 * @param {{ count: number, inFlight: number, seconds?: number }} load
 * @param {object} [options] for the peer
 */
function appendRow (peer, load, options = {}) {
  return {
    name: peer.name,
    note: peer.note,
    async run ({ scratch, size }) {
      const records = distinctRecords()
      await appendTo(peer, path.join(scratch, 'warm-up'), records, { ...WARM_UP, inFlight: Math.min(load.inFlight, WARM_UP.inFlight) }, options)
      const warmUps = load.inFlight === load.count ? WARM_UPS_AT_ONCE[size] : 0
      for (let left = warmUps; left > 0; left--) await appendTo(peer, path.join(scratch, `warm-up ${left}`), records, load, options)
      const runs = []
      let seconds = 0
      do {
        runs.push(await appendTo(peer, path.join(scratch, `${runs.length}`), records, load, options))
        seconds += runs[runs.length - 1].seconds
      } while (seconds < LEAST_SECONDS)
      return middleRun(runs)
    }
  }
}

async function appendTo (peer, folder, records, load, options) {
  fs.mkdirSync(folder)
  const store = await peer.open(folder, options)
  // what the first append costs once in a log's life is not what is asked here
  await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve()))
  const { count, seconds, latency } = await drive({ ...load, timeEach: load.inFlight <= FEW }, (n, cb) => store.append(records[n % records.length], cb), store.whole)
  await store.close()
  fs.rmSync(folder, { recursive: true })
  // of one that acknowledges early, the latency says nothing
  return { records: count, bytes: count * RECORD_SIZE, seconds, latency: store.whole || peer.isVolatile ? undefined : latency }
}

/**
 * @param {Array<{ records: number, seconds: number }>} runs
 * @returns the one that has the median rate
 */
function middleRun (runs) {
  return runs.sort((a, b) => a.records / a.seconds - b.records / b.seconds)[runs.length >> 1]
}

/**
 * An input: records stored by a peer.
 * @param {object} peer
 * @param {number} count
 * @param {object} [options] for the peer
 */
function stored (peer, count, options = {}) {
  return {
    name: [peer.name, count, ...Object.values(options)].join(' '),
    async make (folder) {
      const store = await peer.open(folder, options)
      const make = recordMaker()
      // what is in flight is less than what the maker keeps apart
      await drive({ count, inFlight: MAKING - 24 }, (n, cb) => store.append(make(n), cb), store.whole)
      await store.close()
    }
  }
}

/**
 * Reads all of an input, again and again; each time it is opened anew.
 * @param {import('./runner').Size} size
 * @param {number} count of records that it holds
 * @param {() => Promise<{ read: (onRecord: (bytes: number) => void) => Promise<void>, close: () => Promise<void> }>} open
 */
async function timeReads (size, count, open) {
  const { warmUp, timed } = READING[size]
  await repeat(warmUp, LEAST_WARM_UPS)
  return { records: count, bytes: count * RECORD_SIZE, seconds: median(await repeat(timed, 1)) }

  async function repeat (leastSeconds, leastTimes) {
    const times = []
    let total = 0
    while (times.length < leastTimes || total < leastSeconds) {
      times.push(await timeRead())
      total += times[times.length - 1]
    }
    return times
  }

  async function timeRead () {
    const { read, close } = await open()
    let records = 0
    const begin = performance.now()
    await read(() => { records++ })
    const seconds = (performance.now() - begin) / 1000
    await close()
    if (records !== count) throw new Error(`read ${records} records of ${count}`)
    return seconds
  }
}

/**
 * @param {object} peer
 * @param {number} count
 */
function readRow (peer, count) {
  return {
    name: peer.name,
    input: stored(peer, count),
    run: ({ input, size }) => timeReads(size, count, () => peer.open(input))
  }
}

/**
 * Gets of records drawn over the whole of an input.
 * @param {object} peer
 * @param {number} count of records that it holds
 * @param {{ inFlight: number, seconds: number }} load
 * @param {{ cacheSize: number }} [options] for the peer
 */
function getRow (peer, count, load, options) {
  return {
    name: peer.name,
    note: peer.cacheNote,
    input: stored(peer, count),
    async run ({ input }) {
      const store = await peer.open(input, options)
      const all = await store.keys()
      if (all.length !== count) throw new Error(`has ${all.length} records of ${count}`)
      const random = randomNumbers(2)
      const keys = Array.from({ length: 200000 }, () => all[Math.floor(random() * count)])
      all.length = 0
      const get = (n, cb) => store.get(keys[n % keys.length], cb)

      await drive({ count: 1000, inFlight: 1 }, (n, cb) => get(n, (err, value) => {
        cb(err ?? (value.length === RECORD_SIZE ? null : new Error(`got ${value.length} bytes`)))
      }))
      // as long again: what a store learns of a block when it first reads it is not what is asked here
      await drive({ count: Infinity, ...load }, get)
      const driven = await drive({ count: Infinity, ...load }, get)
      await store.close()
      return { records: driven.count, bytes: driven.count * RECORD_SIZE, seconds: driven.seconds, latency: driven.latency }
    }
  }
}

module.exports = { appendRow, readRow, getRow, stored, timeReads, middleRun, LEAST_SECONDS, WARM_UPS_AT_ONCE }
