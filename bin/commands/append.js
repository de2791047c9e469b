'use strict'

// flumelog append: appends lines of standard input as records.

const fs = require('fs')
const { isatty } = require('tty')
const { promised } = require('../../lib/callbacks')
const { appendLines } = require('../append-lines')
const { fileToCreate, blockSize, syncOption } = require('../arguments')
const { encodingOption } = require('../encodings')
const { UserError, explain, realPath, reportError, writeStderr } = require('../errors')
const { Input } = require('../input')
const { count, counted, size } = require('../numbers')
const { close } = require('../open')
const { byteProgress, recordProgress } = require('../progress')
const { jsonOption, printResult, quietOption } = require('../result')
const { openToAppend } = require('../shared')
const { helpText } = require('../usage')

/**
 * @typedef {object} AppendOptions
 * @property {string} encoding
 * @property {boolean} [skipEmpty]
 * @property {number} [blockSize]
 * @property {'always' | 'interval' | 'never'} sync
 * @property {boolean} [large]
 * @property {boolean} [shared]
 * @property {boolean} [stats]
 * @property {boolean} [json]
 * @property {boolean} [quiet]
 */

const EXAMPLES = `
Examples:
  jq -c '.[]' posts.json | flumelog append my.log
  flumelog append my.log < lines.txt
  flumelog dump old.log -e base64 | flumelog append new.log -e base64

\`append\` stops at the first line that cannot be stored, and prints its number; the lines before it are appended. If there are none, no log is created, except with --shared. Empty lines cannot be stored. Lines of more than a block need --large, and so do programs that read them. With json, each line must be JSON, and is stored without whitespace between tokens. Ctrl-C stops it, too; all complete lines read so far are appended.

If another process has opened the log with \`shared: true\`, that process owns the log, and \`append\` sends it the records, so several processes can append at the same time. With --shared, this process shares the log with those that open it later.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('append')
    .summary('append lines of standard input as records')
    .description('Appends each line of standard input as a record, without its newline. Creates the log if it does not exist.')
    .argument('<file>', 'the log', fileToCreate)
    .addOption(encodingOption('how lines are encoded; raw: any bytes'))
    .option('--skip-empty', 'skip empty lines')
    .option('--block-size <bytes>', 'block size of a new log; default: 65536', blockSize)
    .option('--large', 'store lines that do not fit into a block, of up to 256 MiB, in chunks')
    .addOption(syncOption())
    .option('--shared', 'share the log with other processes that append to it; by default only if it is shared already')
    .option('--no-shared', 'fail if another process has the log open for writing')
    .option('--stats', 'print counters as JSON to stderr every second and at exit')
    .addOption(jsonOption())
    .addOption(quietOption())
    .addHelpText('after', helpText(EXAMPLES))
    .action(append)
}

/**
 * @param {string} file
 * @param {AppendOptions} options
 * @param {import('commander').Command} command
 */
async function append (file, options, command) {
  if (process.argv.includes('--shared') && process.argv.includes('--no-shared')) command.error('--shared cannot be used with --no-shared')
  if (isDirectory(0)) throw new UserError('standard input is a directory; give a file, or the output of a program')
  const isNew = !fs.existsSync(file)
  const log = await openToAppend(file, { blockSize: options.blockSize, sync: options.sync, large: !!options.large, cacheSize: 0 }, options.shared)
  const isTyped = isatty(0)
  if (isTyped && !options.quiet) writeStderr('Each line becomes a record; Ctrl-D on an empty line to finish.')

  const startedAt = performance.now()
  const input = new Input()
  const progress = options.quiet || options.stats || isTyped ? null : progressOf(input)
  const printStats = () => writeStderr(JSON.stringify(log.stats()))
  const statsTimer = options.stats ? setInterval(printStats, 1000) : undefined
  const appended = await appendLines(log, file, options, input, progress)
    .catch((err) => ({ records: 0, bytes: 0, failure: () => explain(err, file) }))
  if (isNew) await removeEmpty(log, file, appended)
  const closeFailure = await close(log).catch(err => explain(err, file))
  progress?.stop()
  clearInterval(statsTimer)
  if (options.stats) printStats()

  const failure = appended.failure() ?? closeFailure
  if (failure) {
    reportError(failure)
    process.exitCode = 1
  }
  const { records, bytes } = appended
  const seconds = Math.round(performance.now() - startedAt) / 1000
  const summary = summaryOf(log, appended, seconds, isTyped)
  printResult(options, file, fitParts(summary, file.length + 2), { file, records, bytes, seconds, role: log.role })
}

/**
 * Nothing is left of a command that has failed before it stored anything.
 * @param {import('../open').Log} log that was created
 * @param {string} file
 * @param {import('../append-lines').Appended} appended
 */
async function removeEmpty (log, file, { failure }) {
  await promised(cb => log.onDrain(cb)).catch(() => {})
  // a shared one may have got records of other processes, or is about to
  if (failure() !== null && log.role === null && log.since.value === -1) for (const suffix of ['.meta', '']) fs.rmSync(realPath(file) + suffix, { force: true })
}

/**
 * Progress in bytes if standard input is a file, whose size is known; else in records.
 * @param {Input} input
 * @returns {{ update: (bytes: number, records: number) => void, stop: () => void }}
 */
function progressOf ({ size: total }) {
  const progress = total === null ? recordProgress('append') : byteProgress('append')
  return {
    update: (bytes, records) => total === null ? progress.update(records) : progress.update(bytes, total),
    stop: progress.stop
  }
}

/** @param {number} fd */
function isDirectory (fd) {
  try {
    return fs.fstatSync(fd).isDirectory()
  } catch {
    return false
  }
}

/**
 * @param {import('../open').Log} log
 * @param {{ records: number, bytes: number }} appended
 * @param {number} seconds
 * @param {boolean} isTyped then the rate is that of the person who types
 * @returns {string[]} parts
 */
function summaryOf (log, { records, bytes }, seconds, isTyped) {
  const parts = [`appended ${counted(records, 'record')}`, size(bytes), `in ${seconds.toFixed(2)} s`]
  if (records > 0 && !isTyped) parts.push(`${count(records / Math.max(seconds, 0.001))} records/s`)
  if (log.role === 'client') parts.push('through the process that owns the log')
  return parts
}

/**
 * @param {string[]} parts
 * @param {number} indent what is before the first one
 * @returns {string} separated by commas, on as many lines as the terminal needs
 */
function fitParts (parts, indent) {
  const columns = process.stdout.columns || Infinity
  const lines = [' '.repeat(indent) + parts[0]]
  for (const part of parts.slice(1)) {
    const line = `${lines.pop()},`
    if (line.length + part.length + 2 <= columns) lines.push(`${line} ${part}`)
    else lines.push(line, `  ${part}`)
  }
  return lines.join('\n').slice(indent)
}

module.exports = { define }
