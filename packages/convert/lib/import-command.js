'use strict'

// flumelog import: makes a log of the file of another log, or of lines.

const { blockSize, choiceOption, counted, explain, fileName, fileToCreate, helpText, jsonOption, paint, printResult, quietOption, shownOn, size, untilInterrupted, UserError, withProgress } = require('flumelog-random-access-file/command')
const { importLog } = require('..')
const { NAMES } = require('./formats')
const { ImportMap } = require('./import-map')

/** @typedef {import('..').Imported} Imported */
/** @typedef {{ from?: any, keepDeleted?: boolean, skip?: boolean, large?: boolean, blockSize?: number } & { json?: boolean, quiet?: boolean }} ImportOptions */

const EXAMPLES = `
Examples:
  flumelog import ~/.ssb/flume/log.offset new.log
  flumelog import posts.ndjson new.log
  flumelog import old.log new.log --keep-deleted --skip

The format of the old file is detected: flumelog-offset (with offsets of 32, 48 or 53 bits), flumelog-aligned-offset (that of this program's own logs), async-append-only-log, JSON lines (each line is a record, as it is), or CSV (each row becomes a JSON object, with the names in the first row as keys). The old file is only read. What an interrupted write has left at its end is not imported.

The new log appears when it is complete, fsynced, and has been read back and compared with what was read from the old file. An import that was interrupted starts again, and removes NEW.importing, which is left of the one before. NEW.import-map has the new offset of each record by its old one: see docs/guides/moving.md.

A record that cannot be stored, since it is too large, empty, or no JSON, stops the import. With --skip, such records, and ranges of the old file that are corrupt, go to NEW.skipped, a line of JSON each.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('import')
    .summary('import the file of another log, JSON lines or CSV')
    .description('Imports the file of another log, JSON lines, or CSV into a new log.')
    .argument('<old>', 'the file to import', fileName)
    .argument('<new>', 'the new log', fileToCreate)
    .addOption(choiceOption('--from <format>', 'format of the old file; default: it is detected', NAMES))
    .option('--keep-deleted', 'keep deleted records as deleted ones of the same size; default: they are left out')
    .option('--skip', 'put what cannot be stored into NEW.skipped')
    .option('--large', 'store records that do not fit into a block, of up to 256 MiB, in chunks')
    .option('--keep-indexes', 'import although views of flumedb, or indexes of ssb-db2, with old offsets are beside the new log')
    .option('--block-size <bytes>', 'block size of the new log; default: 65536', blockSize)
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(run)
}

/**
 * @param {string} old
 * @param {string} target
 * @param {ImportOptions} options
 */
async function run (old, target, { json, quiet, ...options }) {
  try {
    const imported = await untilInterrupted(target, (signal) => withProgress((onProgress) => importLog(old, target, { ...options, onProgress, signal }), { quiet }))
    const isMoved = imported.map !== null && !await keepsOffsets(target)
    printResult({ json, quiet }, target, describe(old, imported, isMoved), { old, ...imported, moved: isMoved })
  } catch (err) {
    throw new UserError(explain(err, fileOf(err, old, target)).replace('`skip`', '--skip').replace('`large`', '--large').replace('`from`', '--from').replace('`keepIndexes`', '--keep-indexes'))
  }
}

/**
 * @param {string} target
 * @returns {Promise<boolean>} whether all records have the offsets that they had
 */
async function keepsOffsets (target) {
  const map = await ImportMap.open(target)
  try {
    return await map.keepsOffsets()
  } finally {
    await map.close()
  }
}

/**
 * @param {any} err
 * @param {string} old
 * @param {string} target
 * @returns {string} the file that an error of the system is about
 */
function fileOf ({ code, syscall }, old, target) {
  return ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'].includes(code) || ['mkdir', 'link', 'rename', 'fsync', 'write'].includes(syscall) ? target : old
}

/**
 * @param {string} old
 * @param {Imported} imported
 * @param {boolean} isMoved whether offsets have changed
 * @returns {string[]} lines
 */
function describe (old, { format, records, bytes, large, deleted, skipped, corrupt, digest, torn, map, skippedFile }, isMoved) {
  const { stdout } = process
  const lines = [`imported ${counted(records, 'record')}, ${size(bytes)}, from ${shownOn(stdout, old)} (${format})`]
  if (deleted > 0) lines.push(`${counted(deleted, 'deleted record')} ${process.argv.includes('--keep-deleted') ? 'kept' : 'left out'}`)
  if (large > 0) lines.push(`${counted(large, 'record is', 'records are')} larger than a block: programs that open the log need \`large: true\``)
  if (skippedFile !== null) {
    const what = [skipped > 0 ? counted(skipped, 'record') : '', corrupt > 0 ? `${size(corrupt)} that ${corrupt === 1 ? 'is' : 'are'} corrupt` : ''].filter(Boolean).join(' and ')
    lines.push(`${paint(stdout, 'yellow', 'skipped')} ${what}: see ${shownOn(stdout, skippedFile)}`)
  }
  if (torn !== null) lines.push(`${paint(stdout, 'yellow', 'not imported')}: ${counted(torn.bytes, 'byte')} of a torn write at offset ${torn.offset} of ${shownOn(stdout, old)}: ${torn.reason}`)
  lines.push(`compared: ${counted(records, 'record')} of the same lengths and data in both (CRC-32 ${digest.toString(16).padStart(8, '0')})`)
  // nothing refers to offsets of lines
  if (map !== null && isMoved && format !== 'ndjson') {
    lines.push(paint(stdout, 'red', 'OFFSETS HAVE CHANGED: views contain offsets, so delete all views of the old log; flumedb rebuilds them'))
    lines.push(`${shownOn(stdout, map)} has the new offsets`)
  }
  return lines
}

module.exports = { define }
