'use strict'

// flumelog trim: removes blocks at the head of a log; on a terminal, it asks first.

const { InvalidArgumentError } = require('commander')
const { promised } = require('../../lib/callbacks')
const { fileToWrite, natural, positive } = require('../arguments')
const { printable } = require('../escapes')
const { counted, size } = require('../numbers')
const { resolve } = require('../offsets')
const { close, holding, openToRead } = require('../open')
const { confirm, mustBeAskable } = require('../question')
const { jsonOption, printResult, quietOption } = require('../result')
const { openShown } = require('../shared')
const { helpText } = require('../usage')

const EXAMPLES = `
Examples:
  flumelog trim my.log --lt 1048576          remove what is before an offset
  flumelog trim my.log --keep-bytes 1e9      keep at least the last GB
  flumelog trim my.log --keep-records 1000   keep at least the last 1,000 records

Whole blocks are removed, and their space is freed; the block with the last record stays. All other records keep their offsets. What is removed cannot be restored. If another process owns the log and shares it, trim asks that process.`

/** What is said when nothing is. */
const NOTHING = 'nothing trimmed'

/** @typedef {{ lt?: import('../arguments').Offset, keepBytes?: number, keepRecords?: number, yes?: boolean } & import('../result').ResultOptions} Options */

/**
 * @typedef {object} Bound
 * @property {number} before the offset before which blocks go
 * @property {number} start of the log
 * @property {number} blocks that go
 * @property {number} bytes in them
 * @property {string} reason why none goes, if none does
 */

/** @param {import('commander').Command} program */
function define (program) {
  program.command('trim')
    .summary('remove blocks at the head')
    .description('Removes whole blocks at the head of a log, and frees their space.')
    .argument('<file>', 'the log', fileToWrite)
    .option('--lt <offset>', 'only blocks of which all records are before this offset', before)
    .option('--keep-bytes <number>', 'keep at least this many bytes at the end of the log', kept)
    .option('--keep-records <number>', 'keep at least this many records that are not deleted', kept)
    .option('-y, --yes', 'do not ask; required if standard input or stderr is not a terminal')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(trim)
}

/**
 * @param {string} text
 * @returns {number}
 */
function bytes (text) {
  return natural(plain(text))
}

/**
 * @param {string} text
 * @returns {number}
 */
function kept (text) {
  return positive('`--lt end` trims all that can be trimmed')(plain(text))
}

/**
 * @param {string} text
 * @returns {string} 1e9 as 1000000000
 */
function plain (text) {
  return /^\d+(\.\d+)?e\d+$/i.test(text) ? String(Number(text)) : text
}

/**
 * @param {string} text
 * @returns {import('../arguments').Offset}
 */
function before (text) {
  if (text === 'start' || text === 'end') return text
  try {
    return bytes(text)
  } catch {
    throw new InvalidArgumentError('must be start, end or an integer of 0 or more')
  }
}

/**
 * @param {string} file
 * @param {Options} options
 * @param {import('commander').Command} command
 */
async function trim (file, options, command) {
  const { lt, keepBytes, keepRecords, yes } = options
  if (lt === undefined && keepBytes === undefined && keepRecords === undefined) command.error('give --lt, --keep-bytes or --keep-records')
  mustBeAskable(yes, command)
  await holding(file, (held) => trimHeld(file, held, options))
}

/**
 * @param {string} file
 * @param {import('../open').Held} held
 * @param {Options} options
 */
async function trimHeld (file, held, options) {
  const { before, start, blocks, bytes, reason } = await boundOf(file, options)
  if (blocks === 0) return printResult(options, file, `nothing to trim: ${reason}`, { file, bytes: 0, start, role: null })
  if (!options.yes && !await confirm(`Remove the first ${counted(blocks, 'block')} (${size(bytes)}) of ${printable(file)}?`, `${file}: ${NOTHING}`)) return
  // all chunks of a large record that is to stay do
  const log = await openShown(file, { large: true }, held, NOTHING)
  const where = log.role === 'client' ? ', by the process that owns the log' : ''
  try {
    /** @type {number} */
    const now = await promised(cb => log.trim({ lt: before }, cb))
    printResult(options, file, now <= start
      ? `nothing to trim any more: the log starts at offset ${now}`
      : `trimmed ${size(now - start)}: the log starts at offset ${now}${where}`, { file, bytes: Math.max(0, now - start), start: now, role: log.role })
  } finally {
    await close(log)
  }
}

/**
 * @param {string} file
 * @param {Options} options
 * @returns {Promise<Bound>}
 */
async function boundOf (file, { lt, keepBytes = 0, keepRecords = 0 }) {
  const log = await openToRead(file)
  try {
    const { blockSize } = log
    const { size, start } = log.stats()
    const first = keepRecords === 0 ? size : await lastButOf(log, keepRecords)
    const offset = lt === undefined ? size : await resolve(log, lt) ?? 0
    const wanted = Math.min(offset, size - keepBytes, first)
    const before = Math.max(start, wanted)
    const last = Math.max(0, log.since.value ?? 0)
    const end = Math.floor(Math.min(before, last) / blockSize) * blockSize
    const isFirstAlone = start === 0 && end === blockSize
    const bytes = isFirstAlone ? 0 : Math.max(0, end - start)
    let reason = `no whole block is before offset ${before}`
    if (isFirstAlone) reason = 'the first block is removed only together with the second'
    else if (wanted < start) reason = `the log already starts at offset ${start}`
    else if (wanted < offset && wanted === size) reason = `offset ${offset} is after the log's end at ${size}, and the block with the last record stays`
    else if (end < Math.floor(before / blockSize) * blockSize) reason = 'the block with the last record stays'
    return { before, start, blocks: bytes / blockSize, bytes, reason }
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

module.exports = { define }
