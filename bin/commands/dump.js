'use strict'

// flumelog dump: prints the records of a log.

const { fileName, bound, choiceOption, jsonPaths, natural, positive } = require('../arguments')
const { encodingOption } = require('../encodings')
const { VERIFY, advise, reportError, writeStderr } = require('../errors')
const { resolveBounds, startOfTail } = require('../offsets')
const { openToRead, close } = require('../open')
const { Output } = require('../output')
const { printRecords } = require('../print-records')
const { encodingFormat, printer, refuseRawSeqs } = require('../printer')
const { helpText } = require('../usage')

/**
 * @typedef {import('../arguments').Offset} Offset
 * @typedef {import('../printer').PrintOptions & {
 *   gt?: Offset, gte?: Offset, lt?: Offset, lte?: Offset, limit?: number, reverse?: boolean, tail?: number,
 *   where?: ReturnType<import('../where').parseWhere>, live?: boolean, new?: boolean, skipCorrupt?: boolean, format: string, fields?: string[]
 * }} DumpOptions
 */

/** Milliseconds that Ctrl-C leaves the reader of standard output to take what was printed. */
const STOP_TIME = 500

const EXAMPLES = `
Examples:
  flumelog dump my.log | jq .timestamp
  flumelog dump my.log --tail 10 --live              the last ten, then new ones
  flumelog dump my.log --new | grep error            only new records
  flumelog dump my.log --seqs --reverse --limit 10   the last ten, newest first
  flumelog dump my.log --where 'level = error and at > 2024'
  flumelog dump my.log --gte 1048576 | less          starting at an offset
  flumelog dump my.log --format csv --fields at,text

An offset is any integer, whether or not a record starts there, or \`start\` or \`end\`, the offsets of the first and the last record. A record that contains newlines takes several lines, except in hex, base64 and ndjson. With raw, there is nothing between records.

With ndjson, each line is {"seq":…,"value":…}: the record itself if it is JSON, otherwise its text as a string; or {"seq":…,"base64":"…"} if it is not UTF-8. With csv, records must be JSON, and the first line names the fields. On a terminal, control characters of records are printed as \\u001b, and bytes that are not UTF-8 as \\x9b.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('dump')
    .summary('print records, one per line')
    .description('Prints the records of a log, one per line, in the order of their offsets.')
    .argument('<file>', 'the log', fileName)
    .addOption(encodingOption('how to print records; json: pretty-printed, raw: without newlines'))
    .option('-s, --seqs', 'prefix each record with its offset and a tab')
    .addOption(choiceOption('-f, --format <name>', 'output format; text: see --encoding', ['text', 'ndjson', 'csv']).default('text'))
    .option('--fields <paths>', 'columns of csv: paths separated by commas, such as at,value.author', jsonPaths)
    .option('--gt <offset>', 'only records after this offset', bound)
    .option('--gte <offset>', 'only records at or after this offset', bound)
    .option('--lt <offset>', 'only records before this offset', bound)
    .option('--lte <offset>', 'only records at or before this offset', bound)
    .option('-n, --limit <count>', 'at most <count> records', positive('without --limit, all are printed'))
    .option('-w, --where <filter>', 'only records that pass a filter: a text; path = value, also !=, <, <=, > and >=; path exists; path ~ /pattern/; with and, or, not, parentheses', where)
    .option('-r, --reverse', 'last record first')
    .option('-t, --tail <count>', 'only the last <count> records; 0: none', natural)
    .option('-l, --live', 'at the end of the log, wait for new records; Ctrl-C to stop')
    .option('--new', 'only records appended from now on; implies --live')
    .option('--skip-corrupt', 'skip corrupt blocks, and list them on stderr')
    .addHelpText('after', helpText(EXAMPLES))
    .action(dump)
}

/**
 * @param {string} file
 * @param {DumpOptions} options
 * @param {import('commander').Command} command
 */
async function dump (file, options, command) {
  refuseConflicts(options, command)
  const stopped = options.live || options.new ? stoppedByInterrupt() : undefined
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    const format = formatOf(options)
    if (format.header !== undefined) printer(output, file, { print: () => format.header ?? '', isText: true })(Buffer.alloc(0), 0)
    const printAll = printer(output, file, format)
    const print = options.where?.printing(printAll, options.limit) ?? printAll
    const range = await rangeOf(log, options)
    if (range !== null && !stopped?.aborted) await printRecords(log, { ...range, onSkip }, output, print, stopped)
    const note = options.where?.note() ?? format.note?.()
    if (note) writeStderr(`${file}: ${note}`)
  } catch (err) {
    // nothing that could be skipped
    if (err instanceof Error && err.message.includes('the file was truncated')) throw err
    throw advise(err, 'flumelog:corrupt', `use --skip-corrupt to skip it, or ${VERIFY}`)
  } finally {
    await output.end()
    await close(log)
  }
}

/** @param {string} filter */
function where (filter) {
  // loaded lazily: most runs do not need it
  return require('../where').parseWhere(filter)
}

/** @returns {AbortSignal} aborted at the first Ctrl-C; the second one ends the process */
function stoppedByInterrupt () {
  const stop = new AbortController()
  process.once('SIGINT', () => {
    // loaded lazily: most runs do not need it
    require('../progress').clearInterrupt()
    stop.abort()
    // a reader that does not read could keep it for ever
    setTimeout(() => process.exit(), STOP_TIME).unref()
  })
  return stop.signal
}

/**
 * @param {import('../open').Log} log
 * @param {DumpOptions} options
 * @returns {Promise<import('../../lib/read/options').StreamOptions | null>} null: nothing is to be printed
 */
async function rangeOf (log, options) {
  const { reverse, tail, skipCorrupt } = options
  // with a filter, those that are printed are counted
  const limit = options.where === undefined ? options.limit : undefined
  const live = options.live || options.new
  if (tail === 0 && !live) return null
  // records that are appended meanwhile are not printed: `dump` into an `append` to the same log would not end
  const { size } = log.stats()
  const bounds = await resolveBounds(log, { ...options, live })
  if (!live) bounds.lt = Math.min(bounds.lt ?? Infinity, size)
  const range = { ...bounds, limit, reverse, live, skipCorrupt }
  if (options.new || tail === 0) return { ...range, old: false }
  if (tail === undefined) return range
  return { ...range, gte: await startOfTail(log, { ...bounds, skipCorrupt }, tail) ?? bounds.gte }
}

/**
 * @param {DumpOptions} options
 * @returns {import('../printer').Format}
 */
function formatOf ({ format, encoding, seqs, fields = [] }) {
  if (format === 'text') return encodingFormat({ encoding, seqs })
  // loaded lazily: most runs do not need it
  const { ndjson, csvFormat } = require('../formats')
  return format === 'ndjson' ? ndjson : csvFormat(fields, seqs)
}

/** @param {import('../../lib/read/options').Skipped} skipped */
function onSkip ({ start, end, error }) {
  reportError(`${error.message}; skipped ${start} to ${end}`)
  process.exitCode = 1
}

/**
 * @param {DumpOptions} options
 * @param {import('commander').Command} command
 */
function refuseConflicts (options, command) {
  const { encoding, format, fields, tail, reverse } = options
  refuseRawSeqs(options, command)
  if (format !== 'text' && encoding !== 'utf8') command.error(`--encoding cannot be used with --format ${format}`)
  if (format === 'csv' && fields === undefined) command.error('--format csv needs --fields, such as --fields at,value.author')
  if (format !== 'csv' && fields !== undefined) command.error('--fields needs --format csv')
  if (tail !== undefined && reverse) command.error('--tail cannot be used with --reverse; --reverse --limit prints the last records, newest first')
  if (options.where !== undefined && tail !== undefined) command.error('--tail cannot be used with --where; --reverse --limit prints the last records that match, newest first')
  if ((options.live || options.new) && reverse) command.error(`${options.new ? '--new' : '--live'} cannot be used with --reverse: new records are printed as they come`)
  if (options.new && tail !== undefined) command.error('--new cannot be used with --tail; --tail prints older records')
}

module.exports = { define }
