'use strict'

// Opens a log for a command, with promises.

const FlumeLog = require('..')
const { promised } = require('../lib/callbacks')
const { VERIFY, advise, reportRecovery } = require('./errors')

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
 * Says on stderr what recovery has truncated.
 * @param {string} file
 * @param {import('../lib/options').Options<Buffer>} options
 * @param {boolean} [quiet] says nothing
 * @returns {Promise<Log>}
 */
async function openToWrite (file, options, quiet) {
  const log = FlumeLog(file, options)
  const cut = await ready(log)
  if (cut !== null && !quiet) reportRecovery(file, cut)
  return log
}

/**
 * @param {Log} log
 * @returns {Promise<import('../lib/log').Cut | null>}
 */
async function ready (log) {
  return (await promised(cb => log.onReady(cb))) ?? null
}

/**
 * @param {Log} log
 * @param {number} seq
 * @returns {Promise<Buffer>}
 */
async function recordAt (log, seq) {
  try {
    return await promised(cb => log.get(seq, cb))
  } catch (err) {
    const advised = advise(err, 'flumelog:not-found', 'use flumelog dump --seqs to list the offsets')
    throw advise(advised, 'flumelog:corrupt', `use ${VERIFY}`)
  }
}

/**
 * @param {Log} log
 * @returns {Promise<void>}
 */
function close (log) {
  return promised(cb => log.close(cb))
}

module.exports = { openToRead, openToWrite, recordAt, close }
