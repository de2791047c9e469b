'use strict'

// flumelog verify: is every block as it was written?

const { say } = require('../errors')
const { count, counted, size } = require('../numbers')
const { paint } = require('../style')
const { survey, describeRange } = require('../survey')

/** @typedef {import('../../lib/maintenance/verify').Report} Report */

const EXAMPLES = `
Examples:
  flumelog verify my.log
  flumelog verify my.log --json | jq '.ranges[].start'

It exits with 0 if the log is sound, and with 1 if it is not. A full block is
checked by its checksum, if it has one, and by its structure; the last block,
while it is not full, by its structure. Each range is given by the offset of
its first byte, and the offset after its last.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('verify')
    .summary('check every block')
    .description('Checks every block of a log, and prints what is damaged, and how. Changes nothing.')
    .argument('<file>', 'the log')
    .option('-j, --json', 'the same for programs')
    .addHelpText('after', EXAMPLES)
    .action(verify)
}

/**
 * @param {string} file
 * @param {{ json?: boolean }} options
 */
async function verify (file, { json }) {
  const report = await survey(file, 'verify')
  process.stdout.write((json ? JSON.stringify(figuresOf(file, report), null, 2) : screen(file, report).join('\n')) + '\n')
  if (!report.closed && !json) {
    say(`${file}: a program has this log open for writing, or stopped without closing it; the next one to open it cuts off what is torn`)
  }
  if (report.ranges.length > 0) process.exitCode = 1
}

/**
 * @param {string} file
 * @param {Report} report
 */
function figuresOf (file, report) {
  const { size, blockSize, blocks, sealed, checksummed, counts, closed, ranges } = report
  return { file, sound: ranges.length === 0, size, blockSize, blocks, sealed, checksummed, records: counts.records, closed, ranges }
}

/**
 * @param {string} file
 * @param {Report} report
 * @returns {string[]} lines
 */
function screen (file, report) {
  const { stdout } = process
  const lines = report.ranges.map(range => `${paint(stdout, 'red', range.kind)} ${describeRange(range, report.blockSize)}`)
  lines.push(`${file}: ${report.ranges.length === 0 ? soundness(report) : paint(stdout, 'red', damage(report))}`)
  return lines
}

/** @param {Report} report */
function soundness ({ size: bytes, blocks, sealed, checksummed, counts }) {
  const what = `sound: ${counted(blocks, 'block')}, ${counted(counts.records, 'record')}, ${size(bytes)}`
  if (sealed === checksummed) return what
  const without = checksummed === 0 ? 'no block has a checksum' : `${counted(sealed - checksummed, 'block has', 'blocks have')} no checksum`
  return `${what}; ${without}, so only structure was checked there`
}

/** @param {Report} report */
function damage ({ blocks, damagedBlocks, damagedBytes, size: all, end }) {
  const torn = all - end
  const parts = []
  if (damagedBlocks > 0) parts.push(`${count(damagedBlocks)} of ${counted(blocks, 'block')} ${damagedBlocks === 1 ? 'is' : 'are'} damaged (${size(damagedBytes)})`)
  if (torn > 0) parts.push(`the last ${counted(torn, 'byte')} are no whole record`)
  return `${parts.join(', and ')}; flumelog repair writes a sound copy`
}

module.exports = { define }
