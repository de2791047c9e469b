'use strict'

// flumelog append: appends lines of standard input as records.

const fs = require('fs')
const { Option } = require('commander')
const layout = require('../../lib/format/layout')
const { blockSize } = require('../arguments')
const { encodings, encodingOption } = require('../encodings')
const { UserError, reportError, endInterruptedLine, explain, writeStderr } = require('../errors')
const { Lines } = require('../lines')
const { counted, count, size } = require('../numbers')
const { openToWrite, close } = require('../open')
const { byteProgress, recordProgress } = require('../progress')

/** Bytes appended but not yet acknowledged; beyond this, reading standard input pauses. */
const MAX_IN_FLIGHT = 16 * 1024 * 1024
/** As a shell reports a program ended by this signal. @type {Record<string, number>} */
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

It stops at the first line that cannot be stored, and prints its number; the
lines before it are appended. Empty lines cannot be stored. With json, each
line must be JSON, and is stored without whitespace between tokens. Ctrl-C
stops it, too; all complete lines read until then are appended.`

/** @param {import('commander').Command} program */
function define (program) {
  program.command('append')
    .summary('append lines of standard input as records')
    .description('Appends each line of standard input as a record, without its newline. Creates the log if it does not exist.')
    .argument('<file>', 'the log')
    .addOption(encodingOption('how lines are encoded; raw: any bytes'))
    .option('--skip-empty', 'skip empty lines')
    .option('--block-size <bytes>', 'block size of a new log; default: 65536', blockSize)
    .addOption(new Option('--sync <when>', 'when to fsync').choices(['always', 'interval', 'never']).default('interval'))
    .option('--stats', 'print counters as JSON to stderr every second and at exit')
    .option('-q, --quiet', 'no summary, no progress')
    .addHelpText('after', EXAMPLES)
    .action(append)
}

/**
 * @param {string} file
 * @param {AppendOptions} options
 */
async function append (file, options) {
  if (isDirectory(0)) throw new UserError('standard input is a directory; give a file, or the output of a program')
  const { log, cut } = await openToWrite(file, { blockSize: options.blockSize, sync: options.sync, cacheSize: 0 })
  if (cut !== null) reportRecovery(file, cut)
  if (process.stdin.isTTY && !options.quiet) writeStderr('Each line becomes a record; Ctrl-D to finish.')

  const startedAt = Date.now()
  const progress = options.quiet || options.stats || process.stdin.isTTY ? null : progressOfInput()
  const printStats = () => writeStderr(JSON.stringify(log.stats()))
  const statsTimer = options.stats ? setInterval(printStats, 1000) : undefined
  const input = await appendLines(log, file, options, progress)
    .catch((err) => ({ failure: () => explain(err, file) }))
  const closeFailure = await close(log).catch(err => explain(err, file))
  progress?.stop()
  clearInterval(statsTimer)
  if (options.stats) printStats()

  const failure = input.failure() ?? closeFailure
  if (failure) {
    reportError(failure)
    process.exitCode = 1
  }
  if (!options.quiet) summarize(file, log.stats().written, (Date.now() - startedAt) / 1000)
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
  const { parse, maxLineSize } = encodings[encoding]
  const maxRecordSize = layout.maxRecordSize(log.blockSize, true)
  const lines = new Lines(maxLineSize(maxRecordSize))
  /** @type {string | null} */
  let failure = null
  let failedLine = Infinity
  let line = 0
  let read = 0
  let inFlight = 0
  /** @type {(() => void) | null} */
  let ondrain = null

  /** @type {Error | null} */
  let readError = null
  stdin.once('error', (err) => { readError = err })
  const stop = () => stdin.destroy()
  for (const signal of Object.keys(EXIT_CODES)) process.once(signal, () => interrupted(signal))

  try {
    for await (const chunk of stdin) {
      read += chunk.length
      store(lines.push(chunk))
      if (lines.isTooLong) fail(line + 1, `lines of more than ${count(lines.maxSize)} bytes cannot be stored`)
      if (failure !== null) break
      if (inFlight > MAX_IN_FLIGHT) await new Promise(resolve => { ondrain = () => resolve(undefined) })
      progress?.update(read, log.stats().written.records)
    }
    if (failure === null) store(lines.end())
  } catch (err) {
    if (err === readError) failure ??= `${explain(err, 'standard input')}; the ${counted(line, 'line')} before it were appended`
    // a signal or a failed write destroys stdin
    else if (/** @type {import('../errors').CodedError} */ (err).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw err
  }
  // a function: the last lines may still fail until the log is closed
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
    if (data.length === 0) throw new UserError('empty records cannot be stored (use --skip-empty)')
    if (data.length > maxRecordSize) throw new UserError(`a record of ${data.length} bytes is too large: with blocks of ${log.blockSize} bytes, the limit is ${maxRecordSize}`)
    if (!layout.isStorable(data)) throw new UserError('records of zeros cannot be stored: they would look deleted')
  }

  /**
   * @param {Buffer[]} records
   * @param {number} bytes
   * @param {number} first line number of the first record
   */
  function appendBatch (records, bytes, first) {
    inFlight += bytes
    log.append(records, (err) => {
      inFlight -= bytes
      if (err) fail(first, explain(err, file).replace(`${file}: `, ''))
      if (ondrain !== null && (inFlight <= MAX_IN_FLIGHT / 2 || failure !== null)) {
        ondrain()
        ondrain = null
      }
    })
  }

  /**
   * @param {number} number of the line
   * @param {string} reason
   */
  function fail (number, reason) {
    // a later line may fail before an earlier one does
    if (number >= failedLine) return
    failedLine = number
    failure = `${file}: stopped at line ${number}: ${reason}; the lines before it were appended`
    stop()
  }
}

/**
 * Progress in bytes if standard input is a file, whose size is known; else in records.
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
function isDirectory (fd) {
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
function reportRecovery (file, { offset, bytes, filename }) {
  writeStderr(`${file}: recovered: truncated ${counted(bytes, 'byte')} of a torn write at offset ${offset}` +
    (filename === null ? '' : `, kept in ${filename}`))
}

/**
 * @param {string} file
 * @param {{ records: number, bytes: number }} written
 * @param {number} seconds
 */
function summarize (file, { records, bytes }, seconds) {
  writeStderr(`${file}: appended ${counted(records, 'record')}, ${counted(bytes, 'byte')}` +
    `${bytes < 1000 ? '' : ` (${size(bytes)})`}, in ${seconds.toFixed(2)} seconds`)
}

module.exports = { define }
