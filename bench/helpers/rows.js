'use strict'

// Rows shared by several benchmarks: appends to, reads of and gets from a peer, each a row
// as described in runner.js. Each is measured cold, which is the first pass in the row's own process,
// and then warm, in the same process.

const fs = require('fs')
const path = require('path')
const { drive } = require('./drive')
const { RECORD_SIZE, recordMaker, distinctRecords, randomNumbers } = require('./records')

/** Up to this many calls in flight, each call is timed. */
const TIME_EACH_LIMIT = 16
/** Seconds of work before the warm measurement, the cold one included. */
const WARM_UP = 0.5
/** Warm runs that are shorter are repeated until they take this long, in seconds. */
const MIN_SECONDS = 0.15
/** Appends in flight while an input is made: no more than the maker keeps valid. */
const MAKING = 1000
/** Keys of an input that gets choose from. */
const KEYS = 200000
const KEYS_FILE = 'random-keys.json'

/**
 * Measures a task in both phases.
 * @param {(phase: 'cold' | 'warm') => Promise<{ seconds: number, records: number }>} run does the task once, from the start
 * @returns {Promise<object[]>} the first run, and the median of the warm ones
 */
async function timePhases (run) {
  const begin = performance.now()
  const cold = await run('cold')
  const untilWarm = WARM_UP - (performance.now() - begin) / 1000
  if (untilWarm > 0) await repeat(run, untilWarm)
  return [{ phase: 'cold', ...cold }, { phase: 'warm', ...medianRun(await repeat(run, MIN_SECONDS)) }]
}

/**
 * @param {(phase: 'warm') => Promise<{ seconds: number, records: number }>} run
 * @param {number} leastSeconds
 */
async function repeat (run, leastSeconds) {
  const begin = performance.now()
  const runs = []
  do runs.push(await run('warm')); while (performance.now() - begin < leastSeconds * 1000)
  return runs
}

/**
 * @param {Array<{ records: number, seconds: number }>} runs
 * @returns the run with the median rate
 */
function medianRun (runs) {
  return [...runs].sort((a, b) => a.records / a.seconds - b.records / b.seconds)[runs.length >> 1]
}

/**
 * @param {object} peer
 * @param {{ count: number, inFlight: number, seconds?: number }} load
 * @param {object} [options] for the peer
 */
function appendRow (peer, load, options = {}) {
  return {
    name: peer.name,
    note: peer.note,
    async run ({ scratch }) {
      const records = distinctRecords()
      let runs = 0
      return timePhases((phase) => appendTo(peer, path.join(scratch, `${runs++}`), records, load, options, phase))
    }
  }
}

/** Appends to a new store; the clock starts when it is open, and if warm, when its first append is acknowledged, which costs more than the others. */
async function appendTo (peer, folder, records, load, options, phase) {
  fs.mkdirSync(folder)
  const store = await peer.open(folder, options)
  if (phase === 'warm') await new Promise((resolve, reject) => store.append(records[0], (err) => err ? reject(err) : resolve()))
  const { count, seconds, latency } = await drive({ ...load, timeEach: load.inFlight <= TIME_EACH_LIMIT }, (n, cb) => store.append(records[n % records.length], cb), store.whole)
  await store.close()
  fs.rmSync(folder, { recursive: true })
  // the latency of a peer that acknowledges early is meaningless
  return { records: count, bytes: count * RECORD_SIZE, seconds, latency: store.whole || peer.isVolatile ? undefined : latency }
}

/**
 * An input: records stored by a peer.
 * @param {object} peer
 * @param {number} count
 * @param {{ keys?: boolean, [option: string]: any }} [options] for the peer; keys: also stores some random keys, for `readKeys`
 */
function stored (peer, count, { keys = false, ...options } = {}) {
  return {
    name: [peer.storedBy ?? peer.name, count, ...(keys ? ['keys'] : []), ...Object.values(options)].join(' '),
    async make (folder) {
      const store = await peer.open(folder, options)
      const make = recordMaker()
      if (store.fill === undefined) await drive({ count, inFlight: MAKING }, (n, cb) => store.append(make(n), cb), store.whole)
      else await store.fill(count, (n) => Buffer.from(make(n)))
      if (keys) writeKeys(folder, await store.keys(), count)
      await store.close()
    }
  }
}

function writeKeys (folder, all, count) {
  if (all.length !== count) throw new Error(`found ${all.length} of ${count} records`)
  const random = randomNumbers(2)
  fs.writeFileSync(path.join(folder, KEYS_FILE), JSON.stringify(Array.from({ length: KEYS }, () => all[Math.floor(random() * count)])))
}

/** @param {string} input made with `keys` */
function readKeys (input) {
  return JSON.parse(fs.readFileSync(path.join(input, KEYS_FILE), 'utf8'))
}

/** What a reader was given last: V8 would not make objects that nobody can see. */
const kept = { record: undefined }

/**
 * Reads a whole input repeatedly, and opens it again each time; the clock starts when it is open.
 * @param {number} count of records in it
 * @param {() => Promise<{ read: (onRecord: (record?: any) => void) => Promise<void>, close: () => Promise<void> }>} open
 */
function timeReads (count, open) {
  return timePhases(async () => {
    const { read, close } = await open()
    let records = 0
    const begin = performance.now()
    await read((record) => {
      records++
      kept.record = record
    })
    const seconds = (performance.now() - begin) / 1000
    await close()
    if (records !== count) throw new Error(`read ${records} of ${count} records`)
    return { records: count, bytes: count * RECORD_SIZE, seconds }
  })
}

/**
 * @param {object} peer
 * @param {number} count
 */
function readRow (peer, count) {
  return {
    name: peer.name,
    note: peer.isEarly ? undefined : peer.note,
    input: stored(peer, count),
    run: ({ input }) => timeReads(count, () => peer.open(input))
  }
}

/**
 * @typedef {object} GetLoad
 * @property {number} inFlight
 * @property {number} count of gets measured cold
 * @property {number} seconds limit on their time, and half as much for the warm ones
 *
 * Gets random records of an input, of which nothing has been read before.
 * @param {object} peer
 * @param {number} count of records in it
 * @param {GetLoad} load
 * @param {{ cacheSize: number }} options for the peer
 */
function getRow (peer, count, load, options) {
  return {
    name: peer.name,
    note: peer.cacheNote,
    input: stored(peer, count, { keys: true }),
    async run ({ input }) {
      const store = await peer.open(input, options)
      const measures = await timeGets(readKeys(input), load, store.get)
      await store.close()
      return measures
    }
  }
}

/**
 * The warm gets follow the cold ones, with the same store.
 * @param {any[]} keys
 * @param {GetLoad} load
 * @param {(key: any, cb: (err: Error | null, value: Buffer) => void) => void} get
 */
async function timeGets (keys, { inFlight, count, seconds }, get) {
  let begun = 0
  const next = (_, cb) => get(keys[begun++ % keys.length], cb)
  const gets = async (count, limit) => {
    const { count: records, seconds, latency } = await drive({ inFlight, count, seconds: limit }, next)
    return { records, bytes: records * RECORD_SIZE, seconds, latency }
  }
  const cold = await gets(count, seconds)
  await drive({ count: 1000, inFlight: 1 }, (n, cb) => next(n, (err, value) => {
    cb(err ?? (value.length === RECORD_SIZE ? null : new Error(`got ${value.length} bytes`)))
  }))
  return [{ phase: 'cold', ...cold }, { phase: 'warm', ...await gets(Infinity, seconds / 2) }]
}

module.exports = { timePhases, appendRow, readRow, getRow, timeGets, stored, readKeys, timeReads }
