'use strict'

// flumelog repair: writes a valid copy of a corrupt log, next to it or in its place.

const fs = require('fs')
const path = require('path')
const { pathFile } = require('../../lib/storage/path-file')
const { syncFolder } = require('../../lib/storage/directory')
const { promises } = require('../../lib/storage/promisified-file')
const { openExtent, verify, verifyExtent } = require('../../lib/maintenance/verify')
const { copyInPlace, copyPacked } = require('../../lib/maintenance/copy')
const { UserError } = require('../errors')
const { mustBeLog } = require('../open')
const { count, counted } = require('../numbers')
const { byteProgress } = require('../progress')
const { paint } = require('../style')
const { describeRange } = require('../survey')

/**
 * @typedef {import('../../lib/maintenance/verify').Extent} Extent
 * @typedef {import('../../lib/maintenance/verify').Report} Report
 * @typedef {import('../../lib/maintenance/copy').Copied} Copied
 * @typedef {{ inPlace?: boolean, compact?: boolean, salvage?: boolean }} RepairOptions
 */

const EXAMPLES = `
Examples:
  flumelog repair my.log                  writes my.log.repaired
  flumelog repair my.log --in-place       keeps the old file as my.log.damaged
  flumelog repair my.log --compact        omits deleted records; offsets change

All records of valid blocks are copied, and keep their offsets: a corrupt
block is replaced by one deleted record of the same size. No record of a
block that fails its checksum, or contains a broken record, can be trusted,
so all of them are omitted, unless --salvage is given. Nothing is written if
the log is valid (except with --compact), or while another program has it
open for writing. The log itself is not changed; --in-place renames it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('repair')
    .summary('write a valid copy of a corrupt log')
    .description('Writes a valid copy of a log, FILE.repaired, with all records of valid blocks.')
    .argument('<file>', 'the log')
    .option('-i, --in-place', 'replace the log with the copy, and keep the old file as FILE.damaged')
    .option('-c, --compact', 'omit deleted records and corrupt blocks: OFFSETS CHANGE')
    .option('--salvage', 'keep records of corrupt blocks that look whole: UNVERIFIED')
    .addHelpText('after', EXAMPLES)
    .action(repair)
}

/**
 * @param {string} file
 * @param {RepairOptions} options
 */
async function repair (file, options) {
  // opening it with the lock would create the file
  await mustBeLog(file)
  const extent = await openExtent(pathFile(file, { readOnly: false, lock: true }), true)
  try {
    const report = await withProgress('verify', (onprogress) => verifyExtent(extent, onprogress))
    const isValid = report.ranges.length === 0
    if (isValid && !(options.compact && report.counts.deleted > 0)) {
      process.stdout.write(`${file}: valid; nothing to ${options.compact ? 'compact' : 'repair'}, nothing written\n`)
    } else {
      await writeRepaired(await targetOf(file), `${file}.recovery-point`, extent, report, options)
    }
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {string} file
 * @param {string} point filename of its recovery point
 * @param {Extent} extent
 * @param {Report} report
 * @param {RepairOptions} options
 */
async function writeRepaired (file, point, extent, report, options) {
  const unfinished = `${file}.repairing`
  const remove = () => fs.rmSync(unfinished, { force: true })
  const interrupted = () => {
    remove()
    process.exit(130)
  }
  process.once('SIGINT', interrupted)
  try {
    // we hold the lock, so an existing one was left by a crash
    remove()
    const copied = await writeCopy(unfinished, extent, options)
    await mustBeValid(unfinished, copied)
    process.removeListener('SIGINT', interrupted)
    const names = options.inPlace ? await replace(file, point, unfinished) : await linkRepaired(file, unfinished)
    process.stdout.write(formatReport(names, report, copied, options).join('\n') + '\n')
  } catch (err) {
    remove()
    throw err
  } finally {
    process.removeListener('SIGINT', interrupted)
  }
}

/**
 * @param {string} name
 * @param {Extent} extent
 * @param {RepairOptions} options
 * @returns {Promise<Copied>} once the copy is fsynced
 */
async function writeCopy (name, extent, { compact, salvage = false }) {
  const target = promises(pathFile(name, { readOnly: false, lock: false }))
  await target.open()
  try {
    const copy = compact ? copyPacked : copyInPlace
    const copied = await withProgress('copy', (onprogress) => copy(extent, target, { salvage, onprogress }))
    await target.sync()
    return copied
  } finally {
    await target.close()
  }
}

/**
 * Verifies the copy before it replaces anything.
 * @param {string} name
 * @param {Copied} copied
 */
async function mustBeValid (name, { size, counts }) {
  const report = await withProgress('check', (onprogress) => verify(pathFile(name, { readOnly: true, lock: false }), onprogress))
  const isExpected = report.ranges.length === 0 && report.size === size && report.counts.records === counts.records
  if (!isExpected) throw new UserError(`${name}: the copy differs from what was written when read back; check the disk`)
}

/**
 * @template T
 * @param {string} verb
 * @param {(onprogress: import('../../lib/maintenance/verify').OnProgress) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withProgress (verb, work) {
  const progress = byteProgress(verb)
  try {
    return await work(progress.update)
  } finally {
    progress.stop()
  }
}

// Names

/**
 * @param {string} file
 * @returns {Promise<string>} the file itself, if this is a symbolic link to it
 */
async function targetOf (file) {
  const target = await fs.promises.realpath(file)
  return (await fs.promises.lstat(file)).isSymbolicLink() ? target : file
}

/** @typedef {{ copy: string, original: string }} Names */

/**
 * @param {string} file
 * @param {string} unfinished
 * @returns {Promise<Names>}
 */
async function linkRepaired (file, unfinished) {
  const copy = await linkAs(unfinished, `${file}.repaired`)
  await fs.promises.unlink(unfinished)
  await syncFolder(path.dirname(path.resolve(file)))
  return { copy, original: file }
}

/**
 * Replaces the log with the copy. There is a file under the log's name at all times.
 * @param {string} file
 * @param {string} point
 * @param {string} unfinished
 * @returns {Promise<Names>}
 */
async function replace (file, point, unfinished) {
  const folder = path.dirname(path.resolve(file))
  const { mode, uid, gid } = await fs.promises.stat(file)
  await fs.promises.chmod(unfinished, mode)
  // only root can change the owner; for others, it is the same already, or cannot be kept
  await fs.promises.chown(unfinished, uid, gid).catch(() => {})
  const original = await linkAs(file, `${file}.damaged`)
  // the recovery point belongs to the old file; applied to the new one, it would overwrite records
  await fs.promises.rename(point, `${original}.recovery-point`).catch(ignoreMissing)
  await syncFolder(folder)
  await fs.promises.rename(unfinished, file)
  await syncFolder(folder)
  return { copy: file, original }
}

/**
 * Links a file under a second name, with a number appended if the name is taken.
 * @param {string} file
 * @param {string} wanted
 * @returns {Promise<string>}
 */
async function linkAs (file, wanted) {
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}.${n}`
    try {
      await linkOrCopy(file, name)
      return name
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EEXIST') throw err
    }
  }
}

/**
 * @param {string} file
 * @param {string} name
 */
async function linkOrCopy (file, name) {
  try {
    await fs.promises.link(file, name)
  } catch (err) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
    // not all file systems support links
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw err
    await fs.promises.copyFile(file, name, fs.constants.COPYFILE_EXCL)
    const handle = await fs.promises.open(name, 'r+')
    await handle.sync()
    await handle.close()
  }
}

/** @param {NodeJS.ErrnoException} err */
function ignoreMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

// Report

/**
 * @param {Names} names
 * @param {Report} report
 * @param {Copied} copied
 * @param {RepairOptions} options
 * @returns {string[]} lines
 */
function formatReport ({ copy, original }, report, copied, { inPlace, compact }) {
  const { stdout } = process
  const { blockSize } = report
  const torn = report.ranges.filter(({ kind }) => kind === 'torn')
  const lines = [
    ...copied.lost.map(range => `${paint(stdout, 'red', 'omitted')} ${describeRange(range, blockSize)}`),
    ...torn.map(range => `${paint(stdout, 'red', 'truncated')} ${describeRange(range, blockSize)}`),
    ...copied.salvaged.map(range => `${paint(stdout, 'yellow', `UNVERIFIED, ${counted(range.records, 'record')}`)} from ${describeRange(range, blockSize)}`)
  ]
  const unverified = copied.salvaged.reduce((sum, { records }) => sum + records, 0)
  lines.push(`${copy}: valid: ${counted(copied.counts.records, 'record')}${unverified === 0 ? '' : `, ${count(unverified)} of them UNVERIFIED`}` +
    (inPlace ? `; the old file is ${original}` : `; ${original} is unchanged`))
  if (compact && copied.moved) {
    lines.push(paint(stdout, 'red', 'OFFSETS HAVE CHANGED: views contain offsets, so delete all views of this log to have them rebuilt'))
  } else {
    lines.push('All records kept their offsets.')
    if (copied.lost.length > 0) lines.push('Views may still contain omitted records; delete these views to have them rebuilt.')
  }
  return lines
}

module.exports = { define }
