'use strict'

// flumelog del: deletes records; on a terminal, it asks first.

const { promised } = require('../../lib/callbacks')
const { bound, fileToWrite, offsets } = require('../arguments')
const { UserError, VERIFY, advise, writeStderr } = require('../errors')
const { printable } = require('../escapes')
const { count, counted, size } = require('../numbers')
const { mustResolve, resolveBounds } = require('../offsets')
const { holding, openToRead, recordAt, close } = require('../open')
const { confirm, mustBeAskable } = require('../question')
const { jsonOption, printResult, quietOption } = require('../result')
const { openShown } = require('../shared')
const { helpText } = require('../usage')

/**
 * @typedef {import('../open').Log} Log
 * @typedef {{ seq: number, data: Buffer }} LogRecord
 * @typedef {{ gt?: Offset, gte?: Offset, lt?: Offset, lte?: Offset }} Bounds
 * @typedef {import('../arguments').Offset} Offset
 *
 * @typedef {object} Found what is to be deleted
 * @property {{ gte: number, lte: number } | null} range null: these records only
 * @property {LogRecord[]} records all of them, or the first ones in the range
 * @property {number} found number of records
 * @property {number} bytes of their data
 */

/** What is said when nothing is. */
const NOTHING = 'nothing deleted'
/** Records that the question shows. */
const MAX_SHOWN = 10
/** Columns of a terminal that does not say how many it has. */
const DEFAULT_WIDTH = 80

const EXAMPLES = `
Examples:
  flumelog del my.log 54                  delete one record
  flumelog del my.log 54 1048576 --yes    delete two, without asking
  flumelog del my.log --lt 1048576        delete all before an offset

Deleted records cannot be restored. The space of blocks in which no record is left is freed. All other records keep their offsets. If one of the records does not exist, nothing is deleted. If another process owns the log and shares it, del asks that process to delete them.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('del')
    .summary('delete records')
    .description('Deletes the records that start at these offsets, or within a range, by overwriting their data with zeros.')
    .argument('<file>', 'the log', fileToWrite)
    .argument('[seqs...]', 'offsets of the records (see `flumelog dump --seqs`), or start or end for the first or last one', offsets)
    .option('--gt <offset>', 'all records after this offset', bound)
    .option('--gte <offset>', 'all records at or after this offset', bound)
    .option('--lt <offset>', 'all records before this offset', bound)
    .option('--lte <offset>', 'all records at or before this offset', bound)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(del)
}

/**
 * @param {string} file
 * @param {import('../arguments').Offset[]} offsets
 * @param {Bounds & import('../result').ResultOptions & { yes?: boolean }} options
 * @param {import('commander').Command} command
 */
async function del (file, offsets, { yes, json, quiet, ...bounds }, command) {
  const isRange = Object.keys(bounds).length > 0
  if (isRange && offsets.length > 0) command.error('offsets cannot be combined with --gt, --gte, --lt or --lte')
  if (!isRange && offsets.length === 0) command.error('give at least one offset, or a range by --gt, --gte, --lt or --lte')
  mustBeAskable(yes, command)
  await holding(file, async (held) => {
    const found = await (isRange ? recordsIn(file, bounds) : recordsAt(file, offsets))
    await delFound(file, held, found, { yes, json, quiet })
  })
}

/**
 * @param {string} file
 * @param {import('../open').Held} held of the file in which they were found
 * @param {Found} what
 * @param {import('../result').ResultOptions & { yes?: boolean }} options
 */
async function delFound (file, held, { range, records, found, bytes }, { yes, json, quiet }) {
  const figures = { file, records: found, bytes, first: records[0]?.seq ?? null, last: range?.lte ?? records.at(-1)?.seq ?? null }
  if (found === 0) return printResult({ json, quiet }, file, 'no record is in this range', { ...figures, last: null, role: null })
  const what = `${counted(found, 'record')} (${size(bytes)})`
  if (!yes) {
    for (const line of describe(records, found)) writeStderr(line)
    if (!await confirm(`Delete ${what} from ${printable(file)}?`, `${file}: ${NOTHING}`)) return
  }
  const seqs = records.map(({ seq }) => seq)
  const role = await deleteRecords(file, held, range ?? seqs)
  const where = range === null ? `at ${found === 1 ? 'offset' : 'offsets'} ${seqs.join(', ')}` : `from offset ${seqs[0]} to ${range.lte}`
  printResult({ json, quiet }, file, `deleted ${what} ${where}${role === 'client' ? ', through the process that owns the log' : ''}`, { ...figures, role })
}

/**
 * @param {string} file
 * @param {Bounds} bounds
 * @returns {Promise<Found>} the first records, and how many there are
 */
async function recordsIn (file, bounds) {
  const log = await openToRead(file)
  /** @type {LogRecord[]} */
  const records = []
  let found = 0
  let bytes = 0
  let last = -1
  try {
    const { gt, gte, lt, lte } = await resolveBounds(log, bounds)
    // what is appended from now on is not in it
    const before = Math.min(lt ?? Infinity, log.stats().size)
    await new Promise((resolve, reject) => log.scan({ gt, gte, lt: before, lte, cache: false, reuse: true, fromStart: true }, (block, start, end, seq) => {
      if (found++ < MAX_SHOWN) records.push({ seq, data: Buffer.from(block.subarray(start, end)) })
      bytes += end - start
      last = seq
    }, (err) => err ? reject(advise(err, 'flumelog:corrupt', `use ${VERIFY}`)) : resolve(undefined)))
  } finally {
    await close(log)
  }
  return { range: { gte: records[0]?.seq ?? 0, lte: last }, records, found, bytes }
}

/**
 * @param {string} file
 * @param {import('../arguments').Offset[]} offsets
 * @returns {Promise<Found>} each once, in the order of their offsets
 */
async function recordsAt (file, offsets) {
  const log = await openToRead(file)
  try {
    const seqs = new Set()
    for (const offset of offsets) seqs.add(await mustResolve(log, file, offset))
    const records = []
    for (const seq of [...seqs].sort((a, b) => a - b)) records.push({ seq, data: Buffer.from(await recordAt(log, seq)) })
    return { range: null, records, found: records.length, bytes: records.reduce((sum, { data }) => sum + data.length, 0) }
  } catch (err) {
    // the log's message, which get prints, could be taken for that of a success
    const { code, offset } = /** @type {import('../../lib/errors').LogError} */ (err)
    throw code === 'flumelog:deleted' ? new UserError(`${file}: the record at offset ${offset} was deleted before; ${NOTHING}`) : err
  } finally {
    await close(log)
  }
}

/**
 * @param {string} file
 * @param {import('../open').Held} held
 * @param {number[] | { gte: number, lte: number }} seqs or a range
 * @returns {Promise<string | null>} the role of this process: if it is a client, the owner of the log has deleted them
 */
async function deleteRecords (file, held, seqs) {
  const log = await openShown(file, { large: true }, held, NOTHING)
  const { role } = log
  try {
    await promised(cb => log.del(seqs, cb))
  } finally {
    await close(log)
  }
  return role
}

/**
 * @param {LogRecord[]} records
 * @param {number} found all that are to be deleted
 * @returns {string[]} lines with the offsets and the start of the first ones
 */
function describe (records, found) {
  const width = (process.stderr.columns || DEFAULT_WIDTH) - 1
  const lines = records.slice(0, MAX_SHOWN).map(({ seq, data }) => shorten(`${seq}  ${printable(data).replace(/[\t\n]/g, ' ')}`, width))
  if (found > MAX_SHOWN) lines.push(`and ${count(found - MAX_SHOWN)} more`)
  return lines
}

/**
 * @param {string} text
 * @param {number} width
 */
function shorten (text, width) {
  const characters = [...text]
  return characters.length <= width ? text : characters.slice(0, width - 1).join('') + '…'
}

module.exports = { define }
