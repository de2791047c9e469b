'use strict'

// Makes a log of a backup. It is written under a temporary name, and read back, before it gets its own.

const fs = require('fs')
const path = require('path')
const errors = require('../errors')
const { openExtent } = require('../maintenance/extent')
const { assertAbsent, lockFile } = require('../maintenance/new-log')
const { originOf, placeLog, replaceLog } = require('../maintenance/replace-log')
const { mustBePath, workFor } = require('../work')
const { writeCopy } = require('../maintenance/write-copy')
const { recoverEnd } = require('../recovery/recover-end')
const { isSameFile } = require('../storage/directory')
const { lockForReading } = require('../storage/lock')
const { pathFile } = require('../storage/path-file')

/**
 * @typedef {object} RestoreOnlyOptions
 * @property {boolean} [force] replace the log that is there; default false
 *
 * @typedef {RestoreOnlyOptions & import('../work').WorkOptions} RestoreOptions
 *
 * @typedef {object} Restored
 * @property {number} bytes of the log, from its start to its end: nothing before its start takes space
 * @property {number} start where it starts
 * @property {number} records in it that are not deleted
 * @property {boolean} replaced whether another log was there
 */

const workOf = workFor('restore', ['force'])

/**
 * @param {string} backup
 * @param {string} file
 * @param {RestoreOptions} options
 * @returns {Promise<Restored>}
 */
async function restore (backup, file, options) {
  const work = workOf(options)
  mustBePath('the backup', backup)
  mustBePath('the file', file)
  work.throwIfStopped()
  // resolved now: the process may change its directory meanwhile
  const source = { file: pathFile(backup, { readOnly: true, lock: false }), name: path.resolve(backup) }
  const name = resolved(file)
  const { force = false } = options
  // a backup that is being written can be half of what it will be; not blocking, since it may be a FIFO
  const handle = await fs.promises.open(source.name, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0))
  try {
    if (!lockForReading(handle.fd)) throw errors.notClosed(backup)
    return await restoreLocked(backup, source, file, name, force, work)
  } finally {
    await handle.close()
  }
}

/**
 * @param {string} backup as the caller gave it
 * @param {{ file: import('../storage/path-file').LogFile, name: string }} source its file, not open, and its name, absolute
 * @param {string} file as the caller gave it
 * @param {string} name the same, absolute
 * @param {boolean} force
 * @param {import('../maintenance/write-copy').Work} work
 * @returns {Promise<Restored>}
 */
async function restoreLocked (backup, source, file, name, force, work) {
  const extent = await openExtent(source.file)
  try {
    if (extent.open) throw errors.notClosed(backup)
    if (isSameFile(source.name, name)) throw errors.invalid(`${file}: this is the backup itself; give the name of the log`)
    if (fs.statSync(name, { throwIfNoEntry: false })?.isDirectory()) throw errors.isDirectory(file)
    if (!force) assertAbsent(name, file)
    return await restoreAs(name, file, extent, source.name, force, work)
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {string} name absolute
 * @param {string} file the same as the caller gave it
 * @param {import('../maintenance/extent').Extent} extent of the backup
 * @param {string} source its name, absolute
 * @param {boolean} force
 * @param {import('../maintenance/write-copy').Work} work
 * @returns {Promise<Restored>}
 */
async function restoreAs (name, file, extent, source, force, work) {
  // no process has it open for writing
  const replaced = fs.existsSync(name) ? await lockFile(name) : null
  try {
    return await writeCopy(extent, { name, given: file, original: source }, work, async ({ lost, size, counts }, unfinished) => {
      if (lost.length > 0) throw errors.corruptBackup(extent.filename, lost[0])
      const origin = await originOf(extent.io, source, extent.blockSize)
      if (replaced !== null) await replace(replaced, name, origin)
      else {
        // again: they may have come while the backup was read
        if (!force) assertAbsent(name, file)
        await placeLog(name, unfinished, file, origin)
      }
      return { bytes: size - extent.start, start: extent.start, records: counts.records, replaced: replaced !== null }
    })
  } finally {
    await replaced?.close()
  }
}

/**
 * @param {import('../storage/path-file').Io} there the log that is replaced
 * @param {string} name of it
 * @param {import('../maintenance/replace-log').Origin} origin of the backup
 */
async function replace (there, name, origin) {
  // so that it is valid without the files beside it, if it can be recovered
  await recoverEnd(there, name, { blockSize: undefined, checksum: true, isWhole: () => true }).catch(() => {})
  await replaceLog(there, name, origin)
}

/**
 * @param {string} file
 * @returns {string} absolute; of a symbolic link to a file, that file
 */
function resolved (file) {
  try {
    return fs.realpathSync(file)
  } catch {
    return path.resolve(file)
  }
}

module.exports = { restore }
