'use strict'

// Writes a valid copy of a log under a temporary name, and verifies it before it gets its own.

const fs = require('fs')
const errors = require('../errors')
const { inheritMode } = require('../storage/inherit')
const { pathFile } = require('../storage/path-file')
const { promises } = require('../storage/promisified-file')
const { onAbort } = require('../signal')
const { copyInPlace, copyPacked } = require('./copy')
const { verify } = require('./verify')

/**
 * @typedef {import('./extent').Extent} Extent
 * @typedef {import('./copy').Copied} Copied
 * @typedef {ReturnType<ReturnType<import('./work').workFor>>} Work
 *
 * @typedef {object} CopyOptions
 * @property {boolean} [compact] omit deleted records and corrupt blocks: records get other offsets. Default false: all keep
 *   theirs, and a corrupt block is replaced by one deleted record of the same size
 * @property {boolean} [salvage] keep records of corrupt blocks whose lengths are whole; nobody knows whether their data is; default false
 */

/**
 * @template T
 * @param {Extent} extent
 * @param {string} unfinished the temporary name
 * @param {string} original whose permissions the copy gets
 * @param {CopyOptions} options
 * @param {Work} work
 * @param {(copied: Copied) => Promise<T>} finish gives the copy its name
 * @returns {Promise<{ copied: Copied, finished: T }>} if it fails, nothing is left
 */
async function writeCopy (extent, unfinished, original, options, work, finish) {
  const { signal } = work
  const remove = () => fs.rmSync(unfinished, { force: true })
  // at once: a process that is interrupted does not wait for the disk
  const stopListening = onAbort(signal, remove)
  try {
    await create(unfinished)
    const copied = await copyRecords(extent, unfinished, options, work)
    await mustBeValid(unfinished, copied, work)
    // last: the log may be one that nobody can write
    inheritMode(unfinished, await fs.promises.stat(original))
    work.mustGoOn()
    stopListening()
    return { copied, finished: await finish(copied) }
  } catch (err) {
    remove()
    // when the file is gone, that fails first
    work.mustGoOn()
    throw err
  } finally {
    stopListening()
  }
}

/**
 * Creates an empty file that only this user can read.
 * @param {string} name
 */
async function create (name) {
  await (await fs.promises.open(name, 'wx', 0o600)).close()
}

/**
 * @param {Extent} extent
 * @param {string} name
 * @param {CopyOptions} options
 * @param {Work} work
 * @returns {Promise<Copied>} once the copy is fsynced
 */
async function copyRecords (extent, name, { compact = false, salvage = false }, work) {
  const target = promises(pathFile(name, { readOnly: false, lock: false }))
  await target.open()
  try {
    const copied = await (compact ? copyPacked : copyInPlace)(extent, target, { salvage, onprogress: work.begin('copy') })
    await target.sync()
    return copied
  } finally {
    await target.close()
  }
}

/**
 * @param {string} name
 * @param {Copied} copied
 * @param {Work} work
 */
async function mustBeValid (name, { size, counts }, work) {
  const onprogress = work.begin('check')
  // an empty log is an empty file
  if (size === 0) return
  const report = await verify(pathFile(name, { readOnly: true, lock: false }), onprogress)
  if (!report.valid || report.size !== size || report.counts.records !== counts.records) throw errors.copyDiffers(name)
}

module.exports = { writeCopy }
