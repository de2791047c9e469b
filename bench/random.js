'use strict'

// How fast are gets by offset? Gets of random records of a log that fits into every cache, and of one that is larger than
// any peer's; the same while other processes occupy the cores; and the lower bound, reads of the bytes that a get needs.
// All files are in the page cache.

const fs = require('fs')
const path = require('path')
const { spawn } = require('child_process')
const peers = require('./peers')
const ours = require('./peers/ours')
const { getRow, timeGets, stored } = require('./helpers/rows')
const { RECORD_SIZE, randomNumbers } = require('./helpers/records')

const KIB = 1024
const MIB = KIB * KIB
/** What a get reads: see "Getting a record" in docs/speed.md. */
const READ_SIZE = 2 * KIB
const BUSY_PROCESSES = 2
/** Ends with its parent, which may be killed. */
const BUSY_LOOP = `
  const parent = process.ppid
  for (let n = 0; ; n++) if (n % 1e6 === 0 && process.ppid !== parent) process.exit()
`

/** In the full size, the larger log has 477 MB; the largest of the caches takes up to 134 MB. */
const sizes = {
  quick: { inFlights: [1, 1024], gets: 50000, seconds: 0.3, inside: 100000, beyond: 1000000, cacheSize: 16 * MIB },
  full: { inFlights: [1, 16, 1024], gets: 300000, seconds: 1, inside: 100000, beyond: 3000000, cacheSize: 64 * MIB }
}
/** Peers that can get a record by key, and store records in a file. */
const measured = peers.filter(({ name, isVolatile }) => !isVolatile && !['better-sqlite3, grouped', 'JSON lines'].includes(name))
const bounded = measured.filter(({ cachesAll }) => !cachesAll)

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { inFlights, gets, seconds, inside, beyond, cacheSize } = sizes[size]
  const loadOf = (inFlight) => ({ inFlight, count: gets, seconds })
  const rowsOf = (inFlight) => [...bounded.map(peer => getRow(peer, beyond, loadOf(inFlight), { cacheSize })), readRow(beyond, loadOf(inFlight))]
  return [
    ...[1, 1024].map(inFlight => ({
      name: `in cache, ${inFlight} in flight`,
      x: inFlight,
      rounds: 2,
      rows: measured.map(peer => getRow(peer, inside, loadOf(inFlight), { cacheSize: 64 * MIB }))
    })),
    ...inFlights.map(inFlight => ({ name: `beyond the cache, ${inFlight} in flight`, x: inFlight, rows: rowsOf(inFlight) })),
    ...inFlights.map(inFlight => ({
      name: `beyond the cache, ${inFlight} in flight, ${BUSY_PROCESSES} other processes busy`,
      rows: rowsOf(inFlight).filter(({ name }) => [ours.name, 'lmdb', 'fs.readSync, 2 KiB'].includes(name)).map(whileBusy)
    }))
  ]
}

/**
 * @param {number} count of records in the log
 * @param {import('./helpers/rows').GetLoad} load
 */
function readRow (count, load) {
  return {
    name: 'fs.readSync, 2 KiB',
    note: 'a read of 2 KiB at a random multiple of 2 KiB, without a checksum, into the same buffer',
    input: stored(ours, count, { keys: true }),
    async run ({ input }) {
      const fd = fs.openSync(path.join(input, 'log'), 'r')
      const buffer = Buffer.alloc(READ_SIZE)
      const value = buffer.subarray(0, RECORD_SIZE)
      const random = randomNumbers(2)
      const parts = Math.floor(fs.fstatSync(fd).size / READ_SIZE)
      const offsets = Array.from({ length: 200000 }, () => Math.floor(random() * parts) * READ_SIZE)
      const measures = await timeGets(offsets, load, (offset, cb) => {
        fs.readSync(fd, buffer, 0, READ_SIZE, offset)
        cb(null, value)
      })
      fs.closeSync(fd)
      return measures
    }
  }
}

/** Runs a row while other processes occupy the cores. */
function whileBusy (row) {
  return {
    ...row,
    async run (order) {
      const busy = Array.from({ length: BUSY_PROCESSES }, () => spawn(process.execPath, ['-e', BUSY_LOOP], { stdio: 'ignore' }))
      try {
        return await row.run(order)
      } finally {
        for (const child of busy) child.kill('SIGKILL')
      }
    }
  }
}

module.exports = { name: 'random', question: 'How fast are gets by offset?', groups }
