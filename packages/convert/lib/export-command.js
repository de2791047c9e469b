'use strict'

// flumelog export: writes the records of a log to a file of another format.

const { choiceOption, codeOf, counted, explain, fileName, fileToCreate, helpText, jsonOption, jsonPaths, missingNote, printResult, quietOption, size, untilInterrupted, UserError, VERIFY, withProgress, writeStderr } = require('flumelog-random-access-file/command')
const { exportLog } = require('..')
const { NAMES } = require('./formats')

/** @typedef {{ to: any, fields?: string[] } & { json?: boolean, quiet?: boolean }} ExportOptions */

const EXAMPLES = `
Examples:
  flumelog export my.log --to ndjson     writes my.log.ndjson
  flumelog export my.log --to csv --fields at,text
  flumelog export my.log log.offset --to flumelog-offset

With ndjson and csv, records must be JSON; of other records, \`flumelog dump\` prints the text or the bytes. flumelog-offset is the one with offsets of 48 bits, which ssb uses. Deleted records are left out, so offsets differ from those of the log.

The file appears when it is complete and fsynced; one that is there already is not overwritten. The log may be open in another program: what that has appended before the export started is exported.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('export')
    .summary('write the records to a file of another format')
    .description('Exports a log to JSON lines, CSV, or the file of another log.')
    .argument('<file>', 'the log', fileName)
    .argument('[target]', 'the file to write; default: FILE.FORMAT', fileToCreate)
    .addOption(choiceOption('--to <format>', 'format of the file', NAMES).makeOptionMandatory())
    .option('--fields <paths>', 'columns of csv: paths separated by commas, such as at,value.author', jsonPaths)
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(run)
}

/**
 * @param {string} file
 * @param {string | undefined} given
 * @param {ExportOptions} options
 * @param {import('commander').Command} command
 */
async function run (file, given, { to, fields, json, quiet }, command) {
  if (to === 'csv' && fields === undefined) command.error('--to csv needs --fields, such as --fields at,value.author')
  if (to !== 'csv' && fields !== undefined) command.error('--fields needs --to csv')
  const target = given ?? `${file}.${to}`
  try {
    const exported = await untilInterrupted(target, (signal) => withProgress((onProgress) => exportLog(file, target, { to, fields, onProgress, signal }), { quiet }))
    printResult({ json, quiet }, target, `exported ${counted(exported.records, 'record')}, ${size(exported.size)}, as ${to}`, { file, target, format: to, ...exported })
    const { records, missing = [] } = exported
    if (!quiet && records > 0 && missing.length > 0) writeStderr(`${file}: ${missingNote('exported', missing)}`)
  } catch (err) {
    const isOfFile = ['ENOENT', 'EACCES'].includes(String(codeOf(err))) && /** @type {any} */ (err).syscall !== 'mkdir'
    const text = explain(err, isOfFile || String(codeOf(err)).startsWith('flumelog:') ? file : target)
    throw new UserError(codeOf(err) === 'flumelog:corrupt' ? `${text}; use ${VERIFY}` : text)
  }
}

module.exports = { define }
