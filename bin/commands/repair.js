'use strict'

// flumelog repair: a sound copy of a damaged log, beside it or in its place.

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
  flumelog repair my.log --compact        leaves out gaps; offsets change

Every record that can be relied on is copied, and keeps its offset: a damaged
block gives way to one deleted record of the same size. What fails its
checksum, or is in a block with a broken record, is not known to be right, so
it is left out, unless --salvage is given. Nothing is written if the log is
sound (but for --compact), and nothing while another program has it open for
writing. The log itself is not changed, except that --in-place renames it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('repair')
    .summary('write a sound copy of a damaged log')
    .description('Writes a sound copy of a log, FILE.repaired, with every record that can be relied on.')
    .argument('<file>', 'the log')
    .option('-i, --in-place', 'put the copy in its place, and keep the old file as FILE.damaged')
    .option('-c, --compact', 'leave out deleted records and damaged blocks: OFFSETS CHANGE')
    .option('--salvage', 'keep records of damaged blocks that look whole: UNVERIFIED')
    .addHelpText('after', EXAMPLES)
    .action(repair)
}

/**
 * @param {string} file
 * @param {RepairOptions} options
 */
async function repair (file, options) {
  // opening it with the lock would make a file where there is none
  await mustBeLog(file)
  const extent = await openExtent(pathFile(file, { readOnly: false, lock: true }), true)
  try {
    const report = await withProgress('verify', (onprogress) => verifyExtent(extent, onprogress))
    const isSound = report.ranges.length === 0
    if (isSound && !(options.compact && report.counts.deleted > 0)) {
      process.stdout.write(`${file}: sound; there is nothing to ${options.compact ? 'leave out' : 'repair'}, so nothing was written\n`)
    } else {
      await copyBeside(await targetOf(file), `${file}.recovery-point`, extent, report, options)
    }
  } finally {
    await extent.io.close()
  }
}

/**
 * @param {string} file
 * @param {string} point the name of its recovery point
 * @param {Extent} extent
 * @param {Report} report
 * @param {RepairOptions} options
 */
async function copyBeside (file, point, extent, report, options) {
  const unfinished = `${file}.repairing`
  const remove = () => fs.rmSync(unfinished, { force: true })
  const interrupted = () => {
    remove()
    process.exit(130)
  }
  process.once('SIGINT', interrupted)
  try {
    // only who has the lock writes it, so one that is there was left by a crash
    remove()
    const copied = await writeCopy(unfinished, extent, options)
    await mustBeSound(unfinished, copied)
    process.removeListener('SIGINT', interrupted)
    const names = options.inPlace ? await replace(file, point, unfinished) : await putBeside(file, unfinished)
    process.stdout.write(screen(names, report, copied, options).join('\n') + '\n')
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
 * @returns {Promise<Copied>} all of it is on the disk
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
 * A copy that is not sound must not come in the place of anything.
 * @param {string} name
 * @param {Copied} copied
 */
async function mustBeSound (name, { size, counts }) {
  const report = await withProgress('check', (onprogress) => verify(pathFile(name, { readOnly: true, lock: false }), onprogress))
  const isRight = report.ranges.length === 0 && report.size === size && report.counts.records === counts.records
  if (!isRight) throw new UserError(`${name}: the copy was read back, and is not what was written; look at the disk`)
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
 * @returns {Promise<string>} the file itself, if this is a link to it
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
async function putBeside (file, unfinished) {
  const copy = await linkBeside(unfinished, `${file}.repaired`)
  await fs.promises.unlink(unfinished)
  await syncFolder(path.dirname(path.resolve(file)))
  return { copy, original: file }
}

/**
 * At every moment there is a file under the log's name.
 * @param {string} file
 * @param {string} point
 * @param {string} unfinished
 * @returns {Promise<Names>}
 */
async function replace (file, point, unfinished) {
  const folder = path.dirname(path.resolve(file))
  const { mode, uid, gid } = await fs.promises.stat(file)
  await fs.promises.chmod(unfinished, mode)
  // only root can give files away; for others the owner is the same, or nothing can be done
  await fs.promises.chown(unfinished, uid, gid).catch(() => {})
  const original = await linkBeside(file, `${file}.damaged`)
  // it belongs to the old file; applied to the new one, it would overwrite records
  await fs.promises.rename(point, `${original}.recovery-point`).catch(onlyMissing)
  await syncFolder(folder)
  await fs.promises.rename(unfinished, file)
  await syncFolder(folder)
  return { copy: file, original }
}

/**
 * Gives a file a second name, with a number behind it if there is such a file already.
 * @param {string} file
 * @param {string} wanted
 * @returns {Promise<string>}
 */
async function linkBeside (file, wanted) {
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
    // not every file system has links
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw err
    await fs.promises.copyFile(file, name, fs.constants.COPYFILE_EXCL)
    const handle = await fs.promises.open(name, 'r+')
    await handle.sync()
    await handle.close()
  }
}

/** @param {NodeJS.ErrnoException} err */
function onlyMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

// What is said

/**
 * @param {Names} names
 * @param {Report} report
 * @param {Copied} copied
 * @param {RepairOptions} options
 * @returns {string[]} lines
 */
function screen ({ copy, original }, report, copied, { inPlace, compact }) {
  const { stdout } = process
  const { blockSize } = report
  const torn = report.ranges.filter(({ kind }) => kind === 'torn')
  const lines = [
    ...copied.lost.map(range => `${paint(stdout, 'red', 'left out')} ${describeRange(range, blockSize)}`),
    ...torn.map(range => `${paint(stdout, 'red', 'cut off')} ${describeRange(range, blockSize)}`),
    ...copied.salvaged.map(range => `${paint(stdout, 'yellow', `UNVERIFIED, ${counted(range.records, 'record')}`)} from ${describeRange(range, blockSize)}`)
  ]
  const unverified = copied.salvaged.reduce((sum, { records }) => sum + records, 0)
  lines.push(`${copy}: sound: ${counted(copied.counts.records, 'record')}${unverified === 0 ? '' : `, ${count(unverified)} of them UNVERIFIED`}` +
    (inPlace ? `; the old file is ${original}` : `; ${original} is as it was`))
  if (compact && copied.moved) {
    lines.push(paint(stdout, 'red', 'OFFSETS HAVE CHANGED: views hold offsets, so delete all views built on this log; they are built again'))
  } else {
    lines.push('All records kept their offsets.')
    if (copied.lost.length > 0) lines.push('Views may still hold records that were left out; delete such views, so that they are built again.')
  }
  return lines
}

module.exports = { define }
