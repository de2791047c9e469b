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
 * @typedef {object} AppendOptions
 * @property {string} encoding
 * @property {boolean} [skipEmpty]
 * @property {boolean} [large]
 */

/**
 * @param {import('./open').Log} log
 * @param {string} file
 * @param {AppendOptions} options
 * @param {import('./input').Input} input
 * @param {{ update: (bytes: number, records: number) => void } | null} progress
 * @returns {Promise<Appended>}
 */
async function appendLines (log, file, options, input, progress) {
  for (const signal of Object.keys(EXIT_CODES)) process.once(signal, () => interrupted(input, signal))
  const appender = new LineAppender(log, file, options, input)
  await appender.appendAll(progress)
  // failure is a function: the last lines may still fail until the log is closed
  return Object.assign(appender.appended, { failure: () => appender.failure })
}

/**
 * @param {import('./input').Input} input
 * @param {string} signal
 */
function interrupted (input, signal) {
  process.exitCode = EXIT_CODES[signal]
  if (signal === 'SIGINT') clearInterrupt()
  input.stop()
}

class LineAppender {
  /**
   * @param {import('./open').Log} log
   * @param {string} file
   * @param {AppendOptions} options
   * @param {import('./input').Input} input
   */
  constructor (log, file, { encoding, skipEmpty = false, large = false }, input) {
    this.log = log
    this.file = file
    this.input = input
    this.skipEmpty = skipEmpty
    this.encoding = encodings[encoding]
    const hasChunks = large && log.blockSize >= MIN_BLOCK_SIZE
    this.maxRecordSize = hasChunks ? MAX_LENGTH : layout.maxRecordSize(log.blockSize, true)
    this.tooLarge = `records of more than ${count(this.maxRecordSize)} bytes cannot be stored in blocks of ${count(log.blockSize)} bytes` +
      (large ? '' : '; with --large, they are stored in chunks')
    this.lines = new Lines(this.encoding.maxLineSize(this.maxRecordSize))
    this.lineTooLong = encoding === 'json' ? `lines of more than ${count(this.lines.maxSize)} bytes cannot be stored` : this.tooLarge
    this.appended = { records: 0, bytes: 0 }
    /** @type {string | null} */
    this.failure = null
    /** Number of the line that failed. */
    this.failedLine = Infinity
    /** Number of the last line. */
    this.line = 0
    this.inFlight = 0
    /** @type {(() => void) | null} */
    this.ondrain = null
  }

  /** @param {{ update: (bytes: number, records: number) => void } | null} progress */
  async appendAll (progress) {
    const { input, lines, encoding } = this
    let read = 0
    for await (const chunk of input.chunks()) {
      read += chunk.length
      this.store(lines.push(chunk), encoding.storesAsIs(linesWithin(chunk)))
      if (lines.isTooLong) this.fail(this.line + 1, this.lineTooLong)
      if (this.failure !== null) break
      if (this.inFlight > MAX_IN_FLIGHT) await new Promise(resolve => { this.ondrain = () => resolve(undefined) })
      progress?.update(read, this.appended.records)
    }
    if (input.error !== null) this.failure ??= `${explain(input.error, 'standard input')}; ${counted(this.line, 'line was', 'lines were')} appended before that`
    else if (this.failure === null && lines.partialSize > 0) {
      await input.settled()
      if (!input.isStopped) this.store(lines.end(), false)
    }
  }

  /**
   * @param {Buffer[]} lines
   * @param {boolean} asTheyAre whether all but the first are records as they are
   */
  store (lines, asTheyAre) {
    const { parse, takesReturn } = this.encoding
    const records = []
    const first = this.line + 1
    let bytes = 0
    for (let i = 0; i < lines.length; i++) {
      let data = lines[i]
      this.line++
      if (this.skipEmpty && (data.length === 0 || (data.length === 1 && data[0] === RETURN && !takesReturn))) continue
      try {
        if (!asTheyAre || i === 0) data = parse(data)
        this.assertStorable(data)
      } catch (err) {
        this.fail(this.line, /** @type {Error} */ (err).message)
        break
      }
      records.push(data)
      bytes += data.length
    }
    if (records.length > 0) this.appendBatch(records, bytes, first)
  }

  /** @param {Buffer} data */
  assertStorable (data) {
    if (data.length === 0) throw new UserError('empty records cannot be stored (use --skip-empty)')
    if (data.length > this.maxRecordSize) throw new UserError(this.tooLarge)
    if (!layout.isStorable(data)) throw new UserError('records of zeros cannot be stored: they would look deleted')
  }

  /**
   * @param {Buffer[]} records
   * @param {number} bytes
   * @param {number} first line number of the first record
   */
  appendBatch (records, bytes, first) {
    this.inFlight += bytes
    this.log.append(records, (err) => {
      this.inFlight -= bytes
      if (err) this.failBatch(first, err)
      else {
        this.appended.records += records.length
        this.appended.bytes += bytes
      }
      if (this.ondrain !== null && (this.inFlight <= MAX_IN_FLIGHT / 2 || this.failure !== null)) {
        this.ondrain()
        this.ondrain = null
      }
    })
  }

  /**
   * @param {number} first line number of the first record
   * @param {Error} err
   */
  failBatch (first, err) {
    // the owner may have stored them anyway
    if (codeOf(err) === 'flumelog:unreachable') this.fail(first, 'the process that owns the log does not answer, so it is unknown whether this line, and those after it, were appended')
    else this.stop(first, `stopped: ${explain(err, this.file).replace(`${this.file}: `, '')}; lines from ${first} on were not appended`)
  }

  /**
   * @param {number} number of the line
   * @param {string} reason
   */
  fail (number, reason) {
    this.stop(number, `stopped at line ${number}: ${reason}${number === 1 ? '' : '; the lines before it were appended'}`)
  }

  /**
   * @param {number} number of the line
   * @param {string} message
   */
  stop (number, message) {
    // a later line may fail before an earlier one does
    if (number >= this.failedLine) return
    this.failedLine = number
    this.failure = `${this.file}: ${message}`
    this.input.stop()
  }
}

module.exports = { appendLines }
