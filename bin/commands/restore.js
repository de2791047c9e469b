'use strict'

// flumelog restore: makes a log of a backup.

const fs = require('fs')
const path = require('path')
const maintenance = require('../../maintenance')
const { fileName, fileToCreate } = require('../arguments')
const { UserError, explain } = require('../errors')
const { untilInterrupted } = require('../interrupts')
const { counted, size } = require('../numbers')
const { jsonOption, printResult, quietOption } = require('../result')
const { withProgress } = require('../survey')
const { helpText } = require('../usage')

const EXAMPLES = `
Examples:
  flumelog restore /backups/my.log my.log
  flumelog restore /backups/my.log my.log --force

The log is written under a temporary name, fsynced and read back before it gets its own. If the backup is corrupt, nothing is restored. A log that is there already is replaced only with --force, and not while a program has it open for writing. Its cursors stay; FILE.meta and the offset map become those of the backup. Views of it may have records that the backup does not have: delete them to have them rebuilt.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('restore')
    .summary('restore a log from a backup')
    .description('Restores a log from a backup that flumelog backup has made.')
    .argument('<backup>', 'the backup', fileName)
    .argument('<file>', 'the log', fileToCreate)
    .option('-f, --force', 'replace the log that is there')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(restore)
}

/**
 * @param {string} backup
 * @param {string} file
 * @param {{ force?: boolean } & import('../result').ResultOptions} options
 */
async function restore (backup, file, { force = false, json, quiet }) {
  try {
    const restored = await untilInterrupted(file, (signal) =>
      withProgress((onProgress) => maintenance.restore(backup, file, { force, onProgress, signal }), { quiet }), {
      left: () => `${fs.existsSync(file) ? 'the log is as it was' : 'nothing is left of it'}; the same command starts over`
    })
    const { bytes, records, replaced } = restored
    const text = `restored ${counted(records, 'record')}, ${size(bytes)}${replaced ? '; the log that was there has been replaced' : ''}`
    printResult({ json, quiet }, file, text, { backup, file, ...restored })
  } catch (err) {
    const { code, message, path: failed, filename } = /** @type {NodeJS.ErrnoException & { filename?: string }} */ (err)
    if (code === 'flumelog:locked' && filename === backup) {
      throw new UserError(`${backup}: another program has it open for writing, so it is not a backup: close it there first; to copy an open log, use flumelog backup`)
    }
    if (code === 'flumelog:locked') throw new UserError(`${file}: another program has this log open for writing; close it there first`)
    if (code === 'EEXIST') throw new UserError(`${message}, or use --force to replace it`)
    throw new UserError(explain(err, failed === path.resolve(backup) ? backup : file))
  }
}

module.exports = { define }
