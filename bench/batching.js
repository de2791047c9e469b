'use strict'

// What does batching gain? Compares appends of single records with appends of arrays, each
// awaited before the next.

const fs = require('fs')
const path = require('path')
const ours = require('./peers/ours')
const { drive } = require('./helpers/drive')
const { distinctRecords } = require('./helpers/records')

const KIB = 1024
const RECORD_SIZES = [25, 155, 1000]

const sizes = {
  quick: { seconds: 0.1, batchSizes: [1, 16, 256, 1024] },
  full: { seconds: 0.4, batchSizes: [1, 4, 16, 64, 256, 1024] }
}

/** @param {import('./helpers/runner').Size} size */
function groups (size) {
  const { seconds, batchSizes } = sizes[size]
  return RECORD_SIZES.map(recordSize => ({
    name: `records of ${recordSize} bytes`,
    x: recordSize,
    table: 'record size',
    column: `${recordSize} bytes`,
    rows: [
      batchRow('one append per record', recordSize, 1, seconds),
      ...batchSizes.map(kib => batchRow(`batches of ${kib} KiB`, recordSize, Math.max(1, Math.round(kib * KIB / recordSize)), seconds))
    ]
  }))
}

/**
 * @param {string} name
 * @param {number} recordSize in bytes
 * @param {number} records per batch
 * @param {number} seconds
 */
function batchRow (name, recordSize, records, seconds) {
  return {
    name,
    async run ({ scratch }) {
      const distinct = distinctRecords(recordSize)
      const batch = Array.from({ length: records }, (_, i) => distinct[i % distinct.length])
      return [{ phase: 'cold', ...await append('first') }, { phase: 'warm', ...await append('second') }]

      async function append (folder) {
        fs.mkdirSync(path.join(scratch, folder))
        const { log, close } = await ours.open(path.join(scratch, folder))
        const value = records === 1 ? batch[0] : batch
        const driven = await drive({ count: Infinity, inFlight: 1, seconds, timeEach: true }, (_, cb) => log.append(value, cb))
        await close()
        const appended = driven.count * records
        return { records: appended, bytes: appended * recordSize, seconds: driven.seconds, latency: driven.latency }
      }
    }
  }
}

module.exports = { name: 'batching', question: 'What does batching gain?', groups }
