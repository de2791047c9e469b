'use strict'

// How fast is a backup of a log, relative to a copy of its file? All of it, what has changed, and while the log is appended to.

const fs = require('fs')
const path = require('path')
const { execFileSync } = require('child_process')
const { promisify } = require('util')
const { restore } = require('../maintenance')
const ours = require('./peers/ours')
const sqlite = require('./peers/better-sqlite3')
const { summary } = require('./helpers/drive')
const { peakRss } = require('./helpers/memory')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')
const { stored } = require('./helpers/rows')

const MB = 1e6
const sizes = { quick: 100, full: 1000 }
/** Of the log: appended after a first backup. */
const NEW_SHARE = 0.01

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const megabytes = sizes[size]
  const count = Math.floor(megabytes * MB / (RECORD_SIZE + 4))
  const row = (name, run, { peer = ours, note } = {}) => ({ name, note, input: stored(peer, count), run: ({ input, scratch }) => run(input, scratch, count) })
  return [{
    name: `a log of ${megabytes.toLocaleString('en')} MB`,
    rounds: 3,
    rows: [
      row('cp', (input, scratch) => timeCopy(input, scratch, false), { note: 'not fsynced, without --reflink' }),
      row('cp, fsynced', (input, scratch) => timeCopy(input, scratch, true)),
      row('backup', timeBackup, { note: 'verified and fsynced' }),
      row('backup while records are appended', timeBusyBackup, { note: 'the latency is that of the appends' }),
      row('backup when nothing has changed', timeNothing, { note: 'as if all of it were copied' }),
      row('backup of 1 % that is new', timeChanges, { note: 'as if all of it were copied' }),
      row('restore', timeRestore, { note: 'verified, fsynced, and read back' }),
      row('peak RSS of a backup', peakMemoryOfBackup),
      row('better-sqlite3: backup', timeSqlite, { peer: sqlite, note: 'Database.backup, 1,000 pages at a time; not fsynced' })
    ]
  }]
}

/**
 * @param {string} file
 * @param {() => Promise<unknown> | void} run
 */
async function timed (file, run) {
  const { size } = fs.statSync(file)
  const begin = performance.now()
  await run()
  return { phase: 'cold', records: Math.round(size / (RECORD_SIZE + 4)), bytes: size, seconds: (performance.now() - begin) / 1000 }
}

function timeCopy (input, scratch, isSynced) {
  const [file, target] = [path.join(input, 'log'), path.join(scratch, 'copy')]
  return timed(file, () => {
    execFileSync('cp', ['--reflink=never', file, target])
    if (isSynced) execFileSync('sync', [target])
  })
}

/** @returns {Promise<{ log: object, file: string, target: string, backup: () => Promise<object>, close: () => Promise<void> }>} */
async function openBackup (folder, scratch) {
  const { log, close } = await ours.open(folder)
  const target = path.join(scratch, 'backup')
  return { log, close, target, file: path.join(folder, 'log'), backup: () => promisify(log.backup)(target) }
}

async function timeBackup (input, scratch) {
  const { file, backup, close } = await openBackup(input, scratch)
  const measure = await timed(file, backup)
  await close()
  return measure
}

/** The input is used by other rows: so a copy of it is changed. */
async function openChangeable (input, scratch) {
  fs.copyFileSync(path.join(input, 'log'), path.join(scratch, 'log'))
  return openBackup(scratch, scratch)
}

async function timeBusyBackup (input, scratch) {
  const { log, file, backup, close } = await openChangeable(input, scratch)
  const append = promisify(log.append)
  const [record] = distinctRecords(RECORD_SIZE)
  const latencies = []
  const measure = await timed(file, async () => {
    const backingUp = backup().then(() => true)
    for (let isOver = false; !isOver;) {
      const called = performance.now()
      await append(record)
      latencies.push(performance.now() - called)
      // once per turn of the event loop
      isOver = await Promise.race([backingUp, new Promise(resolve => setImmediate(resolve, false))])
    }
  })
  await close()
  return { ...measure, latency: summary(latencies) }
}

async function timeNothing (input, scratch) {
  const { file, backup, close } = await openBackup(input, scratch)
  await backup()
  const measure = await timed(file, backup)
  await close()
  return measure
}

async function timeChanges (input, scratch, count) {
  const { log, file, backup, close } = await openChangeable(input, scratch)
  await backup()
  await promisify(log.append)(Array(Math.floor(count * NEW_SHARE)).fill(distinctRecords(RECORD_SIZE)[0]))
  // the backup would do this first
  await promisify(log.sync)()
  const measure = await timed(file, backup)
  await close()
  return measure
}

async function timeRestore (input, scratch) {
  const file = path.join(input, 'log')
  return timed(file, () => restore(file, path.join(scratch, 'restored')))
}

async function peakMemoryOfBackup (input, scratch) {
  const { backup, close } = await openBackup(input, scratch)
  await backup()
  await close()
  return { phase: 'cold', memory: peakRss() }
}

async function timeSqlite (input, scratch) {
  const { db, close } = await sqlite.open(input)
  const measure = await timed(path.join(input, 'records.sqlite'), () => db.backup(path.join(scratch, 'backup'), { progress: () => 1000 }))
  await close()
  return measure
}

module.exports = { name: 'space-backup', question: 'How fast is a backup, relative to a copy of the file?', groups }
