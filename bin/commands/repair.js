'use strict'

// flumelog repair: writes a valid copy of a corrupt log, next to it or in its place.

const fs = require('fs')
const { pathFile } = require('../../lib/storage/path-file')
const { promises } = require('../../lib/storage/promisified-file')
const { openExtent, verify, verifyExtent } = require('../../lib/maintenance/verify')
const { copyInPlace, copyPacked } = require('../../lib/maintenance/copy')
const { UserError, codeOf } = require('../errors')
const { mustBeLog } = require('../open')
const { count, counted } = require('../numbers')
const { byteProgress } = require('../progress')
const { linkRepaired, replace, targetOf } = require('../repaired-files')
const { paint } = require('../style')
const { isShared } = require('../shared')
const { describeRange } = require('../survey')
const { helpText } = require('../usage')

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
open for writing, shared or not. The log itself is not changed; --in-place
renames it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('repair')
    .summary('write a valid copy of a corrupt log')
    .description('Writes a valid copy of a log, FILE.repaired, with all records of valid blocks.')
    .argument('<file>', 'the log')
    .option('-i, --in-place', 'replace the log with the copy, and keep the old file as FILE.damaged')
    .option('-c, --compact', 'omit deleted records and corrupt blocks: OFFSETS CHANGE')
    .option('--salvage', 'keep records of corrupt blocks that look whole: UNVERIFIED')
    .addHelpText('after', helpText(EXAMPLES))
    .action(repair)
}

/**
 * @param {string} file
 * @param {RepairOptions} options
 */
async function repair (file, options) {
  // opening it with the lock would create the file
  await mustBeLog(file)
  const extent = await openLocked(file)
  try {
    const report = await withProgress('verify', (onprogress) => verifyExtent(extent, onprogress))
    const isValid = report.ranges.length === 0
    if (isValid && !(options.compact && report.counts.deleted > 0)) {
      process.stdout.write(`${file}: valid; nothing to ${options.compact ? 'compact' : 'repair'}, nothing written\n`)
    } else {
      await writeRepaired(await targetOf(file), extent, report, options)
    }
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {string} file
 * @returns {Promise<Extent>}
 */
async function openLocked (file) {
  try {
    return await openExtent(pathFile(file, { readOnly: false, lock: true }), true)
  } catch (err) {
    if (codeOf(err) !== 'flumelog:locked') throw err
    throw new UserError(await isShared(file)
      ? `${file}: several programs may share this log, and one of them has it open; repair needs it for itself: close it in all of them first`
      : `${file}: another program has this log open for writing; repair needs it for itself: close it there first`)
  }
}

/**
 * @param {string} file
 * @param {Extent} extent
 * @param {Report} report
 * @param {RepairOptions} options
 */
async function writeRepaired (file, extent, report, options) {
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
    const names = options.inPlace ? await replace(file, unfinished) : await linkRepaired(file, unfinished)
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

/**
 * @param {import('../repaired-files').Names} names
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
