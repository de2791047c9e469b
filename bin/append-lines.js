'use strict'

// Appends the lines of standard input, as many at a time as one read has, and notes the
// first one that cannot be stored.

const { MAX_LENGTH, MIN_BLOCK_SIZE } = require('../lib/format/chunk')
const layout = require('../lib/format/layout')
const { encodings } = require('./encodings')
const { UserError, codeOf, explain } = require('./errors')
const { Lines, linesWithin } = require('./lines')
const { counted, count } = require('./numbers')
const { clearInterrupt } = require('./progress')

/** Bytes appended but not yet acknowledged; beyond this, reading standard input pauses. */
const MAX_IN_FLIGHT = 16 * 1024 * 1024
const RETURN = 0x0d
/** As a shell reports a program ended by this signal. @type {Record<string, number>} */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 }

/**
 * @typedef {object} Appended grows until the log is closed
 * @property {number} records of this process; the owner of a shared log counts those of others, too
 * @property {number} bytes
 * @property {() => string | null} failure
 */

/**
 * @param {import('./open').Log} log
 * @param {string} file
 * @param {{ encoding: string, skipEmpty?: boolean, large?: boolean }} options
 * @param {import('./input').Input} input
 * @param {{ update: (bytes: number, records: number) => void } | null} progress
 * @returns {Promise<Appended>}
 */
async function appendLines (log, file, { encoding, skipEmpty, large }, input, progress) {
  const { parse, takesReturn, storesAsIs, maxLineSize } = encodings[encoding]
  const hasChunks = large && log.blockSize >= MIN_BLOCK_SIZE
  const maxRecordSize = hasChunks ? MAX_LENGTH : layout.maxRecordSize(log.blockSize, true)
  const tooLarge = `records of more than ${count(maxRecordSize)} bytes cannot be stored in blocks of ${count(log.blockSize)} bytes` +
    (large ? '' : '; with --large, they are stored in chunks')
  const lines = new Lines(maxLineSize(maxRecordSize))
  /** @type {string | null} */
  let failure = null
  let failedLine = Infinity
  let line = 0
  let read = 0
  // failure is a function: the last lines may still fail until the log is closed
  const appended = { records: 0, bytes: 0, failure: () => failure }
  let inFlight = 0
  /** @type {(() => void) | null} */
  let ondrain = null

  for (const signal of Object.keys(EXIT_CODES)) process.once(signal, () => interrupted(signal))

  for await (const chunk of input.chunks()) {
    read += chunk.length
    store(lines.push(chunk), storesAsIs(linesWithin(chunk)))
    if (lines.isTooLong) fail(line + 1, encoding === 'json' ? `lines of more than ${count(lines.maxSize)} bytes cannot be stored` : tooLarge)
    if (failure !== null) break
    if (inFlight > MAX_IN_FLIGHT) await new Promise(resolve => { ondrain = () => resolve(undefined) })
    progress?.update(read, appended.records)
  }
  if (input.error !== null) failure ??= `${explain(input.error, 'standard input')}; ${counted(line, 'line was', 'lines were')} appended before that`
  else if (failure === null && lines.partialSize > 0) {
    await input.settled()
    if (!input.isStopped) store(lines.end(), false)
  }
  return appended

  /** @param {string} signal */
  function interrupted (signal) {
    process.exitCode = EXIT_CODES[signal]
    if (signal === 'SIGINT') clearInterrupt()
    input.stop()
  }

  /**
   * @param {Buffer[]} lines
   * @param {boolean} asTheyAre whether all but the first are records as they are
   */
  function store (lines, asTheyAre) {
    const records = []
    const first = line + 1
    let bytes = 0
    for (let i = 0; i < lines.length; i++) {
      let data = lines[i]
      line++
      if (skipEmpty && (data.length === 0 || (data.length === 1 && data[0] === RETURN && !takesReturn))) continue
      try {
        if (!asTheyAre || i === 0) data = parse(data)
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
    if (data.length > maxRecordSize) throw new UserError(tooLarge)
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
      if (err) failBatch(first, err)
      else {
        appended.records += records.length
        appended.bytes += bytes
      }
      if (ondrain !== null && (inFlight <= MAX_IN_FLIGHT / 2 || failure !== null)) {
        ondrain()
        ondrain = null
      }
    })
  }

  /**
   * @param {number} first line number of the first record
   * @param {Error} err
   */
  function failBatch (first, err) {
    // the owner may have stored them anyway
    if (codeOf(err) === 'flumelog:unreachable') fail(first, 'the process that owns the log does not answer, so it is unknown whether this line, and those after it, were appended')
    else stop(first, `stopped: ${explain(err, file).replace(`${file}: `, '')}; lines from ${first} on were not appended`)
  }

  /**
   * @param {number} number of the line
   * @param {string} reason
   */
  function fail (number, reason) {
    stop(number, `stopped at line ${number}: ${reason}${number === 1 ? '' : '; the lines before it were appended'}`)
  }

  /**
   * @param {number} number of the line
   * @param {string} message
   */
  function stop (number, message) {
    // a later line may fail before an earlier one does
    if (number >= failedLine) return
    failedLine = number
    failure = `${file}: ${message}`
    input.stop()
  }
}

module.exports = { appendLines }
