'use strict'

// How fast is space freed, and how long does an append wait meanwhile? Nearly all of a log goes: by `del` of a range,
// or by `trim`.

const fs = require('fs')
const path = require('path')
const { open } = require('../promises')
const layout = require('../lib/format/layout')
const ours = require('./peers/ours')
const { timed, timedWithAppends } = require('./helpers/appends-meanwhile')
const { makeHoles } = require('../test/helpers/holes')
const { peakRss, rss } = require('./helpers/memory')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')
const { stored } = require('./helpers/rows')

const MB = 1e6
const BLOCK_SIZE = 65536
const sizes = { quick: 20, full: 1000 }
/** Of the log, from its start. */
const FREED = 0.95

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const megabytes = sizes[size]
  const count = Math.floor(megabytes * MB / (RECORD_SIZE + layout.FRAME_SIZE))
  const whole = stored(ours, count)
  const end = Math.floor(megabytes * MB * FREED / BLOCK_SIZE) * BLOCK_SIZE
  return [{
    name: `${(end / MB).toFixed(0)} of ${megabytes.toLocaleString('en')} MB freed`,
    rows: [
      // the space of what was deleted is freed in the background
      ...rowsOf('del of a range', whole, async (log) => {
        await log.del({ lt: end })
        await makeHoles(log.flumelog)
      }),
      ...rowsOf('trim', whole, (log) => log.trim({ lt: end }))
    ]
  }]
}

/**
 * @param {string} name
 * @param {{ name: string, make: (folder: string) => Promise<void> }} input
 * @param {(log: import('../promises').Log) => Promise<unknown>} free
 */
function rowsOf (name, input, free) {
  return [
    { name, input, run: ({ input, scratch }) => measure(input, scratch, free, false) },
    { name: `${name}, appends meanwhile`, input, run: ({ input, scratch }) => measure(input, scratch, free, true) }
  ]
}

/** MB/s are those of the space that was freed. */
async function measure (input, scratch, free, hasAppends) {
  const file = path.join(scratch, 'log')
  copyDurably(path.join(input, 'log'), file)
  const log = await open(file)
  const [record] = distinctRecords()
  const { allocated } = log.stats()
  const before = rss()
  const run = () => free(log)
  const { seconds, longest } = hasAppends ? await timedWithAppends(log, record, run) : { ...await timed(run), longest: undefined }
  const peak = peakRss()
  const bytes = allocated - log.stats().allocated
  await log.close()
  if (bytes <= 0) throw new Error('this file system has no holes')
  return [
    { phase: 'cold', records: Math.round(bytes / (RECORD_SIZE + layout.FRAME_SIZE)), bytes, seconds },
    { phase: 'cold', part: 'peak RSS beyond that before', memory: Math.max(0, peak - before) },
    ...longest === undefined ? [] : [{ phase: 'cold', part: 'longest append', milliseconds: longest }]
  ]
}

/** Not that the first fsync of the log writes the copy. */
function copyDurably (from, to) {
  fs.copyFileSync(from, to)
  const fd = fs.openSync(to, 'r+')
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

module.exports = { name: 'space-free', question: 'How fast is space freed, and how long does an append wait meanwhile?', groups }
