'use strict'

// How fast are appends with many in flight? Appends one record per call, with a limit on
// calls not yet acknowledged; and measures the cost of options.

const fs = require('fs')
const path = require('path')
const peers = require('./peers')
const ours = require('./peers/ours')
const { bareAppend } = require('./helpers/bare')
const { appendRow, medianRun, MIN_SECONDS, BURST_WARM_UPS } = require('./helpers/rows')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')

const CHUNK_SIZE = 1024 * 1024
/** Bytes our log writes per record: the data, and its length before and after it. */
const FRAMED_SIZE = RECORD_SIZE + 4

const loads = {
  quick: { seconds: 0.15, syncedSeconds: 0.15, rounds: 2, roundsOfSlow: 1, syncedInFlight: [1, 1024], atOnce: 50000 },
  full: { seconds: 4, syncedSeconds: 4, atOnce: 500000 },
  check: { seconds: 1, syncedSeconds: 1, atOnce: 500000 }
}

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds, syncedSeconds, syncedInFlight = [1, 16, 1024], atOnce, rounds, roundsOfSlow } = loads[size]
  const written = peers.map(peer => ({ peer, options: {} }))
  const synced = peers.filter(({ canSync }) => canSync).map(peer => ({ peer, options: { sync: true } }))
  const rows = (entries, load) => entries.map(({ peer, options }) => appendRow(peer, load, options))
  return [
    ...[1, 16, 1024].map(inFlight => ({
      name: `${inFlight} in flight`,
      x: inFlight,
      rounds: inFlight === 1 ? roundsOfSlow : rounds,
      rows: rows(written, { count: 5e6, inFlight, seconds })
    })),
    {
      name: `${atOnce.toLocaleString('en')} at once`,
      x: atOnce,
      rounds: roundsOfSlow,
      rows: [...rows(written, { count: atOnce, inFlight: atOnce }), bareRow(atOnce), fsRow(atOnce)]
    },
    ...syncedInFlight.map(inFlight => ({
      name: `synced append, ${inFlight} in flight`,
      x: inFlight,
      rows: rows(synced, { count: 1e6, inFlight, seconds: syncedSeconds })
    })),
    {
      name: 'cost of options, 1024 in flight',
      rows: [{}, { checksum: false }, { sync: 'never' }, { lock: false }].map(options => ({
        ...appendRow(ours, { count: 5e6, inFlight: 1024, seconds }, options),
        name: describeOptions(options)
      }))
    }
  ]
}

/** @param {object} options */
function describeOptions (options) {
  return Object.entries(options).map(([name, value]) => `${name}: ${value}`).join(', ') || 'defaults'
}

/** @param {number} count of records */
function bareRow (count) {
  const records = distinctRecords()
  return repeatedRow('bare loop', count, (filename) => bareAppend(filename, records, count), 'a minimal loop: see bench/helpers/bare.js')
}

/**
 * The baseline: the same bytes written sequentially, in large chunks.
 * @param {number} count of records
 */
function fsRow (count) {
  const some = Buffer.concat(distinctRecords())
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(CHUNK_SIZE / some.length) }, () => some)).subarray(0, CHUNK_SIZE)
  return repeatedRow('fs.write, 1 MiB chunks', count, (filename) => timeWrites(filename, chunk, count * FRAMED_SIZE))
}

/**
 * @param {string} name
 * @param {number} count of records stored
 * @param {(filename: string) => Promise<number>} store writes the file, and resolves to the seconds it took
 * @param {string} [note]
 */
function repeatedRow (name, count, store, note) {
  return {
    name,
    note,
    async run ({ scratch, size }) {
      const filename = path.join(scratch, 'file')
      const runs = []
      let seconds = 0
      for (let left = BURST_WARM_UPS[size]; left > 0; left--) await once()
      do {
        runs.push({ records: count, bytes: count * RECORD_SIZE, seconds: await once() })
        seconds += runs[runs.length - 1].seconds
      } while (seconds < MIN_SECONDS)
      return medianRun(runs)

      async function once () {
        const seconds = await store(filename)
        fs.rmSync(filename)
        return seconds
      }
    }
  }
}

/**
 * @param {string} filename
 * @param {Buffer} chunk
 * @param {number} size of the file, in bytes
 * @returns {Promise<number>} seconds
 */
function timeWrites (filename, chunk, size) {
  const fd = fs.openSync(filename, 'w')
  const begin = performance.now()
  return new Promise((resolve, reject) => {
    let at = 0
    next()

    function next () {
      if (at >= size) {
        resolve((performance.now() - begin) / 1000)
        return fs.closeSync(fd)
      }
      fs.write(fd, chunk, 0, Math.min(chunk.length, size - at), at, (err, written) => {
        if (err) return reject(err)
        at += written
        next()
      })
    }
  })
}

module.exports = { name: 'append', question: 'How fast are appends with many in flight?', groups }
