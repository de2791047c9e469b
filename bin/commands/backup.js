'use strict'

// flumelog backup: copies a log that may be open, or brings an earlier backup up to date.

const fs = require('fs')
const path = require('path')
const { promised } = require('../../lib/callbacks')
const { fileName, fileToCreate } = require('../arguments')
const { UserError, explain } = require('../errors')
const { untilInterrupted } = require('../interrupts')
const { size } = require('../numbers')
const { close, openToRead } = require('../open')
const { jsonOption, printResult, quietOption } = require('../result')
const { withProgress } = require('../survey')
const { helpText } = require('../usage')

/** @typedef {import('../../lib/backup/backup').BackedUp} BackedUp */

const EXAMPLES = `
Examples:
  flumelog backup my.log /backups/my.log           the first time, a copy
  flumelog backup my.log /backups/my.log           after that, what has changed
  flumelog stat /backups/my.log                    a backup is a log

Other programs may have the log open, and write to it: the backup has what was acknowledged when it was started, and no record that was deleted. Every block that is copied is verified; a corrupt one ends the backup, and the target stays as it was.

If the target is an earlier backup of the log, what is new is appended to it. If records were deleted since, or the log was trimmed or compacted, all of it is copied under a temporary name, and then replaces the target; so it does with --full. If a backup is interrupted, the earlier one is still there, and the next backup starts again.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('backup')
    .summary('copy a log while it is written, or bring its copy up to date')
    .description('Backs up a log to TARGET, which is a valid log, or brings an earlier backup there up to date.')
    .argument('<file>', 'the log', fileName)
    .argument('<target>', 'the backup', fileToCreate)
    .option('--full', 'copy all of the log, and replace what is there')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(backup)
}

/**
 * @param {string} file
 * @param {string} target
 * @param {{ full?: boolean } & import('../result').ResultOptions} options
 */
async function backup (file, target, { full = false, json, quiet }) {
  const log = await openToRead(file)
  try {
    /** @type {BackedUp} */
    const result = await untilInterrupted(target, (signal) => withProgress((onProgress) => promised(cb => log.backup(target, { full, onProgress, signal }, cb)), { quiet }), {
      left: () => fs.existsSync(target) ? 'the earlier backup is as it was; the same command starts over' : 'nothing is left of it; the same command starts over'
    })
    printResult({ json, quiet }, target, describe(result), { file, target, ...result })
  } catch (err) {
    if (err instanceof UserError) throw err
    throw new UserError(explain(err, concerns(err, target) ? target : file).replace('with `full`', 'with --full'))
  } finally {
    await close(log)
  }
}

/**
 * @param {any} err
 * @param {string} target
 * @returns {boolean} whether an error of the system is about the target: only that is written
 */
function concerns ({ code, path: failed }, target) {
  if (['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'].includes(code)) return true
  return typeof failed === 'string' && path.resolve(target).startsWith(path.dirname(failed))
}

/**
 * @param {BackedUp} result
 */
function describe ({ bytes, copied, incremental }) {
  if (!incremental) return `backed up all of the log, ${size(bytes)}`
  if (copied === 0) return `nothing has changed; all of it is ${size(bytes)}`
  return `brought up to date: copied ${size(copied)} that ${copied === 1 ? 'is' : 'are'} new; all of it is ${size(bytes)}`
}

module.exports = { define }
