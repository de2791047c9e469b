'use strict'

// Makes a copy equal to its stream, up to where it is: finds out what a crash has left after the last line of the index, and deletes records
// whose messages were deleted.

const { callbacks: { promised } } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')
const { WINDOW } = require('./copy-index')
const { matchCopy } = require('./match-copy')
const { deletedBetween, deletionsOf } = require('./source-stream')

/** Milliseconds after which both are compared if the stream always has more than the copy. */
const BUSY_INTERVAL = 60_000

/**
 * @typedef {import('./copy-index').Window} Window
 * @typedef {import('./source-stream').StreamState} StreamState
 */

class CopyUpdate {
  /**
   * @param {import('./source-stream').SourceStream} source
   * @param {InstanceType<typeof import('flumelog-random-access-file/blocks').CopiedLog>} log
   * @param {import('flumelog-random-access-file').Log<any>} copy its members
   * @param {import('./copy-index').CopyIndex} index
   */
  constructor (source, log, copy, index) {
    this.source = source
    this.log = log
    this.copy = copy
    this.index = index
    /** Records that were deleted. */
    this.deleted = 0
    /** What was deleted in the stream when the two were compared last, and when that was. */
    this.compared = { deletions: '', at: 0 }
    this.reconnects = 0
  }

  /**
   * Compares what was appended after the last line of the index: a crash has left it there, or it is a backup, which has no index.
   * @param {StreamState} state
   * @param {boolean} isBackup whether there was no index, so that it may as well be another log
   * @returns {Promise<void>} rejects, with nothing changed, if these are other records
   */
  async compareTail (state, isBackup) {
    const { last_seq: last } = state
    const { source, index, log, log: { id } } = this
    const { seq: from, offset: start } = index.end
    const end = log.end
    if (start > end) throw errors.cannotCopy(log.filename, `it ends at offset ${end}, but ${index.filename} says that records up to ${start} were pulled; remove both to start again`)
    const { records, parts } = await this.partsBetween(start, end)
    if (records === 0) return
    if (index.isClosed) throw errors.cannotCopy(log.filename, `it has records from offset ${start} on that were not pulled`)
    if (from + records > last) throw errors.notSource(log.filename, `${source.label} ends at message ${last}, and the copy has more`)
    const found = await this.matchParts(parts, from, last).catch((err) => { if (log.id === id) throw err })
    // it was compacted meanwhile: all of this is elsewhere
    if (found === undefined || log.id !== id) return this.compareTail(state, isBackup)
    if (isBackup && index.windows.length === 0 && found.every(({ matched }) => matched.records === 0)) throw errors.cannotCopy(log.filename, `it has records, but no ${index.filename}, and none of them is in ${source.label}; pull to another file`)
    for (const { part, matched } of found) {
      if (log.id !== id) return this.compareTail(state, isBackup)
      if (matched.records > 0) index.add(matched.seq, part.end, matched.records)
      await this.delete(matched, part)
    }
  }

  /**
   * @param {number} start offset
   * @param {number} end offset
   * @returns {Promise<{ records: number, parts: { start: number, end: number }[] }>} of the copy, each with as many records as a window of the index
   */
  async partsBetween (start, end) {
    const starts = [start]
    let records = 0
    await promised(cb => this.copy.scan({ gte: start, lt: end, cache: false }, (block, from, to, seq) => {
      if (records > 0 && records % WINDOW === 0) starts.push(seq)
      records++
    }, cb))
    return { records, parts: starts.map((start, i) => ({ start, end: starts[i + 1] ?? end })) }
  }

  /**
   * @param {{ start: number, end: number }[]} parts of the copy, in order
   * @param {number} from the messages of the first one are after this sequence
   * @param {number} last sequence
   * @returns {Promise<{ part: { start: number, end: number }, matched: import('./match-copy').Matched }[]>}
   */
  async matchParts (parts, from, last) {
    const { source, log, copy } = this
    const found = []
    for (let seq = from, i = 0; i < parts.length; i++) {
      const matched = await matchCopy(source, copy, { from: seq, seq: last, ...parts[i] })
      found.push({ part: parts[i], matched })
      seq = matched.seq
    }
    // each record without a message needs a sequence that is deleted, and none of a message that is there may be left out
    const state = await source.stateWithDeleted()
    let gone = 0
    for (const { part, matched } of found) {
      gone += matched.gone.length
      // all up to here: a record whose message is deleted may equal a later message, and the record of that is taken for the one without
      const deleted = deletedBetween(state, from, matched.missing === null ? last : matched.missing - 1)
      if (gone > deleted) throw errors.cannotCopy(log.filename, `it has ${matched.gone.length} records from offset ${matched.gone[0] ?? part.start} on that are not in ${source.label}`)
    }
    return found
  }

  /** Compares the records that are recorded last: a stream of the same name could have other messages there. */
  async compareEnd () {
    const window = this.index.windows.at(-1)
    if (window !== undefined) await this.compareWindow(window)
    this.reconnects = this.source.connection.reconnects
  }

  /**
   * @param {StreamState} state
   * @returns {boolean} whether the copy has as many records as the stream; if it does not have all yet, whether nothing was deleted since
   *   they were compared
   */
  isEqual (state) {
    const { index, compared } = this
    if (state.last_seq === index.end.seq) return index.windows.reduce((sum, { records }) => sum + records, 0) === state.messages
    return deletionsOf(state) === compared.deletions && performance.now() - compared.at < BUSY_INTERVAL
  }

  /**
   * @param {StreamState} now of the stream
   * @returns {Promise<boolean>} false: something is left to do
   */
  async carryDeletions (now) {
    const { source, index } = this
    if (source.connection.reconnects !== this.reconnects) await this.compareEnd()
    if (this.isEqual(now)) return true
    const state = await source.stateWithDeleted()
    await this.trim(state)
    let isDone = true
    for (const window of [...index.windows]) {
      const there = window.seq - window.from - deletedBetween(state, window.from, window.seq)
      // a server that lags behind may still have what was deleted
      if (window.records !== there) isDone = await this.compareWindow(window, there) && isDone
      if (source.connection.failure !== null) throw source.connection.failure
    }
    if (isDone) this.compared = { deletions: deletionsOf(state), at: performance.now() }
    return isDone
  }

  /**
   * Only what was purged in the stream may be trimmed.
   * @param {StreamState} state
   */
  mustBeWhole (state) {
    const { index, log, copy } = this
    const { offset } = index.windows[this.purged(state) - 1] ?? index.start
    if (copy.start > offset) throw errors.cannotCopy(log.filename, `it was trimmed up to offset ${copy.start}, and the stream was not; pull to another file`)
  }

  /**
   * @param {StreamState} state
   * @returns {number} of windows whose messages were purged, perhaps by a limit of the stream
   */
  purged ({ first_seq: first }) {
    const { windows } = this.index
    let count = 0
    while (count < windows.length && windows[count].seq < first) count++
    return count
  }

  /** @param {StreamState} state */
  async trim (state) {
    const { index, copy } = this
    const count = this.purged(state)
    if (count === 0) return
    const last = index.windows[count - 1]
    for (const { records } of index.windows.slice(0, count)) this.deleted += records
    await promised(cb => copy.trim({ lt: last.offset }, cb))
    // the block in which the next window starts, wherever that is after a compaction
    if (copy.start < last.offset) await promised(cb => copy.del({ gte: copy.start, lt: last.offset }, cb))
    index.drop(count)
  }

  /**
   * @param {Window} window
   * @param {number} [expected] records in the stream
   * @returns {Promise<boolean>} whether its records in the copy are now those in the stream
   */
  async compareWindow (window, expected) {
    const { source, index, log, log: { id }, copy } = this
    const { from, seq, offset: end } = window
    const at = index.windows.indexOf(window)
    const start = Math.max(copy.start, at === 0 ? index.start.offset : index.windows[at - 1].offset)
    const isMoved = () => log.id !== id
    /** @type {import('./match-copy').Matched} */
    let matched
    try {
      matched = expected === 0 ? { records: 0, seq: from, gone: new Array(window.records), missing: null } : await matchCopy(source, copy, { from, seq, start, end })
    } catch (err) {
      if (isMoved()) return false
      throw err
    }
    // the log was compacted meanwhile
    if (isMoved()) return false
    if (matched.missing !== null) throw errors.cannotCopy(log.filename, `it has no record for message ${matched.missing} of ${source.label}; either it was deleted here only, or this is another stream`)
    if (matched.records < window.records) {
      await this.delete(matched, { start, end })
      index.change(window, { records: matched.records })
    }
    return expected === undefined || matched.records === expected
  }

  /**
   * @param {import('./match-copy').Matched} matched
   * @param {{ start: number, end: number }} part of the log that was compared
   */
  async delete ({ records, gone }, { start, end }) {
    const { copy } = this
    this.deleted += gone.length
    if (records === 0) await promised(cb => copy.del({ gte: start, lt: end }, cb))
    else if (gone.length > 0) await promised(cb => copy.del(gone, cb))
  }
}

module.exports = { CopyUpdate }
