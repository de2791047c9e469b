'use strict'

// Carries over what is deleted, trimmed, or dropped by a compaction. The stream has all records of the log up to the mirror's position that are
// not deleted, so if their numbers are equal, nothing is to be done.

const { deleteAll } = require('../write/deletion')
const { MirrorLock } = require('./mirror-identity')
const { match } = require('./mirror-match')
const { newRuns } = require('./mirror-source')

/** So many runs of deleted records are looked up one by one; if there are more, the whole stream is compared. */
const MAX_LOOK_UPS = 64
/** Messages that are deleted until progress is told. */
const AT_ONCE = 256
/** Milliseconds. */
const SETTLING = 500

/** @typedef {import('./mirror-source').Run} Run */

class MirrorDeletions {
  /**
   * @param {import('./mirror-source').MirrorSource} source
   * @param {import('./mirror-target').MirrorTarget} target
   * @param {() => void} ondeleted called after some were deleted
   */
  constructor (source, target, ondeleted) {
    this.source = source
    this.target = target
    this.ondeleted = ondeleted
    this.lock = new MirrorLock(source.log)
    /** Of the log when it was looked at last: they are carried over. @type {{ id: string, runs: Run[] } | null} */
    this.known = null
    /** What the log was then. */
    this.changes = ''
    /** Messages that were deleted. */
    this.deleted = 0
  }

  /** Whether the log may have changed since. */
  get isDue () {
    return this.changes !== this.source.log.changes
  }

  /**
   * @param {number} position seq of the last record that is mirrored
   * @param {string} id of the log with that position: in another one, all that was mirrored would be elsewhere, and seem to be gone
   * @param {boolean} [mustCompare] whether a record counts as missing only if it is not found: the server may have miscounted
   * @returns {Promise<'done' | 'again' | 'missing'>} again: the log or the stream has changed meanwhile; missing: the stream lacks a record
   */
  async carryOver (position, id, mustCompare = false) {
    const { source, target, target: { sender } } = this
    await source.log.refresh()
    const { changes } = source.log
    if (id !== source.id) return 'again'
    const survey = await source.survey(position)
    if (survey === null) return 'again'
    const { sequence, messages } = await target.tail()
    if (sequence !== sender.last) return 'again'
    const extra = messages - survey.live
    if (extra < 0 && !mustCompare) return 'missing'
    if (extra !== 0) {
      const outcome = await this.remove({ position, sequence, messages, id, extra, runs: survey.runs })
      if (outcome !== 'done') return outcome
    }
    if (id !== source.id) return 'again'
    this.known = { id, runs: survey.runs }
    this.changes = changes
    return 'done'
  }

  /**
   * Deletes what was deleted since the log was looked at last, without reading all of it: in blocks of which that is known.
   * @param {number} position seq of the last record that is mirrored
   * @param {string} id of the log with that position
   */
  async carryOverNew (position, id) {
    const { source, target: { sender } } = this
    if (id !== source.id) return
    const runs = await source.runsSince(position)
    if (runs.length > 0 && id === source.id) await this.lock.whileHeld(() => this.removeNew(runs, sender.last, id))
  }

  /**
   * One mirror at a time: of equal records, another one that has seen another log might leave another one, and a server that purges
   * while it deletes for somebody else may miscount its messages.
   * @param {{ position: number, sequence: number, messages: number, id: string, extra: number, runs: Run[] }} found extra: how many messages more there are than records
   * @returns {Promise<'done' | 'again' | 'missing'>}
   */
  async remove ({ position, sequence, messages, id, extra, runs }) {
    return await this.lock.whileHeld(async (isAnother) => {
      // the server may still be deleting what one that was killed has asked for
      if (isAnother) await settle()
      if (extra > 0 && await this.removeNew(runs, sequence, id) >= extra) return 'done'
      return this.compare(position, sequence, messages, id)
    }) ?? 'again'
  }

  /**
   * @param {Run[]} runs of deleted records
   * @param {number} last sequence
   * @param {string} id of the log with these runs
   * @returns {Promise<number>} number of messages of those deleted since the log was looked at last that are not there any more
   */
  async removeNew (runs, last, id) {
    const { known } = this
    if (known === null || known.id !== id) return 0
    const found = newRuns(runs, known.runs)
    if (found.length > MAX_LOOK_UPS) return 0
    if (!await this.areCurrent(found, last, id)) return 0
    let removed = 0
    for (const run of found) removed += await this.removeRun(run, last, id)
    return removed
  }

  /**
   * @param {Run[]} runs in order
   * @param {number} last sequence
   * @param {string} id of the log with these runs
   * @returns {Promise<boolean>} whether the messages of these records have the seqs that they have now: none of them is from before a compaction
   */
  async areCurrent (runs, last, id) {
    const { target } = this
    if (runs.length === 0) return true
    const oldest = await target.first(() => true, last)
    if (oldest === null || oldest.id === id) return true
    const first = await target.first(message => message.id === id, last)
    return first !== null && runs[0][0] >= first.seq
  }

  /**
   * @param {Run} run of which all messages have seqs as they are now
   * @param {number} last sequence
   * @param {string} id of the log with that run
   * @returns {Promise<number>} number of messages that were deleted
   */
  async removeRun ([from, to], last, id) {
    const { target } = this
    const isAtOrAfter = (/** @type {number} */ seq) => target.first(message => message.id === id && message.seq >= seq, last)
    if (from === -1) return this.count(await target.purge((await isAtOrAfter(to))?.sequence ?? last + 1))
    const first = await isAtOrAfter(from)
    if (first === null) return 0
    const sequences = []
    for await (const messages of target.windows(first.sequence, last)) {
      const within = messages.filter(message => message.id === id && message.seq >= from && message.seq < to)
      sequences.push(...within.map(({ sequence }) => sequence))
      if (messages.some(({ seq }) => seq >= to)) break
    }
    return this.delete(sequences)
  }

  /**
   * @param {number} position
   * @param {number} sequence the last one
   * @param {number} messages in the stream, as its leader counts them
   * @param {string} id of the log with that position
   * @returns {Promise<'done' | 'again' | 'missing'>}
   */
  async compare (position, sequence, messages, id) {
    const { source, target } = this
    // one that lags behind a compaction would tell other messages by their seqs
    await source.log.refresh()
    if (source.id !== id) return 'again'
    const found = await match(source, target, position, sequence)
    if (found === null) return 'again'
    // a server that lags behind, or has to catch up, may have answered
    if (found.missing !== null) return found.messages < messages ? 'again' : 'missing'
    if (found.head > 1) this.count(await target.purge(found.head))
    await this.delete(found.extra)
    return 'done'
  }

  /**
   * @param {number[]} sequences
   * @returns {Promise<number>} how many they are
   */
  async delete (sequences) {
    for (let i = 0; i < sequences.length; i += AT_ONCE) {
      const some = sequences.slice(i, i + AT_ONCE)
      // overwritten, as in a log
      await deleteAll(this.target.reader, some)
      this.count(some.length)
    }
    return sequences.length
  }

  /** @param {number} deleted */
  count (deleted) {
    this.deleted += deleted
    this.ondeleted()
    return deleted
  }
}

/** After that, a server has done what it was asked for before. */
function settle () {
  return new Promise(resolve => setTimeout(resolve, SETTLING))
}

module.exports = { MirrorDeletions }
