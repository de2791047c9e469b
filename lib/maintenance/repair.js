'use strict'

// Repairs a corrupt log: writes a valid copy beside it, or in its place.

const fs = require('fs')
const { pathFile } = require('../storage/path-file')
const { mustBeLog, openExtent } = require('./extent')
const { linkRepaired, replace, targetOf } = require('./repaired-files')
const { verifyExtent } = require('./verify')
const { mustBePath, workFor } = require('./work')
const { writeCopy } = require('./write-copy')

/**
 * @typedef {import('./verify').Report} Report
 * @typedef {import('./copy').Copied} Copied
 *
 * @typedef {object} RepairOnlyOptions
 * @property {boolean} [inPlace] replace the log with the copy, and keep the old file as FILE.damaged; default false: the copy is
 *   FILE.repaired
 * @typedef {RepairOnlyOptions & import('./write-copy').CopyOptions & import('./work').WorkOptions} RepairOptions
 *
 * @typedef {object} Repaired
 * @property {Report} report on the log as it was
 * @property {Copied | null} copied what the copy consists of; null: nothing was written, since the log is valid
 * @property {string | null} file name of the copy; with `inPlace`, of the log; null: nothing was written
 * @property {string} original name of the file as it was
 */

const workOf = workFor('repair', ['inPlace', 'compact', 'salvage'])

/**
 * @param {string} file
 * @param {RepairOptions} options
 * @returns {Promise<Repaired>}
 */
async function repair (file, options) {
  const work = workOf(options)
  mustBePath('the file', file)
  work.mustGoOn()
  await mustBeLog(file)
  const extent = await openExtent(pathFile(file, { readOnly: false, lock: true }), true)
  try {
    const report = await verifyExtent(extent, work.begin('verify'))
    if (report.valid && !(options.compact && report.counts.deleted > 0)) return { report, copied: null, file: null, original: file }
    const target = await targetOf(file)
    const unfinished = `${target}.repairing`
    // we hold the lock, so an existing one was left by a crash
    fs.rmSync(unfinished, { force: true })
    const name = options.inPlace ? replace : linkRepaired
    const { copied, finished } = await writeCopy(extent, unfinished, target, options, work, () => name(target, unfinished))
    return { report, copied, file: finished.copy, original: finished.original }
  } finally {
    await extent.io.close()
  }
}

module.exports = { repair }
