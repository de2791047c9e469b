'use strict'

// flumelog del: deletes records; on a terminal, it asks first.

const { fileToWrite, offsets } = require('../arguments')
const { UserError, reportRecovery, writeStderr } = require('../errors')
const { printable } = require('../escapes')
const { count, counted, size } = require('../numbers')
const { mustResolve } = require('../offsets')
const { openToRead, recordAt, close } = require('../open')
const { ask, canAsk } = require('../question')
const { openToAppend } = require('../shared')
const { helpText } = require('../usage')

/**
 * @typedef {import('../open').Log} Log
 * @typedef {{ seq: number, data: Buffer }} LogRecord
 */

const INTERRUPTED = 130
/** Records that the question shows. */
const MAX_SHOWN = 10
/** Columns of a terminal that does not say how many it has. */
const DEFAULT_WIDTH = 80

const EXAMPLES = `
Examples:
  flumelog del my.log 54                  delete one record
  flumelog del my.log 54 1048576 --yes    delete two, without asking

Deleted records cannot be restored. All other records keep their offsets. If one of the records does not exist, nothing is deleted. If another process owns the log and shares it, del asks that process to delete them.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('del')
    .summary('delete records')
    .description('Deletes the records that start at these offsets, by overwriting their data with zeros.')
    .argument('<file>', 'the log', fileToWrite)
    .argument('<seqs...>', 'offsets of the records (see `flumelog dump --seqs`), or start or end for the first or last one', offsets)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addHelpText('after', helpText(EXAMPLES))
    .action(del)
}

/**
 * @param {string} file
 * @param {import('../arguments').Offset[]} offsets
 * @param {{ yes?: boolean }} options
 * @param {import('commander').Command} command
 */
async function del (file, offsets, { yes }, command) {
  if (!yes && !canAsk()) command.error('--yes is required: del cannot ask, since standard input or stderr is not a terminal')
  const records = await recordsAt(file, offsets)
  const bytes = records.reduce((sum, { data }) => sum + data.length, 0)
  const what = `${counted(records.length, 'record')} (${size(bytes)})`
  if (!yes) {
    for (const line of describe(records)) writeStderr(line)
    const answer = await ask(`Delete ${what} from ${printable(file)}?`)
    if (answer !== 'yes') {
      process.exitCode = answer === 'interrupted' ? INTERRUPTED : 1
      return writeStderr(`${file}: nothing deleted`)
    }
  }
  const throughOwner = await deleteRecords(file, records.map(({ seq }) => seq))
  writeStderr(`${file}: deleted ${what} at ${records.length === 1 ? 'offset' : 'offsets'} ${records.map(({ seq }) => seq).join(', ')}` +
    (throughOwner ? ', through the process that owns the log' : ''))
}

/**
 * @param {string} file
 * @param {import('../arguments').Offset[]} offsets
 * @returns {Promise<LogRecord[]>} each once, in the order of their offsets
 */
async function recordsAt (file, offsets) {
  const log = await openToRead(file)
  try {
    const seqs = new Set()
    for (const offset of offsets) seqs.add(await mustResolve(log, file, offset))
    const records = []
    for (const seq of [...seqs].sort((a, b) => a - b)) records.push({ seq, data: Buffer.from(await recordAt(log, seq)) })
    return records
  } catch (err) {
    // the log's message, which get prints, could be taken for that of a success
    const { code, offset } = /** @type {import('../../lib/errors').LogError} */ (err)
    throw code === 'flumelog:deleted' ? new UserError(`${file}: the record at offset ${offset} was deleted before; nothing deleted`) : err
  } finally {
    await close(log)
  }
}

/**
 * @param {string} file
 * @param {number[]} seqs
 * @returns {Promise<boolean>} whether another process owns the log, and has deleted them
 */
async function deleteRecords (file, seqs) {
  const { log, cut } = await openToAppend(file, { large: true }, undefined)
  if (cut !== null) reportRecovery(file, cut)
  const throughOwner = log.role === 'client'
  try {
    await new Promise((resolve, reject) => log.del(seqs, (err) => err ? reject(err) : resolve(undefined)))
  } finally {
    await close(log)
  }
  return throughOwner
}

/**
 * @param {LogRecord[]} records
 * @returns {string[]} lines with the offsets and the start of the first ones
 */
function describe (records) {
  const width = (process.stderr.columns || DEFAULT_WIDTH) - 1
  const lines = records.slice(0, MAX_SHOWN).map(({ seq, data }) => shorten(`${seq}  ${printable(data).replace(/[\t\n]/g, ' ')}`, width))
  if (records.length > MAX_SHOWN) lines.push(`and ${count(records.length - MAX_SHOWN)} more`)
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
