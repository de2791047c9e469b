'use strict'

// What the log promises of the records that were appended (docs/reliability.md), as a list of what became of each.

/**
 * @typedef {object} Entry a record
 * @property {string} text
 * @property {number} writer the member that has appended it, and `n` the number it has there
 * @property {number} n
 * @property {string | null} batch records of an atomic batch have the same
 * @property {'pending' | 'acknowledged' | 'refused' | 'unknown'} state unknown: its append has no answer, or none that says whether it is stored
 * @property {boolean} isDurable a power cut cannot lose it
 * @property {number} seq where it is, in the log with the id `id`; -1: not known
 * @property {string} id
 * @property {'no' | 'asked' | 'acknowledged'} deletion
 * @property {number} deletedBy the member to which that was acknowledged
 * @property {boolean} isDeletionDurable
 * @property {number} order when it was appended, and `deletedAt` when its deletion was acknowledged, of all that has been called or answered
 * @property {number} deletedAt
 * @property {boolean} mayBeTrimmed
 * @property {boolean} isOwners whether the process that has appended it writes the log
 * @property {{ cut: number, seq: number, id: string } | null} place where it was at the first power cut after it was acknowledged
 * @property {Entry | 'nothing' | null} follows of a conditional append: the record that it directly follows, if it is stored; null: not known
 */

class Model {
  /**
   * @param {(problem: string) => void} problem
   * @param {boolean} isRetained whether the log trims itself
   */
  constructor (problem, isRetained) {
    this.problem = problem
    this.isRetained = isRetained
    /** @type {Map<string, Entry>} */
    this.entries = new Map()
    this.cuts = 0
    this.events = 0
  }

  /**
   * @param {string} text
   * @param {number} writer
   * @param {number} n
   * @param {string | null} batch
   * @returns {Entry}
   */
  add (text, writer, n, batch) {
    /** @type {Entry} */
    const entry = { text, writer, n, batch, state: 'pending', isDurable: false, seq: -1, id: '', deletion: 'no', deletedBy: 0, isDeletionDurable: false, order: ++this.events, deletedAt: Infinity, mayBeTrimmed: this.isRetained, place: null, follows: null, isOwners: false }
    this.entries.set(text, entry)
    return entry
  }

  /**
   * @param {number} seq of a record, or -1
   * @param {string} id of the log
   * @returns {Entry['follows']} the record; null: not known
   */
  at (seq, id) {
    return seq === -1 ? 'nothing' : [...this.entries.values()].find(entry => entry.id === id && entry.seq === seq) ?? null
  }

  /** @returns {Entry[]} what certainly is in the log, unless something is lost */
  get certain () {
    return [...this.entries.values()].filter(entry => entry.state === 'acknowledged' && entry.deletion === 'no')
  }

  /**
   * A deletion, or a trim, is acknowledged.
   * @param {Entry} entry
   * @param {number} deletedBy
   * @param {boolean} isDeletionDurable
   */
  deleted (entry, deletedBy, isDeletionDurable) {
    Object.assign(entry, { deletion: 'acknowledged', deletedBy, isDeletionDurable, deletedAt: ++this.events })
  }

  /**
   * Who sees a record sees all deletions that were acknowledged before its append was called.
   * @param {string} id of the log
   * @param {number} since the last record that somebody sees
   * @returns {Set<Entry>} what is not there any more for that one
   */
  deletedBefore (id, since) {
    let last = 0
    for (const entry of this.entries.values()) if (entry.id === id && entry.seq !== -1 && entry.seq <= since && entry.state === 'acknowledged') last = Math.max(last, entry.order)
    return new Set([...this.entries.values()].filter(({ deletion, deletedAt }) => deletion === 'acknowledged' && deletedAt < last))
  }

  /**
   * What is acknowledged now is durable.
   * @param {(entry: Entry) => boolean} [isAppend] of which appends that is said
   * @param {(entry: Entry) => boolean} [isDeletion] of which deletions
   * @returns {() => void} to be called when that is certain
   */
  startSync (isAppend = () => true, isDeletion = () => true) {
    const all = [...this.entries.values()]
    const entries = all.filter(entry => entry.state === 'acknowledged' && isAppend(entry))
    const deleted = all.filter(entry => entry.deletion === 'acknowledged' && isDeletion(entry))
    return () => {
      for (const entry of entries) entry.isDurable = true
      for (const entry of deleted) entry.isDeletionDurable = true
    }
  }

  /** A process died: what it had asked for has no answer. @param {number} writer */
  died (writer) {
    for (const entry of this.entries.values()) if (entry.writer === writer && entry.state === 'pending') entry.state = 'unknown'
  }

  /** What was not durable may be lost. */
  powerCut () {
    this.cuts++
    for (const entry of this.entries.values()) {
      if (entry.state === 'acknowledged' && entry.seq !== -1) entry.place ??= { cut: this.cuts, seq: entry.seq, id: entry.id }
      // the truncation after a failed write need not be durable
      if (entry.state === 'pending' || entry.state === 'refused' || (entry.state === 'acknowledged' && !entry.isDurable)) {
        entry.state = 'unknown'
        entry.seq = -1
      }
      if (entry.deletion === 'acknowledged' && !entry.isDeletionDurable) entry.deletion = 'asked'
      // it can leave the zeros, and not that the record was deleted: as the last one, that is truncated
      if (entry.deletion === 'asked') entry.seq = -1
    }
  }

  /**
   * What a reader was given.
   * @param {Array<{ seq: number, text: string }>} records in the order of the log, all of it
   * @param {object} about
   * @param {string} about.who
   * @param {Set<Entry>} about.expected what must be there, unless it was deleted or trimmed since
   * @param {Set<Entry>} about.deleted what must not be there
   * @param {string} about.id of the log, which did not change meanwhile
   */
  check (records, { who, expected, deleted, id }) {
    const seen = new Map()
    const last = new Map()
    let before = -1
    /** @type {Entry | 'nothing'} */
    let previous = 'nothing'
    for (const { seq, text } of records) {
      const entry = this.entries.get(text)
      if (entry === undefined) {
        this.problem(`${who}: a record at ${seq} that nobody has appended: ${text.slice(0, 40)}`)
        continue
      }
      const name = nameOf(entry)
      if (seen.has(entry)) this.problem(`${who}: ${name} at ${seen.get(entry)}, and again at ${seq}`)
      if (seq <= before) this.problem(`${who}: ${name} at ${seq}, after ${before}`)
      if (entry.state === 'refused') this.problem(`${who}: ${name} at ${seq}, though its append got an error`)
      if (deleted.has(entry)) this.problem(`${who}: ${name} at ${seq}, though it was deleted`)
      if (entry.id === id && entry.seq !== -1 && entry.seq !== seq) this.problem(`${who}: ${name} at ${seq}, though its append said ${entry.seq}`)
      const { follows } = entry
      // a deleted record is not given, and a trimmed one neither
      if (follows !== null && follows !== previous && (follows === 'nothing' || seen.has(follows))) {
        this.problem(`${who}: ${name} at ${seq} does not follow ${nameIn(follows)}, but ${nameIn(previous)}`)
      }
      previous = entry
      if ((last.get(entry.writer) ?? -1) > entry.n) this.problem(`${who}: ${name} after number ${last.get(entry.writer)} of the same process`)
      last.set(entry.writer, entry.n)
      seen.set(entry, before = seq)
    }
    // only a head can be trimmed
    const start = records[0]?.seq ?? Infinity
    for (const entry of expected) {
      const isGone = entry.deletion !== 'no' || (entry.mayBeTrimmed && (entry.seq === -1 || entry.id !== id || entry.seq < start))
      if (!isGone && !seen.has(entry)) this.problem(`${who}: ${nameOf(entry)}${entry.seq === -1 ? '' : ` at ${entry.seq}`} is missing, with ${records.length} records from ${records[0]?.seq} to ${records.at(-1)?.seq}`)
    }
    return seen
  }

  /**
   * The log as it is after a crash: it decides what was uncertain.
   * @param {Array<{ seq: number, text: string }>} records
   * @param {string} who
   * @param {string} id
   */
  recovered (records, who, id) {
    const entries = [...this.entries.values()]
    const seen = this.check(records, {
      who,
      id,
      expected: new Set(this.certain),
      deleted: new Set(entries.filter(({ deletion }) => deletion === 'acknowledged'))
    })
    // a prefix: nothing is missing before what is there
    const start = records[0]?.seq ?? Infinity
    const end = Math.max(-1, ...seen.values())
    for (const entry of entries) {
      if (!seen.has(entry) && entry.id === id && entry.seq !== -1 && entry.seq < end && entry.deletion === 'no' && !(entry.mayBeTrimmed && entry.seq < start)) {
        this.problem(`${who}: ${nameOf(entry)} at ${entry.seq} is missing before ${end}`)
      }
    }
    this.checkPrefixes(seen, who)
    this.checkBatches(seen, who)
    for (const entry of entries) {
      if (seen.has(entry)) Object.assign(entry, { seq: seen.get(entry), id, state: 'acknowledged' })
      // what is deleted or trimmed may have been there, and is in a backup
      else if (entry.state === 'unknown' && entry.deletion === 'no' && !entry.mayBeTrimmed) this.entries.delete(entry.text)
      else if (entry.state === 'acknowledged' && entry.deletion === 'asked') entry.deletion = 'acknowledged'
    }
    return seen
  }

  /**
   * What a power cut has left of what was acknowledged is a prefix.
   * @param {Map<Entry, number>} seen
   * @param {string} who
   */
  checkPrefixes (seen, who) {
    /** By power cut and generation. @type {Map<string, number>} */
    const ends = new Map()
    const keyOf = (/** @type {any} */ { cut, id }) => `${cut} ${id}`
    for (const { place } of seen.keys()) if (place !== null) ends.set(keyOf(place), Math.max(place.seq, ends.get(keyOf(place)) ?? -1))
    for (const entry of this.entries.values()) {
      const { place, deletion, mayBeTrimmed } = entry
      if (place === null || seen.has(entry) || deletion !== 'no' || mayBeTrimmed) continue
      if (place.seq < Number(ends.get(keyOf(place)))) this.problem(`${who}: a power cut has taken ${nameOf(entry)} at ${place.seq}, and left one at ${ends.get(keyOf(place))}`)
    }
  }

  /**
   * @param {Map<Entry, number>} seen
   * @param {string} who
   */
  checkBatches (seen, who) {
    /** @type {Map<string, Entry[]>} */
    const batches = new Map()
    for (const entry of this.entries.values()) {
      if (entry.batch === null || entry.deletion !== 'no' || entry.mayBeTrimmed) continue
      batches.set(entry.batch, [...batches.get(entry.batch) ?? [], entry])
    }
    for (const [batch, entries] of batches) {
      const there = entries.filter(entry => seen.has(entry)).length
      if (there !== 0 && there !== entries.length) this.problem(`${who}: ${there} of ${entries.length} records of the atomic batch ${batch}`)
    }
  }
}

/** @param {Entry | 'nothing'} place */
function nameIn (place) {
  return place === 'nothing' ? place : nameOf(place)
}

/** @param {Entry} entry */
function nameOf ({ writer, n }) {
  return `record ${n} of member ${writer}`
}

module.exports = { Model, nameOf }
