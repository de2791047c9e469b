'use strict'

// Writes a valid copy of a log under a temporary name, and verifies it before it gets its own.

const fs = require('fs')
const errors = require('../errors')
const { inheritMode } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { copyRecords } = require('./copy')
const { noCounts } = require('./counts')
const { writeUnfinished } = require('./new-log')
const { verify } = require('./verify')

/**
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('./copy').Copied} Copied
 * @typedef {import('./new-log').Work} Work
 *
 * @typedef {object} CopyNames
 * @property {string} name of the copy, absolute; of the log, if that is replaced
 * @property {string} given the same as the caller gave it
 * @property {string} original path of the log, whose mode the copy gets
 */

/**
 * @template T
 * @param {Extent} extent
 * @param {CopyNames} names
 * @param {Work} work
 * @param {(copied: Copied, unfinished: string) => Promise<T>} place gives the copy its name
 * @returns {Promise<T>} if it fails, nothing is left
 */
function writeCopy (extent, { name, given, original }, work, place) {
  return writeUnfinished(name, given, work, async (file, unfinished) => {
    const { io: target } = file
    const copied = await copyRecords(extent, target, work.begin('copy'))
    await target.sync()
    copied.counts = await countValid(unfinished, copied, work)
    // last: the log may be one that nobody can write
    inheritMode(unfinished, await fs.promises.stat(original))
    return copied
  }, place)
}

/**
 * @param {string} name
 * @param {Copied} copied
 * @param {Work} work
 * @returns {Promise<import('./counts').Counts>} of the records in the copy
 */
async function countValid (name, { size, counts }, work) {
  const onprogress = work.begin('check')
  // an empty log is an empty file
  if (size === 0) return noCounts()
  const report = await verify(pathFile(name, { readOnly: true, lock: false }), onprogress)
  if (!report.valid || report.size !== size || report.counts.records !== counts.records) throw errors.copyDiffers(name)
  return report.counts
}

module.exports = { writeCopy }
