'use strict'

// Does throughput hold up in a burst? Issues a number of appends to an open store without waiting for any,
// and measures the time until all are stored. With the lower bounds: a loop that only copies, writes and
// calls back, and the same bytes written in large chunks.

const fs = require('fs')
const path = require('path')
const peers = require('./peers')
const { bareAppend } = require('./helpers/bare')
const { appendRow, timePhases } = require('./helpers/rows')
const { RECORD_SIZE, distinctRecords } = require('./helpers/records')

const CHUNK_SIZE = 1024 * 1024
/** Bytes our log writes per record: the data, and its length before and after it. */
const FRAMED_SIZE = RECORD_SIZE + 4

const sizes = {
  quick: [1000, 10000, 100000],
  full: [1000, 10000, 100000, 1000000]
}
/** Unsuitable for bursts, and slow at them, as `append` shows. */
const EXCLUDED = ['flumelog-memory', 'better-sqlite3', 'classic-level']

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const measured = peers.filter(({ name }) => !EXCLUDED.includes(name))
  return sizes[size].map(count => ({
    name: `${count.toLocaleString('en')} at once`,
    x: count,
    table: 'appends at once',
    column: count.toLocaleString('en'),
    rows: [
      ...measured.map(peer => appendRow(peer, { count, inFlight: count })),
      bareRow(count),
      fsRow(count)
    ]
  }))
}

/** @param {number} count of records */
function bareRow (count) {
  const records = distinctRecords()
  return storeRow('bare loop', count, (filename) => bareAppend(filename, records, count), 'a minimal loop: see bench/helpers/bare.js')
}

/** @param {number} count of records */
function fsRow (count) {
  const some = Buffer.concat(distinctRecords())
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(CHUNK_SIZE / some.length) }, () => some)).subarray(0, CHUNK_SIZE)
  return storeRow('fs.write, 1 MiB chunks', count, (filename) => timeWrites(filename, chunk, count * FRAMED_SIZE))
}

/**
 * @param {string} name
 * @param {number} count of records stored
 * @param {(filename: string) => Promise<number>} store writes the file, and resolves to the seconds it took
 * @param {string} [note]
 */
function storeRow (name, count, store, note) {
  return {
    name,
    note,
    run: ({ scratch }) => timePhases(async () => {
      const filename = path.join(scratch, 'file')
      const seconds = await store(filename)
      fs.rmSync(filename)
      return { records: count, bytes: count * RECORD_SIZE, seconds }
    })
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

module.exports = { name: 'burst', question: 'Does throughput hold up in a burst?', groups }
