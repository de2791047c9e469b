'use strict'

// How many records a log has, and when they were made, from a bounded number of its blocks.

const { chunk, recordsOf } = require('flumelog-random-access-file/blocks')

/** Blocks that are read; a log of fewer is counted. */
const MAX_SAMPLES = 96

/**
 * @typedef {import('./rows').Rows} Rows
 *
 * @typedef {object} Overview
 * @property {number} records
 * @property {boolean} isExact whether they were counted; otherwise they are estimated by the blocks that were read
 * @property {Array<{ offset: number, time: number }>} samples of the first record that has a time in some blocks, in order
 * @property {number} start offset
 * @property {number} end offset
 */

/**
 * @param {Rows} rows
 * @param {string | null} encoding
 * @param {AbortSignal} signal
 * @returns {Promise<Overview>}
 */
async function overviewOf (rows, encoding, signal) {
  const { log } = rows
  const { blockSize, start, end } = log
  const first = Math.floor(start / blockSize)
  const blocks = Math.ceil(end / blockSize) - first
  const count = Math.min(blocks, MAX_SAMPLES)
  const samples = []
  let [records, bytes] = [0, 0]
  for (let i = 0; i < count && !signal.aborted; i++) {
    const number = first + (count === 1 ? 0 : Math.round(i * (blocks - 1) / (count - 1)))
    const found = [...recordsOf(await log.block(number))].filter(({ deleted, kind, seq }) => !deleted && kind !== chunk.PART && seq < end)
    records += found.length
    bytes += Math.min(blockSize, end - number * blockSize)
    // of the last block, the last record: the samples are to reach to the end
    const sample = await sampleOf(rows, number === first + blocks - 1 ? found.reverse() : found, encoding)
    if (sample !== null) samples.push(sample)
  }
  const isExact = count === blocks
  const estimate = bytes === 0 ? 0 : Math.round(records * (end - start) / bytes)
  return { records: isExact ? records : estimate, isExact, samples, start, end }
}

/**
 * @param {Rows} rows
 * @param {import('flumelog-random-access-file/blocks').Stored[]} records
 * @param {string | null} encoding
 * @returns {Promise<{ offset: number, time: number } | null>} of the first, or the second, if it has a time
 */
async function sampleOf (rows, records, encoding) {
  for (const record of records.slice(0, 2)) {
    const { time } = await rows.rowOf(record, { encoding })
    if (time !== null) return { offset: record.seq, time }
  }
  return null
}

module.exports = { overviewOf }
