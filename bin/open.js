'use strict'

// Opens a log for a command, with promises.

const FlumeLog = require('..')
const { VERIFY, advise } = require('./errors')

/** @typedef {import('../lib/log').FlumeLog<Buffer>} Log */

/**
 * Opens a log read-only. No block is read twice, so nothing is cached. Large records are whole: their chunks say nothing to anybody.
 * @param {string} file
 * @returns {Promise<Log>}
 */
async function openToRead (file) {
  const log = FlumeLog(file, { readOnly: true, large: true, cacheSize: 0 })
  await ready(log)
  return log
}

/**
 * @param {string} file
 * @param {import('../lib/options').Options<Buffer>} options
 * @returns {Promise<{ log: Log, cut: import('../lib/log').Cut | null }>} cut: what recovery truncated
 */
async function openToWrite (file, options) {
  const log = FlumeLog(file, options)
  return { log, cut: await ready(log) }
}

/**
 * @param {Log} log
 * @returns {Promise<import('../lib/log').Cut | null>}
 */
function ready (log) {
  return new Promise((resolve, reject) => log.onReady((err, cut) => err ? reject(err) : resolve(cut ?? null)))
}

/**
 * @param {Log} log
 * @param {number} seq
 * @returns {Promise<Buffer>}
 */
function recordAt (log, seq) {
  return new Promise((resolve, reject) => log.get(seq, (err, value) => {
    if (!err) return resolve(/** @type {Buffer} */ (value))
    const advised = advise(err, 'flumelog:not-found', 'use flumelog dump --seqs to list the offsets')
    reject(advise(advised, 'flumelog:corrupt', `use ${VERIFY}`))
  }))
}

/**
 * @param {Log} log
 * @returns {Promise<void>}
 */
function close (log) {
  return new Promise((resolve, reject) => log.close((err) => err ? reject(err) : resolve()))
}

module.exports = { openToRead, openToWrite, recordAt, close }
