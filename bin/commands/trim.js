'use strict'

// flumelog trim: removes blocks at the head of a log; on a terminal, it asks first.

const { fileToWrite, natural } = require('../arguments')
const { reportRecovery, writeStderr } = require('../errors')
const { printable } = require('../escapes')
const { size } = require('../numbers')
const { close, openToRead } = require('../open')
const { ask, canAsk } = require('../question')
const { openToAppend } = require('../shared')
const { helpText } = require('../usage')

const INTERRUPTED = 130

const EXAMPLES = `
Examples:
  flumelog trim my.log --lt 1048576          remove what is before an offset
  flumelog trim my.log --keep-bytes 1e9      keep at least the last GB
  flumelog trim my.log --keep-records 1000   keep at least the last 1,000 records

Whole blocks are removed, and their space is freed; the block with the last record stays. All other records keep their offsets. What is removed cannot be restored. If another process owns the log and shares it, trim asks that process.`

/** @typedef {{ lt?: number, keepBytes?: number, keepRecords?: number, yes?: boolean }} Options */

/** @param {import('commander').Command} program */
function define (program) {
  program.command('trim')
    .summary('remove blocks at the head')
    .description('Removes whole blocks at the head of a log, and frees their space.')
    .argument('<file>', 'the log', fileToWrite)
    .option('--lt <offset>', 'only blocks of which all records are before this offset', natural)
    .option('--keep-bytes <number>', 'only blocks before the last bytes of the log', bytes)
    .option('--keep-records <number>', 'only blocks before the last records that are not deleted', natural)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addHelpText('after', helpText(EXAMPLES))
    .action(trim)
}

/**
 * @param {string} text
 * @returns {number}
 */
function bytes (text) {
  return natural(/^\d+(\.\d+)?e\d+$/i.test(text) ? String(Number(text)) : text)
}

/**
 * @param {string} file
 * @param {Options} options
 * @param {import('commander').Command} command
 */
async function trim (file, options, command) {
  const { lt, keepBytes, keepRecords, yes } = options
  if (lt === undefined && keepBytes === undefined && keepRecords === undefined) command.error('give --lt, --keep-bytes or --keep-records')
  if (!yes && !canAsk()) command.error('--yes is required: trim cannot ask, since standard input or stderr is not a terminal')
  const { before, start } = await boundOf(file, options)
  if (!yes) {
    const answer = await ask(`Trim ${printable(file)}, which starts at ${start}, to start at ${before} or less?`)
    if (answer !== 'yes') {
      process.exitCode = answer === 'interrupted' ? INTERRUPTED : 1
      return writeStderr(`${file}: nothing trimmed`)
    }
  }
  const { log, cut } = await openToAppend(file, {}, undefined)
  if (cut !== null) reportRecovery(file, cut)
  const where = log.role === 'client' ? ', by the process that owns the log' : ''
  try {
    const now = await trimmed(log, before)
    writeStderr(now <= start
      ? `${file}: nothing to trim: no whole block is before offset ${before}`
      : `${file}: trimmed ${size(now - start)}: the log starts at offset ${now}${where}`)
  } finally {
    await close(log)
  }
}

/**
 * @param {string} file
 * @param {Options} options
 * @returns {Promise<{ before: number, start: number }>} before: the offset before which blocks go. start: of the log
 */
async function boundOf (file, { lt = Infinity, keepBytes = 0, keepRecords = 0 }) {
  const log = await openToRead(file)
  try {
    const { size, start } = log.stats()
    const first = keepRecords === 0 ? size : await lastButOf(log, keepRecords)
    return { before: Math.max(start, Math.min(lt, size - keepBytes, first)), start }
  } finally {
    await close(log)
  }
}

/**
 * @param {import('../open').Log} log
 * @param {number} count
 * @returns {Promise<number>} where the last so many records start
 */
function lastButOf (log, count) {
  let left = count
  let first = 0
  return new Promise((resolve, reject) => log.scan({ reverse: true, cache: false, reuse: true }, (block, start, end, seq) => {
    first = seq
    return --left > 0
  }, (err) => err ? reject(err) : resolve(left > 0 ? 0 : first)))
}

/**
 * @param {import('../open').Log} log
 * @param {number} lt
 * @returns {Promise<number>}
 */
function trimmed (log, lt) {
  return new Promise((resolve, reject) => log.trim({ lt }, (err, start) => err ? reject(err) : resolve(start)))
}

module.exports = { define }
