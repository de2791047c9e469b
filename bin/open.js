'use strict'

// A log opened for a command, with promises.

const FlumeLog = require('..')
const { pathFile } = require('../lib/storage/path-file')
const { openExtent } = require('../lib/maintenance/verify')
const { UserError } = require('./errors')

/** @typedef {import('../lib/log').FlumeLog<Buffer>} Log */

/**
 * A log that is only looked at. Nothing is read twice, so nothing is kept.
 * @param {string} file
 * @returns {Promise<Log>}
 */
async function openToRead (file) {
  const log = FlumeLog(file, { readOnly: true, cacheSize: 0 })
  await ready(log)
  if (log.stats().size === 0) await mustBeLog(file)
  return log
}

/**
 * @param {string} file
 * @param {import('../lib/options').Options<Buffer>} options
 * @returns {Promise<{ log: Log, cut: import('../lib/log').Cut | null }>} cut: what opening cut off
 */
async function openToWrite (file, options) {
  await mustBeLog(file).catch((err) => { if (err.code !== 'ENOENT') throw err })
  const log = FlumeLog(file, options)
  return { log, cut: await ready(log) }
}

/**
 * A file without one whole record, of which no crash has left a trace, is something
 * else. As a log it would seem empty; opened for writing, all of it would be cut off.
 * @param {string} file
 */
async function mustBeLog (file) {
  const extent = await openExtent(pathFile(file, { readOnly: true, lock: false }))
  await extent.io.close()
  refuseOther(file, extent)
}

/**
 * @param {string} file
 * @param {{ size: number, end: number, closed: boolean }} found
 */
function refuseOther (file, { size, end, closed }) {
  if (size > 0 && end === 0 && closed) throw new UserError(`${file}: this is not a log: it does not begin with a record; check the name`)
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
 * @returns {Promise<void>}
 */
function close (log) {
  return new Promise((resolve, reject) => log.close((err) => err ? reject(err) : resolve()))
}

module.exports = { openToRead, openToWrite, mustBeLog, refuseOther, close }
