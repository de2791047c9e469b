'use strict'

// Repairs a corrupt log: writes a valid copy beside it, or in its place.

const path = require('path')
const { namesOf, removeUnfinished } = require('../space/unfinished-files')
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
 * @property {boolean} [inPlace] replace the log with the copy, and keep the old file as FILE.corrupt; default false: the copy is
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
  // resolved now: the process may change its directory meanwhile
  const resolved = path.resolve(file)
  await mustBeLog(file)
  const target = await targetOf(resolved)
  const extent = await openExtent(pathFile(target, { readOnly: false, lock: true }), true)
  try {
    const report = await verifyExtent(extent, work.begin('verify'))
    if (report.valid && !(options.compact && report.counts.deleted > 0)) return { report, copied: null, file: null, original: file }
    const { unfinished } = namesOf(target)
    // we hold the lock, so an existing one was left by a crash
    await removeUnfinished(target)
    const { copied, finished } = await writeCopy(extent, unfinished, target, options, work,
      ({ moved, size }) => {
        // what is appended to a shorter one would get offsets that deleted records had
        const isMoved = moved || size < extent.end
        return options.inPlace ? replace(extent, target, isMoved) : linkRepaired(extent, target, unfinished, isMoved)
      })
    return { report, copied, file: asGiven(finished.copy), original: asGiven(finished.original) }
  } finally {
    await extent.io.close()
  }

  /** @param {string} name */
  function asGiven (name) {
    return name.startsWith(resolved) ? file + name.slice(resolved.length) : name
  }
}

module.exports = { repair }
