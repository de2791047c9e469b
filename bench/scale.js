'use strict'

// How do costs grow with the size of the log? Measures opening it, getting its last record, a
// search, a full scan, and the peak RSS of a process that does nothing but scan.

const ours = require('./peers/ours')
const { median } = require('./helpers/drive')
const { RECORD_SIZE, randomNumbers } = require('./helpers/records')
const { peakRss } = require('./helpers/memory')
const { stored, timeReads } = require('./helpers/rows')

const MB = 1e6
const REPEATS = 40
/** The first ones are slower than all later ones. */
const WARM_UPS = 10

const sizes = {
  quick: [10, 100],
  full: [4, 100, 1000, 4000]
}

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  return sizes[size].map(megabytes => {
    const count = Math.floor(megabytes * MB / (RECORD_SIZE + 4))
    const row = (name, run) => ({ name, input: stored(ours, count), run: ({ input }) => run(input, count) })
    return {
      name: `a log of ${megabytes.toLocaleString('en')} MB`,
      x: megabytes * MB,
      table: 'log size',
      column: `${megabytes.toLocaleString('en')} MB`,
      rounds: 2,
      rows: [
        row('open', (input) => timeOpening(input)),
        row('open, lock: false', (input) => timeOpening(input, { lock: false })),
        row('last record', (input, count) => timeOnce(input, (log, n, cb) => getLast(log, count, cb))),
        row('search', (input, count) => timeOnce(input, (log, n, cb) => searchRecord(log, Math.floor(numbers[n] * count), cb))),
        row('scan', (input, count) => timeReads(count, () => openScan(input))),
        row('stream', (input, count) => timeReads(count, () => ours.open(input))),
        row('peak RSS of a scan', peakMemoryOfScan)
      ]
    }
  })
}

const numbers = Array.from({ length: REPEATS + WARM_UPS }, randomNumbers(4))

/** @param {number[]} times in milliseconds */
function phasesOf (times) {
  return [{ phase: 'cold', milliseconds: times[0] }, { phase: 'warm', milliseconds: median(times.slice(WARM_UPS)) }]
}

async function timeOpening (input, options) {
  const times = []
  for (let n = 0; n < REPEATS + WARM_UPS; n++) {
    const begin = performance.now()
    const store = await ours.open(input, options)
    times.push(performance.now() - begin)
    await store.close()
  }
  return phasesOf(times)
}

/**
 * Times a task on a log that has just been opened, with an empty cache.
 * @param {string} input
 * @param {(log: object, n: number, cb: (err: Error | null) => void) => void} task
 */
async function timeOnce (input, task) {
  const times = []
  for (let n = 0; n < REPEATS + WARM_UPS; n++) {
    const { log, close } = await ours.open(input)
    const begin = performance.now()
    await new Promise((resolve, reject) => task(log, n, (err) => err ? reject(err) : resolve()))
    times.push(performance.now() - begin)
    await close()
  }
  return phasesOf(times)
}

function getLast (log, count, cb) {
  log.stream({ reverse: true, limit: 1 })(null, (err, item) => {
    cb(err ?? (JSON.parse(item.value).n === count - 1 ? null : new Error('got another record')))
  })
}

function searchRecord (log, wanted, cb) {
  log.search((value) => JSON.parse(value).n - wanted, (err, seq, value) => {
    cb(err ?? (JSON.parse(value).n === wanted ? null : new Error('found another record')))
  })
}

async function openScan (input) {
  const { log, close } = await ours.open(input)
  const read = (onRecord) => new Promise((resolve, reject) => log.scan({}, onRecord, (err) => err ? reject(err) : resolve()))
  return { read, close }
}

/** Runs only once: garbage of several logs would add up. */
async function peakMemoryOfScan (input, count) {
  const { read, close } = await openScan(input)
  let records = 0
  await read(() => { records++ })
  await close()
  if (records !== count) throw new Error(`scanned ${records} records of ${count}`)
  return { phase: 'cold', memory: peakRss() }
}

module.exports = { name: 'scale', question: 'How do costs grow with the size of the log?', groups }
