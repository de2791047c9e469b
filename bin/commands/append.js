'use strict'

// flumelog append: the lines of standard input become records.

const fs = require('fs')
const { Option } = require('commander')
const layout = require('../../lib/format/layout')
const { blockSize } = require('../arguments')
const { encodings, encodingOption } = require('../encodings')
const { UserError, complain, endInterruptedLine, explain, say } = require('../errors')
const { Lines } = require('../lines')
const { counted, count, size } = require('../numbers')
const { openToWrite, close } = require('../open')
const { byteProgress, recordProgress } = require('../progress')

/** Bytes appended and not yet acknowledged, past which standard input has to wait. */
const MAX_IN_FLIGHT = 16 * 1024 * 1024
/** What a shell says of a program that this signal ended. @type {Record<string, number>} */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 }

/**
 * @typedef {object} AppendOptions
 * @property {string} encoding
 * @property {boolean} [skipEmpty]
 * @property {number} [blockSize]
 * @property {'always' | 'interval' | 'never'} sync
 * @property {boolean} [stats]
 * @property {boolean} [quiet]
 */

const EXAMPLES = `
Examples:
  jq -c '.[]' posts.json | flumelog append my.log
  flumelog append my.log < lines.txt
  flumelog dump old.log -e base64 | flumelog append new.log -e base64

A line that cannot be stored ends it, with the line's number; all lines before
it are kept. An empty line cannot be stored. With json, a line must be JSON,
and is stored without the blanks between its parts. Ctrl-C ends it too, and
keeps what was read.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('append')
    .summary('store lines of standard input as records')
    .description('Appends each line of standard input as a record, without its newline. Begins the log if it is not there.')
    .argument('<file>', 'the log')
    .addOption(encodingOption('what lines are; raw: any bytes'))
    .option('--skip-empty', 'pass over empty lines')
    .option('--block-size <bytes>', 'for a new log; default: 65536', blockSize)
    .addOption(new Option('--sync <when>', 'when data is forced to the disk').choices(['always', 'interval', 'never']).default('interval'))
    .option('--stats', 'each second, and at the end, what the log counts, as a line of JSON on stderr')
    .option('-q, --quiet', 'no summary, no progress')
    .addHelpText('after', EXAMPLES)
    .action(append)
}

/**
 * @param {string} file
 * @param {AppendOptions} options
 */
async function append (file, options) {
  if (isFolder(0)) throw new UserError('standard input is a folder; give a file, or the output of a program')
  const { log, cut } = await openToWrite(file, { blockSize: options.blockSize, sync: options.sync, cacheSize: 0 })
  if (cut !== null) tellOfCut(file, cut)
  if (process.stdin.isTTY && !options.quiet) say('Each line becomes a record; Ctrl-D ends.')

  const begun = Date.now()
  const progress = options.quiet || options.stats || process.stdin.isTTY ? null : progressOfInput()
  const sayStats = () => say(JSON.stringify(log.stats()))
  const eachSecond = options.stats ? setInterval(sayStats, 1000) : undefined
  const input = await appendLines(log, file, options, progress)
    .catch((err) => ({ failure: () => explain(err, file) }))
  const notClosed = await close(log).catch(err => explain(err, file))
  progress?.stop()
  clearInterval(eachSecond)
  if (options.stats) sayStats()

  const failure = input.failure() ?? notClosed
  if (failure) {
    complain(failure)
    process.exitCode = 1
  }
  if (!options.quiet) summarize(file, log.stats().written, (Date.now() - begun) / 1000)
}

/**
 * @param {import('../open').Log} log
 * @param {string} file
 * @param {AppendOptions} options
 * @param {ReturnType<progressOfInput> | null} progress
 * @returns {Promise<{ failure: () => string | null }>}
 */
async function appendLines (log, file, { encoding, skipEmpty }, progress) {
  const { stdin } = process
  const { parse, longest } = encodings[encoding]
  const most = layout.maxRecordSize(log.blockSize, true)
  const lines = new Lines(longest(most))
  /** @type {string | null} */
  let failure = null
  let failedLine = Infinity
  let line = 0
  let read = 0
  let inFlight = 0
  /** @type {(() => void) | null} */
  let onroom = null

  /** @type {Error | null} */
  let unreadable = null
  stdin.once('error', (err) => { unreadable = err })
  const stop = () => stdin.destroy()
  for (const signal of Object.keys(EXIT_CODES)) process.once(signal, () => interrupted(signal))

  try {
    for await (const chunk of stdin) {
      read += chunk.length
      store(lines.push(chunk))
      if (lines.isTooLong) fail(line + 1, `it is longer than ${count(lines.longest)} bytes, so it cannot be stored`)
      if (failure !== null) break
      if (inFlight > MAX_IN_FLIGHT) await new Promise(resolve => { onroom = () => resolve(undefined) })
      progress?.update(read, log.stats().written.records)
    }
    if (failure === null) store(lines.end())
  } catch (err) {
    if (err === unreadable) failure ??= `${explain(err, 'standard input')}; the ${counted(line, 'line')} before are stored`
    // a signal, or a failed write, ends the reading
    else if (/** @type {import('../errors').CodedError} */ (err).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw err
  }
  // only when the log is closed is it known of the last lines too
  return { failure: () => failure }

  /** @param {string} signal */
  function interrupted (signal) {
    process.exitCode = EXIT_CODES[signal]
    endInterruptedLine()
    stop()
  }

  /** @param {Buffer[]} lines */
  function store (lines) {
    const records = []
    const first = line + 1
    let bytes = 0
    for (const text of lines) {
      line++
      if (skipEmpty && text.length === 0) continue
      let data
      try {
        data = parse(text)
        mustBeStorable(data)
      } catch (err) {
        fail(line, /** @type {Error} */ (err).message)
        break
      }
      records.push(data)
      bytes += data.length
    }
    if (records.length > 0) appendBatch(records, bytes, first)
  }

  /** @param {Buffer} data */
  function mustBeStorable (data) {
    if (data.length === 0) throw new UserError('it is empty, and an empty record cannot be stored; --skip-empty passes over such lines')
    if (data.length > most) throw new UserError(`a record of ${data.length} bytes does not fit: with blocks of ${log.blockSize} bytes, ${most} is the most`)
    if (!layout.isStorable(data)) throw new UserError('a record of zeros only cannot be stored: it could not be told from a deleted one')
  }

  /**
   * @param {Buffer[]} records
   * @param {number} bytes
   * @param {number} first the line of the first of them
   */
  function appendBatch (records, bytes, first) {
    inFlight += bytes
    log.append(records, (err) => {
      inFlight -= bytes
      if (err) fail(first, explain(err, file).replace(`${file}: `, ''))
      if (onroom !== null && (inFlight <= MAX_IN_FLIGHT / 2 || failure !== null)) {
        onroom()
        onroom = null
      }
    })
  }

  /**
   * @param {number} at the line
   * @param {string} why
   */
  function fail (at, why) {
    // one that was read later may have been found out sooner
    if (at >= failedLine) return
    failedLine = at
    failure = `${file}: line ${at} was not stored, nor what follows: ${why}`
    stop()
  }
}

/**
 * Bytes, if standard input is a file, since then their number is known; else records.
 * @returns {{ update: (bytes: number, records: number) => void, stop: () => void }}
 */
function progressOfInput () {
  const total = sizeOfInput()
  const progress = total === null ? recordProgress('append') : byteProgress('append')
  return {
    update: (bytes, records) => total === null ? progress.update(records) : progress.update(bytes, total),
    stop: progress.stop
  }
}

/** @param {number} fd */
function isFolder (fd) {
  try {
    return fs.fstatSync(fd).isDirectory()
  } catch {
    return false
  }
}

/** @returns {number | null} */
function sizeOfInput () {
  try {
    const stat = fs.fstatSync(0)
    return stat.isFile() ? stat.size : null
  } catch {
    return null
  }
}

/**
 * @param {string} file
 * @param {import('../../lib/log').Cut} cut
 */
function tellOfCut (file, { offset, bytes, filename }) {
  say(`${file}: ${counted(bytes, 'byte')} at its end, from offset ${offset} on, were no whole record` +
    (filename === null ? '' : `; they are in ${filename} now`))
}

/**
 * @param {string} file
 * @param {{ records: number, bytes: number }} written
 * @param {number} seconds
 */
function summarize (file, { records, bytes }, seconds) {
  say(`${file}: appended ${counted(records, 'record')}, ${counted(bytes, 'byte')}` +
    `${bytes < 1000 ? '' : ` (${size(bytes)})`}, in ${seconds.toFixed(2)} seconds`)
}

module.exports = { define }
