'use strict'

// flumelog stat: counts what a log consists of.

const fs = require('fs')
const { fileName } = require('../arguments')
const { histogram } = require('../histogram')
const { count, counted, percent, size } = require('../numbers')
const { paint, shownOn } = require('../style')
const { describeDeleted, survey } = require('../survey')
const { helpText } = require('../usage')

/** @typedef {import('../../maintenance').Report} Report */
/** @typedef {ReturnType<figuresOf>} Figures */

/** Bytes of the blocks that a file's status counts. */
const STAT_BLOCK_SIZE = 512

const EXAMPLES = `
Examples:
  flumelog stat my.log
  flumelog stat my.log --json | jq .records`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('stat')
    .summary('count records, bytes and padding')
    .description('Counts the blocks, records, deleted records and padding of a log, and shows the distribution of record sizes.')
    .argument('<file>', 'the log', fileName)
    .option('-j, --json', 'print JSON')
    .addHelpText('after', helpText(EXAMPLES))
    .action(stat)
}

/**
 * @param {string} file
 * @param {{ json?: boolean }} options
 */
async function stat (file, { json }) {
  const report = await survey(file, 'stat')
  const { blocks } = await fs.promises.stat(file)
  const figures = figuresOf(file, report, blocks * STAT_BLOCK_SIZE)
  if (json) process.stdout.write(JSON.stringify(figures, null, 2) + '\n')
  else process.stdout.write(formatReport(figures).join('\n') + '\n')
}

/**
 * @param {string} file
 * @param {Report} report
 * @param {number} allocated bytes that the file takes
 */
function figuresOf (file, report, allocated) {
  const { counts } = report
  const torn = report.size - report.end
  return {
    file,
    size: report.size,
    start: report.start,
    allocated,
    blockSize: report.blockSize,
    blocks: report.blocks,
    sealed: report.sealed,
    checksummed: report.checksummed,
    records: counts.records,
    parts: counts.parts,
    bytes: counts.bytes,
    framing: counts.framing,
    deleted: { records: counts.deleted - counts.freed, freedBlocks: counts.freed, bytes: counts.deletedBytes },
    padding: { bytes: report.padding, percent: percent(report.padding, report.size - report.start) },
    corrupt: { blocks: report.corruptBlocks, bytes: report.corruptBytes },
    torn: { bytes: torn },
    closed: report.closed,
    record: counts.records === 0
      ? { smallest: null, mean: null, largest: null }
      : { smallest: counts.smallest, mean: counts.bytes / counts.records, largest: counts.largest },
    histogram: bucketsOf(counts.sizes)
  }
}

/**
 * @param {number[]} sizes
 * @returns {Array<{ from: number, to: number, records: number }>} from the smallest size that occurs to the largest
 */
function bucketsOf (sizes) {
  const first = sizes.findIndex(records => records > 0)
  const last = sizes.findLastIndex(records => records > 0)
  return sizes
    .map((records, power) => ({ from: 2 ** power, to: 2 ** (power + 1) - 1, records }))
    .filter((_, power) => first !== -1 && power >= first && power <= last)
}

/**
 * @param {Figures} figures
 * @returns {string[]} lines
 */
function formatReport (figures) {
  const { stdout } = process
  const { records, parts, record, deleted, padding, corrupt, torn } = figures
  // what is before the start takes at most one block
  const bytes = figures.size - figures.start
  const share = (/** @type {number} */ part) => `${counted(part, 'byte')} (${percent(part, bytes).toFixed(1)} %)`
  const row = (/** @type {string} */ name, /** @type {string} */ value) => `${name.padEnd(14)}${value}`
  const warn = (/** @type {string} */ name, /** @type {string} */ value) => paint(stdout, 'red', row(name, value))
  const lines = [
    row('file', shownOn(stdout, figures.file)),
    row('size', bytes < 1000 ? counted(bytes, 'byte') : `${counted(bytes, 'byte')} (${size(bytes)})`),
    row('allocated', figures.allocated > bytes ? counted(figures.allocated, 'byte') : share(figures.allocated)),
    ...figures.start === 0 ? [] : [row('start', `offset ${count(figures.start)}; what was before is trimmed or compacted, and takes at most one block`)],
    row('block size', counted(figures.blockSize, 'byte')),
    row('blocks', `${count(figures.blocks)}${sealedNote(figures)}`),
    row('records', parts === 0 ? count(records) : `${count(records)}: ${count(records - parts)} appended, and ${counted(parts, 'more chunk')} of large ones`),
    row('data', share(figures.bytes)),
    row('deleted', `${describeDeleted(deleted.records, deleted.freedBlocks, 'record')}, ${share(deleted.bytes)}`),
    row('framing', share(figures.framing)),
    row('padding', share(padding.bytes))
  ]
  if (corrupt.blocks > 0) lines.push(warn('corrupt', `${counted(corrupt.blocks, 'block')}, ${share(corrupt.bytes)}; see flumelog verify`))
  if (torn.bytes > 0) lines.push(warn('torn', `${share(torn.bytes)} at the end; see flumelog verify`))
  if (record.mean === null) return lines
  lines.push(
    row('record size', `smallest ${count(record.smallest)}, mean ${count(record.mean)}, largest ${counted(record.largest, 'byte')}`),
    '',
    ...histogram(
      figures.histogram.map(({ from, to, records }) => ({ label: from === to ? count(from) : `${count(from)} to ${count(to)}`, value: records })),
      { label: 'bytes', value: 'records' },
      stdout.columns || 80
    )
  )
  return lines
}

/** @param {Figures} figures */
function sealedNote ({ sealed, checksummed }) {
  if (sealed === 0) return ''
  const have = checksummed === 0 ? 'none with' : checksummed === sealed ? 'all with' : `${count(checksummed)} with`
  return ` (${count(sealed)} full, ${have} a checksum)`
}

module.exports = { define }
