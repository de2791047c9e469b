'use strict'

// Opens a log for a command, with promises.

const fs = require('fs')
const FlumeLog = require('..')
const { promised } = require('../lib/callbacks')
const { VERIFY, advise, reportRecovery } = require('./errors')

/** @typedef {import('../lib/log').FlumeLog<Buffer>} Log */
/** @typedef {fs.promises.FileHandle} Held */

/**
 * Keeps the file of a log open while the user is asked about it: as long as it is, no other file has its inode.
 * @template T
 * @param {string} file
 * @param {(held: Held) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function holding (file, work) {
  // not blocking, since it may be a FIFO
  const held = await fs.promises.open(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  try {
    return await work(held)
  } finally {
    await held.close()
  }
}

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

module.exports = { holding, openToRead, openToWrite, recordAt, close }
