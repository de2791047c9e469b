'use strict'

// flumelog dump: the records of a log, on standard output.

const { integer, natural } = require('../arguments')
const { encodingOption } = require('../encodings')
const { complain, advise, endInterruptedLine } = require('../errors')
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
  flumelog dump my.log --gte 1048576 | less          from the middle of it on
  flumelog dump my.log --live | grep error           and what comes from now on

A bound may be any integer, whether a record starts there or not. A record
that has newlines in it takes several lines, except in hex and base64. With
raw, nothing is put between records.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('dump')
    .summary('print records, a line each')
    .description('Prints the records of a log, a line each, in the order of their offsets.')
    .argument('<file>', 'the log')
    .addOption(encodingOption('how records are printed; json is pretty, raw has no newlines'))
    .option('-s, --seqs', 'put the offset of each record and a tab in front of it')
    .option('--gt <offset>', 'only records after this offset', integer)
    .option('--gte <offset>', 'only records at or after this offset', integer)
    .option('--lt <offset>', 'only records before this offset', integer)
    .option('--lte <offset>', 'only records at or before this offset', integer)
    .option('-n, --limit <count>', 'at most so many records', natural)
    .option('-r, --reverse', 'last record first')
    .option('-l, --live', 'at the end of the log, wait for more; Ctrl-C ends it')
    .option('--skip-corrupt', 'go on behind damaged blocks, and name them on stderr')
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
      complain(`${error.message}; left out ${start} to ${end}`)
      process.exitCode = 1
    }
  })

  return new Promise((resolve, reject) => {
    let reading = false
    /** The last call of the source has been answered, and not with its end. */
    let goesOn = false

    if (live) process.once('SIGINT', interrupted)
    read()

    /** Takes records until one is not at hand, or the reader of ours is behind. */
    function read () {
      reading = true
      do {
        if (output.isFull) {
          output.onroom = read
          break
        }
        goesOn = false
        source(null, onrecord)
      } while (goesOn)
      reading = false
      if (live && !goesOn) output.flush()
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
      if (end) return reject(advise(end, 'flumelog:corrupt', '--skip-corrupt goes on behind it, flumelog verify lists all damage'))
      try {
        print(record.value, record.seq)
      } catch (err) {
        source(true, () => {})
        return reject(err)
      }
      goesOn = true
      if (!reading) read()
    }
  })
}

module.exports = { define }
