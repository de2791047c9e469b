'use strict'

// flumelog dump: prints the records of a log.

const { integer, natural } = require('../arguments')
const { encodingOption } = require('../encodings')
const { reportError, advise, endInterruptedLine } = require('../errors')
const { openToRead, close } = require('../open')
const { Output } = require('../output')
const { printer, refuseRawSeqs } = require('../printer')

/**
 * @typedef {import('../printer').PrintOptions & {
 *   gt?: number, gte?: number, lt?: number, lte?: number,
 *   limit?: number, reverse?: boolean, live?: boolean, skipCorrupt?: boolean
 * }} DumpOptions
 */

const EXAMPLES = `
Examples:
  flumelog dump my.log | jq .timestamp
  flumelog dump my.log --seqs --reverse --limit 10   the last ten, newest first
  flumelog dump my.log --gte 1048576 | less          starting at an offset
  flumelog dump my.log --live | grep error           and new records as well

A bound may be any integer, whether or not a record starts there. A record
that contains newlines takes several lines, except in hex and base64. With
raw, there is nothing between records.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('dump')
    .summary('print records, one per line')
    .description('Prints the records of a log, one per line, in the order of their offsets.')
    .argument('<file>', 'the log')
    .addOption(encodingOption('how to print records; json: pretty-printed, raw: without newlines'))
    .option('-s, --seqs', 'prefix each record with its offset and a tab')
    .option('--gt <offset>', 'only records after this offset', integer)
    .option('--gte <offset>', 'only records at or after this offset', integer)
    .option('--lt <offset>', 'only records before this offset', integer)
    .option('--lte <offset>', 'only records at or before this offset', integer)
    .option('-n, --limit <count>', 'print at most this many records', natural)
    .option('-r, --reverse', 'last record first')
    .option('-l, --live', 'at the end of the log, wait for new records; Ctrl-C to stop')
    .option('--skip-corrupt', 'skip corrupt blocks, and list them on stderr')
    .addHelpText('after', EXAMPLES)
    .action(dump)
}

/**
 * @param {string} file
 * @param {DumpOptions} options
 * @param {import('commander').Command} command
 */
async function dump (file, options, command) {
  refuseRawSeqs(options, command)
  const log = await openToRead(file)
  const output = new Output(process.stdout)
  try {
    if (options.limit !== 0) await printAll(log, file, options, output)
  } finally {
    await output.end()
    await close(log)
  }
}

/**
 * @param {import('../open').Log} log
 * @param {string} file
 * @param {DumpOptions} options
 * @param {Output} output
 * @returns {Promise<void>}
 */
function printAll (log, file, options, output) {
  const { gt, gte, lt, lte, limit, reverse, live } = options
  const print = printer(output, file, options)
  const source = log.stream({
    gt,
    gte,
    lt,
    lte,
    limit,
    reverse,
    live,
    cache: false,
    skipCorrupt: options.skipCorrupt,
    onSkip: ({ start, end, error }) => {
      reportError(`${error.message}; skipped ${start} to ${end}`)
      process.exitCode = 1
    }
  })

  return new Promise((resolve, reject) => {
    let reading = false
    /** Whether the source has answered the last call synchronously, with a record. */
    let hasAnswered = false

    if (live) process.once('SIGINT', interrupted)
    read()

    /** Reads until the source has to wait for a record, or the output is full. */
    function read () {
      reading = true
      do {
        if (output.isFull) {
          output.ondrain = read
          break
        }
        hasAnswered = false
        source(null, onrecord)
      } while (hasAnswered)
      reading = false
      if (live && !hasAnswered) output.flush()
    }

    function interrupted () {
      endInterruptedLine()
      source(true, () => resolve())
    }

    /**
     * @param {true | Error | null} end
     * @param {{ seq: number, value: Buffer }} record
     */
    function onrecord (end, record) {
      if (end === true) return resolve()
      if (end) return reject(advise(end, 'flumelog:corrupt', 'use --skip-corrupt to skip it, or flumelog verify to list all corrupt blocks'))
      try {
        print(record.value, record.seq)
      } catch (err) {
        source(true, () => {})
        return reject(err)
      }
      hasAnswered = true
      if (!reading) read()
    }
  })
}

module.exports = { define }
