'use strict'

// flumelog repair: writes a valid copy of a corrupt log, next to it or in its place.

const maintenance = require('../../maintenance')
const { fileToWrite } = require('../arguments')
const { UserError, codeOf } = require('../errors')
const { untilInterrupted } = require('../interrupts')
const { counted } = require('../numbers')
const { jsonOption, quietOption } = require('../result')
const { paint, shownOn } = require('../style')
const { isShared } = require('../shared')
const { describeRange, withProgress } = require('../survey')
const { helpText } = require('../usage')

/**
 * @typedef {import('../../maintenance').Repaired} Repaired
 * @typedef {{ inPlace?: boolean }} RepairOptions
 */

const EXAMPLES = `
Examples:
  flumelog repair my.log                  writes my.log.repaired
  flumelog repair my.log --in-place       keeps the old file as my.log.corrupt

All records of valid blocks are copied, and keep their offsets: a corrupt
block is replaced by one deleted record of the same size. No record of a
block that fails its checksum, or contains a broken record, can be trusted,
so all of them are omitted. Nothing is written if the log is valid, or while
another program has it open for writing, shared or not. The log itself is not
changed; --in-place renames it.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('repair')
    .summary('write a valid copy of a corrupt log')
    .description('Writes a valid copy of a log, FILE.repaired, with all records of valid blocks.')
    .argument('<file>', 'the log', fileToWrite)
    .option('-i, --in-place', 'replace the log with the copy, and keep the old file as FILE.corrupt')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(repair)
}

/**
 * @param {string} file
 * @param {RepairOptions & import('../result').ResultOptions} options
 */
async function repair (file, { json, quiet, ...options }) {
  try {
    const repaired = await untilInterrupted(file, (signal) => withProgress((onProgress) => maintenance.repair(file, { ...options, onProgress, signal }), { quiet }), {
      left: () => 'it is unchanged, and nothing is left of a copy; the same command starts over'
    })
    if (json) process.stdout.write(JSON.stringify(figuresOf(file, repaired), null, 2) + '\n')
    else if (!quiet) process.stdout.write(formatReport(file, repaired, options).join('\n') + '\n')
    if (isEmpty(repaired.copied)) process.exitCode = 1
  } catch (err) {
    if (codeOf(err) !== 'flumelog:locked') throw err
    throw new UserError(await isShared(file)
      ? `${file}: several programs may share this log, and one of them has it open; repair needs it for itself: close it in all of them first`
      : `${file}: another program has this log open for writing; repair needs it for itself: close it there first`)
  }
}

/**
 * @param {Repaired['copied']} copied
 * @returns {boolean} whether all that was in the log was omitted
 */
function isEmpty (copied) {
  return copied !== null && copied.counts.records === 0 && copied.lost.length > 0
}

/**
 * @param {string} file
 * @param {Repaired} repaired
 */
function figuresOf (file, { report, copied, file: copy, original }) {
  const { lost = [], counts } = copied ?? {}
  return { file, copy, original, records: (counts ?? report.counts).records, lost, torn: report.ranges.filter(({ kind }) => kind === 'torn') }
}

/**
 * @param {string} log
 * @param {Repaired} repaired
 * @param {RepairOptions} options
 * @returns {string[]} lines
 */
function formatReport (log, { report, copied, file, original }, { inPlace }) {
  const shown = (/** @type {string | null} */ name) => shownOn(process.stdout, name ?? '')
  if (copied === null) return [`${shown(log)}: valid; nothing to repair, nothing written`]
  const { stdout } = process
  const { blockSize } = report
  const torn = report.ranges.filter(({ kind }) => kind === 'torn')
  const lines = [
    ...copied.lost.map(range => `${paint(stdout, 'red', 'omitted')} ${describeRange(range, blockSize)}`),
    ...torn.map(range => `${paint(stdout, 'red', 'truncated')} ${describeRange(range, blockSize)}`)
  ]
  lines.push(`${shown(file)}: valid: ${counted(copied.counts.records, 'record')}` +
    (inPlace ? `; the old file is ${shown(original)}` : `; ${shown(original)} is unchanged`))
  if (isEmpty(copied)) {
    lines.push(paint(stdout, 'red', 'NO RECORD WAS KEPT: no block is valid.'))
  } else {
    lines.push('All records kept their offsets.')
    if (copied.lost.length > 0) lines.push('Views may still contain omitted records; delete these views to have them rebuilt.')
  }
  return lines
}

module.exports = { define }
