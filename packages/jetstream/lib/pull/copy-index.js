'use strict'

// Which records of a stream are where in a copy of it: windows, each with the sequence and the offset at which it ends, and the number of its
// records that are not deleted. They are in the file FILE.pull, in lines with checksums, as those of FILE.meta, which are appended:
//
//     { stream, created, id }          the first: which stream is copied, and the log's id; and `envelope: true` if records have the envelope
//     { from, seq, offset, records }   a window: the records after `from`, up to `seq`. It replaces those before it that are in there
//     { start: { seq, offset } }       windows up to this sequence were trimmed
//     { closed: true }                 nothing was appended to the copy after what is known here
//
// Records are durable before a line says that they are there. So a crash may leave more of them than the last line says, never fewer.

const fs = require('fs')
const { files, lines: { formatLine, parseLine } } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

const SUFFIX = '.pull'
/** Records up to which batches share a window. */
const WINDOW = 1024
/** Lines beyond twice as many as needed, until the file is written anew. */
const SPARE_LINES = 4096

/**
 * @typedef {{ id: string, up: (offset: number) => number }} CopyMap where offsets are since a compaction
 *
 * @typedef {object} Window
 * @property {number} from the records after this sequence
 * @property {number} seq the last sequence
 * @property {number} offset where it ends in the log
 * @property {number} records in the log, not deleted
 */

class CopyIndex {
  /**
   * @param {string} log its path
   * @param {() => fs.Stats} logStatus of the log, whose mode and owner the file gets
   */
  constructor (log, logStatus) {
    this.filename = log + SUFFIX
    this.logStatus = logStatus
    this.stream = ''
    /** When the stream was created. */
    this.created = ''
    /** The log's. */
    this.id = ''
    this.envelope = false
    /** What was trimmed ends here. */
    this.start = { seq: 0, offset: 0 }
    /** @type {Window[]} */
    this.windows = []
    this.isClosed = false
    this.lines = 0
    /** To be appended to the file. */
    this.pending = ''
    /** Whether the file is to be replaced. */
    this.isOutdated = false
  }

  /** Where the copy ends, as far as is known here. */
  get end () {
    return this.windows.at(-1) ?? this.start
  }

  /** @returns {Promise<boolean>} false: there is no such file */
  async open () {
    const text = await fs.promises.readFile(this.filename, 'latin1').catch((err) => { if (err.code !== 'ENOENT') throw err })
    if (text === undefined) return false
    const lines = text.split('\n')
    for (const line of lines.slice(0, -1)) {
      const json = parseLine(line)
      // the write of a line was interrupted
      if (json === null) break
      this.take(JSON.parse(json))
      this.lines++
    }
    if (this.lines === 0) throw errors.corruptCopyIndex(this.filename)
    return true
  }

  /** @param {any} line */
  take (line) {
    const { windows } = this
    this.isClosed = line.closed === true
    if (line.stream !== undefined) Object.assign(this, line)
    else if (line.start !== undefined) this.start = line.start
    else if (line.seq !== undefined) {
      const { from, seq } = line
      const first = from >= (windows.at(-1)?.from ?? 0) ? windows.length - 1 : windows.findIndex(window => window.from >= from)
      const at = first === -1 || windows[first].from < from ? first + 1 : first
      let to = at
      while (to < windows.length && windows[to].seq <= seq) to++
      windows.splice(at, to - at, line)
    }
    while (windows.length > 0 && windows[0].seq <= this.start.seq) windows.shift()
  }

  /**
   * Starts a copy.
   * @param {{ stream: string, created: string, id: string, envelope: boolean }} what
   * @param {number} offset at which it starts
   */
  create (what, offset) {
    Object.assign(this, what)
    this.start.offset = offset
  }

  /**
   * Notes records that were appended.
   * @param {number} seq of the last one in the stream
   * @param {number} offset after it in the log
   * @param {number} records
   */
  add (seq, offset, records) {
    const last = this.windows.at(-1)
    if (last !== undefined && last.records + records <= WINDOW) this.change(last, { seq, offset, records: last.records + records })
    else {
      const window = { from: this.end.seq, seq, offset, records }
      this.windows.push(window)
      this.append(window)
    }
  }

  /** @param {Window} window @param {Partial<Window>} what */
  change (window, what) {
    this.append(Object.assign(window, what))
  }

  /** @param {number} count of windows at the start, which were trimmed */
  drop (count) {
    const { seq, offset } = this.windows[count - 1]
    this.windows.splice(0, count)
    this.start = { seq, offset }
    this.append({ start: this.start })
  }

  /**
   * The log was compacted.
   * @param {CopyMap} map
   */
  move (map) {
    for (const place of [this.start, ...this.windows]) place.offset = map.up(place.offset)
    this.id = map.id
    this.isOutdated = true
  }

  /** @param {object} line */
  append (line) {
    this.isClosed = false
    this.pending += lineOf(line)
    this.lines++
  }

  /**
   * Records may be appended to the copy that are not known here. What the file says may not be durable, since an fsync of an earlier process has
   * failed, or it was killed before it had fsynced the directory: so it is replaced.
   */
  async reopen () {
    this.isClosed = false
    await this.replace()
  }

  get isChanged () {
    return this.isOutdated || this.pending !== ''
  }

  /** Nothing will be appended to the copy. */
  close () {
    this.append({ closed: true })
    this.isClosed = true
  }

  /** Makes durable what has changed. */
  async write () {
    if (this.isOutdated || this.lines > 2 * this.windows.length + SPARE_LINES) return this.replace()
    const { pending } = this
    this.pending = ''
    const file = await fs.promises.open(this.filename, 'a', 0o600)
    try {
      await file.writeFile(pending)
      await file.datasync()
    } catch (err) {
      // a part of a line may be there
      this.isOutdated = true
      throw err
    } finally {
      await file.close()
    }
  }

  async replace () {
    const { stream, created, id, envelope, start, windows, isClosed } = this
    const lines = [{ stream, created, id, ...envelope && { envelope } }, { start }, ...windows, ...isClosed ? [{ closed: true }] : []]
    this.pending = ''
    this.isOutdated = false
    this.lines = lines.length
    try {
      await files.replaceFile(this.filename, this.logStatus(), Buffer.from(lines.map(lineOf).join('')))
    } catch (err) {
      this.isOutdated = true
      throw err
    }
  }
}

/** @param {object} line */
function lineOf (line) {
  return formatLine(JSON.stringify(line))
}

module.exports = { CopyIndex, WINDOW }
