'use strict'

// Creates logs with the library, for tests of the command line.

const fs = require('fs')
const FlumeLog = require('../..')
const { promises } = require('./promises')
const { collect } = require('./reading')

/**
 * @param {string} file
 * @param {Array<Buffer | string>} records
 * @param {import('../../lib/options').Options} [options]
 * @returns {Promise<number[]>} their seqs
 */
async function makeLog (file, records, options) {
  const log = promises(FlumeLog(file, options))
  if (records.length > 0) await log.append(records)
  const seqs = await collect(log.log, { values: false })
  await log.close()
  return seqs
}

/**
 * @param {string} file
 * @returns {Promise<Array<{ seq: number, value: Buffer }>>} what a reader finds
 */
async function readLog (file) {
  const log = promises(FlumeLog(file, { readOnly: true }))
  await log.onReady()
  const all = await collect(log.log)
  await log.close()
  return all
}

/** @param {string} file */
const textsOf = async (file) => (await readLog(file)).map(({ value }) => value.toString())

/**
 * @param {string} file
 * @param {number[]} seqs
 */
async function deleteFrom (file, seqs) {
  const log = promises(FlumeLog(file))
  await log.del(seqs)
  await log.close()
}

/**
 * Overwrites bytes of a file.
 * @param {string} file
 * @param {number} offset
 * @param {Buffer | string} bytes
 */
function overwrite (file, offset, bytes) {
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.from(bytes), 0, bytes.length, offset)
  fs.closeSync(fd)
}

/**
 * @param {number} count
 * @returns {string[]} JSON records in order of their key `at`
 */
function jsonRecords (count) {
  return Array.from({ length: count }, (_, i) => JSON.stringify({ at: 1000 + i * 10, value: { author: `@${i % 7}`, text: 'x'.repeat(i % 40) } }))
}

module.exports = { makeLog, readLog, textsOf, deleteFrom, overwrite, jsonRecords }
