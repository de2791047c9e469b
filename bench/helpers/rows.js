'use strict'

// Rows shared by several benchmarks: appends to, reads of and gets from a peer, each a row
// as described in runner.js.

const fs = require('fs')
const path = require('path')
const { drive, median } = require('./drive')
const { RECORD_SIZE, recordMaker, distinctRecords, randomNumbers } = require('./records')

/** Run in the same process before anything is timed, to have the code compiled. */
const WARM_UP = { count: 20000, inFlight: 1024, seconds: 0.1 }
/** Up to this many calls in flight, each call is timed. */
const TIME_EACH_LIMIT = 16
/** Runs shorter than this are repeated until they add up to it, in seconds. */
const MIN_SECONDS = 0.15
/**
 * Durations of repeated reads of a whole input, in seconds. The first reads in a process
 * take up to twice as long, until the code is compiled and memory is allocated.
 */
const READING = {
  quick: { warmUp: 0, timed: MIN_SECONDS },
  full: { warmUp: 0.5, timed: 1 },
  check: { warmUp: 0.5, timed: 1 }
}
/** Minimum number of warm-up reads, regardless of their duration. */
const MIN_WARM_UPS = 2
/** Number of warm-up runs of a burst. */
const BURST_WARM_UPS = { quick: 1, full: 2, check: 2 }
/** Appends in flight while an input is made: no more than the maker keeps valid. */
const MAKING = 1000

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
      const warmUps = load.inFlight === load.count ? BURST_WARM_UPS[size] : 0
      for (let left = warmUps; left > 0; left--) await appendTo(peer, path.join(scratch, `warm-up ${left}`), records, load, options)
      const runs = []
      let seconds = 0
      do {
        runs.push(await appendTo(peer, path.join(scratch, `${runs.length}`), records, load, options))
        seconds += runs[runs.length - 1].seconds
      } while (seconds < MIN_SECONDS)
      return medianRun(runs)
    }
  }
}

async function appendTo (peer, folder, records, load, options) {
  fs.mkdirSync(folder)
  const store = await peer.open(folder, options)
  // excludes the cost of the first append, which occurs once per log
  await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve()))
  const { count, seconds, latency } = await drive({ ...load, timeEach: load.inFlight <= TIME_EACH_LIMIT }, (n, cb) => store.append(records[n % records.length], cb), store.whole)
  await store.close()
  fs.rmSync(folder, { recursive: true })
  // the latency of a peer that acknowledges early is meaningless
  return { records: count, bytes: count * RECORD_SIZE, seconds, latency: store.whole || peer.isVolatile ? undefined : latency }
}

/**
 * @param {Array<{ records: number, seconds: number }>} runs
 * @returns the run with the median rate
 */
function medianRun (runs) {
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
      await drive({ count, inFlight: MAKING }, (n, cb) => store.append(make(n), cb), store.whole)
      await store.close()
    }
  }
}

/**
 * Reads a whole input repeatedly, and opens it again each time.
 * @param {import('./runner').Size} size
 * @param {number} count of records in it
 * @param {() => Promise<{ read: (onRecord: (bytes: number) => void) => Promise<void>, close: () => Promise<void> }>} open
 */
async function timeReads (size, count, open) {
  const { warmUp, timed } = READING[size]
  await repeat(warmUp, MIN_WARM_UPS)
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
    if (records !== count) throw new Error(`read ${records} of ${count} records`)
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
 * Gets random records of an input.
 * @param {object} peer
 * @param {number} count of records in it
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
      if (all.length !== count) throw new Error(`found ${all.length} of ${count} records`)
      const random = randomNumbers(2)
      const keys = Array.from({ length: 200000 }, () => all[Math.floor(random() * count)])
      all.length = 0
      const get = (n, cb) => store.get(keys[n % keys.length], cb)

      await drive({ count: 1000, inFlight: 1 }, (n, cb) => get(n, (err, value) => {
        cb(err ?? (value.length === RECORD_SIZE ? null : new Error(`got ${value.length} bytes`)))
      }))
      // a warm-up of the same duration excludes the cost of the first read of each block
      await drive({ count: Infinity, ...load }, get)
      const driven = await drive({ count: Infinity, ...load }, get)
      await store.close()
      return { records: driven.count, bytes: driven.count * RECORD_SIZE, seconds: driven.seconds, latency: driven.latency }
    }
  }
}

module.exports = { appendRow, readRow, getRow, stored, timeReads, medianRun, MIN_SECONDS, BURST_WARM_UPS }
