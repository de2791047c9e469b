'use strict'

// flumelog verify: checks every block, and lists the corrupt ones.

const { fileName } = require('../arguments')
const { writeStderr } = require('../errors')
const { count, counted, size } = require('../numbers')
const { paint, shownOn } = require('../style')
const { survey, describeRange } = require('../survey')
const { helpText } = require('../usage')

/** @typedef {import('../../maintenance').Report} Report */

const EXAMPLES = `
Examples:
  flumelog verify my.log
  flumelog verify my.log --json | jq '.ranges[].start'

The exit code is 0 if the log is valid, and 1 if it is not. Full blocks are
checked by their structure, and by their checksum if they have one; the last
block, while it is not full, by its structure. Ranges are printed as the
offset of the first byte and the offset after the last byte.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('verify')
    .summary('check every block')
    .description('Checks every block of a log, and lists what is corrupt, and why. Changes nothing.')
    .argument('<file>', 'the log', fileName)
    .option('-j, --json', 'print JSON')
    .option('-q, --quiet', 'print nothing if the log is valid')
    .addHelpText('after', helpText(EXAMPLES))
    .action(verify)
}

/**
 * @param {string} file
 * @param {{ json?: boolean, quiet?: boolean }} options
 */
async function verify (file, { json, quiet }) {
  const report = await survey(file, 'verify', quiet)
  const mustPrint = json || !quiet || !report.valid
  if (mustPrint) process.stdout.write((json ? JSON.stringify(figuresOf(file, report), null, 2) : formatReport(file, report).join('\n')) + '\n')
  if (report.open && !json && !quiet) {
    writeStderr(`${file}: a program has this log open for writing; what it has not acknowledged yet was not checked`)
  } else if (!report.closed && !json && !quiet) {
    writeStderr(`${file}: a program has this log open for writing, or stopped without closing it; torn writes are truncated when it is next opened for writing`)
  }
  if (!report.valid) process.exitCode = 1
}

/**
 * @param {string} file
 * @param {Report} report
 */
function figuresOf (file, report) {
  const { size, start, blockSize, blocks, sealed, checksummed, counts, closed, ranges } = report
  return { file, valid: report.valid, size, start, blockSize, blocks, sealed, checksummed, records: counts.records, closed, ranges }
}

/**
 * @param {string} file
 * @param {Report} report
 * @returns {string[]} lines
 */
function formatReport (file, report) {
  const { stdout } = process
  const lines = report.ranges.map(range => `${paint(stdout, 'red', range.kind)} ${describeRange(range, report.blockSize)}`)
  lines.push(`${shownOn(stdout, file)}: ${report.valid ? describeValid(report) : paint(stdout, 'red', describeInvalid(report))}`)
  return lines
}

/** @param {Report} report */
function describeValid ({ size: bytes, start, blocks, sealed, checksummed, counts }) {
  const what = `valid: ${counted(blocks, 'block')}, ${counted(counts.records, 'record')}, ${size(bytes - start)}${start === 0 ? '' : `, from offset ${start} on: what was before is trimmed or compacted`}`
  if (sealed === checksummed) return what
  const without = checksummed === 0 ? 'no block has a checksum' : `${counted(sealed - checksummed, 'block has', 'blocks have')} no checksum`
  return `${what}; ${without}, so only the structure was checked there`
}

/** @param {Report} report */
function describeInvalid ({ blocks, corruptBlocks, corruptBytes, size: all, end }) {
  const torn = all - end
  const parts = []
  if (corruptBlocks > 0) parts.push(`${count(corruptBlocks)} of ${counted(blocks, 'block')} ${corruptBlocks === 1 ? 'is' : 'are'} corrupt (${size(corruptBytes)})`)
  if (torn > 0) parts.push(`the last ${counted(torn, 'byte')} are torn`)
  return `${parts.join(', and ')}; flumelog repair writes a valid copy`
}

module.exports = { define }
