'use strict'

// Demonstrates the log on real data: a flumedb database with two views, on a log of
// 200,000 flights and a week of earthquakes. Everything it prints is read from the log.
// The database is left in a temporary directory, for inspection.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { spawnSync } = require('child_process')
const { promisify, styleText } = require('util')
const { SingleBar, Presets } = require('cli-progress')
const codec = require('flumecodec').json
const Flume = require('flumedb')
const Level = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const pull = require('pull-stream')
const FlumeLog = require('..')
const { readRecords } = require('./records')

const BATCH_SIZE = 1000
/** Minutes of delay from which a flight counts as late. */
const LATE = 15
const MOMENT = '2018-02-06 15:50'
const PROGRAM = path.join(__dirname, '..', 'bin', 'flumelog.js')

const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'flumelog-demo-')), 'log')

async function main () {
  console.log('A log is a file of records, which are appended, and addressed by byte offset.')
  console.log('flumedb turns it into a database: its views follow the log, and answer queries')
  console.log('that the log alone cannot.\n')

  const records = await step('Read the data sets', () => read())
  const log = FlumeLog(file, { codec })
  const db = Flume(log)
    .use('totals', Reduce(1, addToTotals, null, null, {}))
    .use('bySize', Level(1, sizeKeys))

  await step('Append every record to the log', () => append(log, db, records))
  await step('Wait for two views to catch up', () => catchUp(db))
  await step('Query the view that sums up (flumeview-reduce)', () => showTotals(db))
  await step('Query the view that is an index by size (flumeview-level)', () => showLargest(db))
  await step('Read the log backward: the last five records', () => showLast(db))
  await step(`Find the first record from ${MOMENT} on, by binary search`, () => showFrom(log, db))
  await promisify(db.close)()

  await step('Print statistics of the file on the command line', () => run('stat', file))
  await step('Print the first records on the command line', () => run('dump', file, '--limit', '3'))
  console.log('The log is in')
  console.log(`  ${file}`)
  console.log('next to its views. Try the commands on it; delete the directory when done.')
  console.log('To look into it in a browser:')
  console.log(`  node ${path.relative('.', PROGRAM)} view ${file}`)
}

/**
 * Prints a title, runs a step of the demo, and prints how long it took.
 * @param {string} title
 * @param {() => any} work
 */
async function step (title, work) {
  const startedAt = performance.now()
  console.log(process.stdout.isTTY ? styleText('bold', title) : title)
  const result = await work()
  console.log(`  (${duration(performance.now() - startedAt)})\n`)
  return result
}

function read () {
  const records = readRecords()
  console.log(`  ${count(records.length)} records, in chronological order:`)
  console.log('  flights in the USA in early 2001 (the data has the time of day, but no date,')
  console.log('  so all are dated 1 January 2001) and the earthquakes of a week in 2018')
  return records
}

async function append (log, db, records) {
  const bar = process.stdout.isTTY
    ? new SingleBar({ format: '  {bar} {percentage} %', clearOnComplete: true, hideCursor: true }, Presets.shades_classic)
    : null
  bar?.start(records.length, 0)
  for (let from = 0; from < records.length; from += BATCH_SIZE) {
    const batch = records.slice(from, from + BATCH_SIZE)
    await promisify(db.append)(batch)
    bar?.update(from + batch.length)
  }
  bar?.stop()
  const { written, size, blocks } = log.stats()
  console.log(`  ${count(written.records)} records appended: ${count(size)} bytes in ${count(blocks)} blocks`)
}

// The views

async function catchUp (db) {
  await Promise.all(Object.values(db.views).map(view => promisify(view.ready)()))
  console.log('  each has processed every record')
}

function addToTotals (totals, { type, delay, magnitude, place }) {
  totals[type] ??= { records: 0 }
  const total = totals[type]
  total.records++
  if (type === 'flight') {
    total.minutes = (total.minutes ?? 0) + delay
    total.late = (total.late ?? 0) + (delay >= LATE ? 1 : 0)
  } else if (total.records === 1 || magnitude > total.strongest.magnitude) {
    total.strongest = { magnitude, place }
  }
  return totals
}

async function showTotals (db) {
  const { flight, ...others } = await promisify(db.totals.get)({})
  console.log(`  ${count(flight.records)} flights, on average ${(flight.minutes / flight.records).toFixed(2)} minutes late;`)
  console.log(`  ${count(flight.late)} were late by ${LATE} minutes or more`)
  for (const [type, { records, strongest }] of Object.entries(others)) {
    console.log(`  ${count(records)} × ${type}, the strongest ${strongest.magnitude} (${strongest.place})`)
  }
}

/** A flight's size is its delay, an earthquake's is its magnitude. The seq makes keys unique. */
function sizeKeys ({ type, delay, magnitude }, seq) {
  return [[type, type === 'flight' ? delay : magnitude, seq]]
}

async function showLargest (db) {
  console.log('  the longest delays:')
  for (const { value } of await largest(db, 'flight', 3)) console.log('  ' + line(value))
  console.log('  the strongest earthquakes:')
  for (const { value } of await largest(db, 'earthquake', 5)) console.log('  ' + line(value))
}

function largest (db, type, limit) {
  return collect(db.bySize.read({ gte: [type], lt: [type, undefined], reverse: true, limit }))
}

// The log itself

async function showLast (db) {
  for (const { seq, value } of await collect(db.stream({ reverse: true, limit: 5 }))) {
    console.log(`  at ${seq}: ${line(value)}`)
  }
}

async function showFrom (log, db) {
  const moment = Date.parse(MOMENT + 'Z')
  const before = log.stats()
  const first = await promisify(log.search)(record => record.timestamp - moment)
  const after = log.stats()
  const blocksRead = after.cache.hits + after.cache.misses - before.cache.hits - before.cache.misses
  console.log(`  found at offset ${first}, after reading ${blocksRead} of ${after.blocks} blocks; from there on:`)
  for (const { value } of await collect(db.stream({ gte: first, limit: 5 }))) console.log('  ' + line(value))
}

function run (...args) {
  console.log(`  $ ${['node', path.relative('.', PROGRAM), ...args].join(' ')}`)
  const { status, error } = spawnSync(process.execPath, [PROGRAM, ...args], { stdio: 'inherit' })
  if (status !== 0) throw error ?? new Error(`${args[0]} exited with code ${status}`)
}

// Formatting

function line ({ type, timestamp, delay, distance, magnitude, place }) {
  const time = new Date(timestamp).toISOString().replace('T', ' ').slice(0, 16)
  const what = type === 'flight' ? `of ${count(distance)} miles, ${count(delay)} minutes late` : `${magnitude}, ${place}`
  return `${time}  ${type} ${what}`
}

/** @param {number} time in milliseconds */
const duration = (time) => time < 100 ? `${time.toFixed(1)} ms` : `${(time / 1000).toFixed(2)} s`

const count = (number) => number.toLocaleString('en-US')

const collect = (source) => new Promise((resolve, reject) => {
  pull(source, pull.collect((err, all) => err ? reject(err) : resolve(all)))
})

main().catch(err => {
  console.error(err)
  process.exitCode = 1
})
