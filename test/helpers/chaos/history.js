'use strict'

// What processes that share a log have told about their calls, and whether it agrees with what
// is in the log.

const { MEMBER, name, numbersOf } = require('./numbers')

/** Codes of errors that do not say what became of a record. */
const UNKNOWN = ['flumelog:unreachable', 'flumelog:replaced']

class History {
  constructor () {
    /** Where acknowledged records are, and in which log, as far as it was told; null: it was not. @type {Map<number, { seq: number | null, id: string }>} */
    this.acknowledged = new Map()
    /** Calls whose records are not there, by number. @type {Map<number, { first: number, last: number, code: string, isAtomic: boolean }>} */
    this.failed = new Map()
    this.maybeDeleted = new Set()
    this.deleted = new Set()
    /** Records before which others were, or may have been, trimmed. */
    this.trims = new Set()
    /** Where logs start, at least, by their ids. @type {Map<string, number>} */
    this.starts = new Map()
    /** Whether records are trimmed that nobody has asked for. */
    this.retains = false
    /** Records that somebody has not found any more. @type {Map<number, string>} */
    this.gone = new Map()
    this.errors = new Map()
    /** @type {Array<{ who: string, ranges: number[] }>} */
    this.seen = []
    this.problems = []
    /** Ids of the logs. @type {Set<string>} */
    this.compactions = new Set()
  }

  /**
   * @param {string} who
   * @param {any} message
   */
  add (who, message) {
    const { what, number, first, last, code } = message
    if (what === 'acked') for (const entry of message.acked) this.addAcknowledged(...entry)
    else if (what === 'deleting') for (const number of message.numbers ?? [message.number]) this.maybeDeleted.add(number)
    else if (what === 'deleted') for (const number of message.numbers ?? [message.number]) this.deleted.add(number)
    else if (what === 'trimming') this.trims.add(number)
    else if (what === 'trimmed') this.starts.set(message.id, Math.max(message.start, this.starts.get(message.id) ?? 0))
    else if (what === 'gone') this.gone.set(number, `${who}: ${message.how}`)
    else if (what === 'compacted' && message.id !== undefined) this.compactions.add(message.id)
    else if (what === 'seen') this.seen.push({ who, ranges: message.ranges })
    else if (what === 'failed') {
      for (let n = first; n <= last; n++) this.failed.set(n, message)
      this.addError('append', code, message, who)
    } else if (what === 'error') this.addError(message.of, code, message, who)
    else if (what === 'wrong') this.problems.push(`${who}: ${message.why}`)
    else if (what === 'ended' && code !== 'flumelog:replaced') this.problems.push(`${who}: the stream ended: ${JSON.stringify(message)}`)
    else if (what === 'replaced' && message.pending.length > 0) this.problems.push(`${who}: closed, and no answer to ${JSON.stringify(message.pending)}`)
    else if (what === 'hangs' || (what === 'refused' && !this.expected.includes(code))) this.problems.push(`${who}: ${JSON.stringify(message)}`)
    else if (what === 'closed' && ((code !== undefined && !this.expected.includes(code)) || message.pending.length > 0)) this.problems.push(`${who}: close: ${JSON.stringify(message)}`)
  }

  addAcknowledged (first, last, seqs, id) {
    for (let number = first; number <= last; number++) this.acknowledged.set(number, { seq: seqs.length === last - first + 1 ? seqs[number - first] : null, id })
    this.acknowledged.set(last, { seq: seqs.at(-1), id })
  }

  addError (of, code, message, who) {
    const key = `${of} ${code}`
    this.errors.set(key, (this.errors.get(key) ?? 0) + 1)
    if (!this.expected.includes(code)) this.problems.push(`${who}: ${JSON.stringify(message)}`)
  }

  /** Codes of errors that calls may get. */
  expected = ['flumelog:unreachable', 'flumelog:replaced', 'ENOENT']

  /**
   * @param {Array<{ seq: number, number: number }>} records in the log, in order
   * @param {string} logId
   * @param {number} start of the log
   * @returns {string[]} what is wrong
   */
  check (records, logId, start) {
    const { problems } = this
    /** What is left of each process: a trim removes all before. @type {Map<number, number>} */
    const firsts = new Map()
    for (const { number } of records) if (!firsts.has(Math.floor(number / MEMBER))) firsts.set(Math.floor(number / MEMBER), number)
    this.isGone = number => this.maybeDeleted.has(number) || this.mayBeTrimmed(number, firsts)
    if ((this.starts.get(logId) ?? 0) > start) problems.push(`the log was trimmed up to ${this.starts.get(logId)}, and starts at ${start}`)
    const there = new Map()
    const last = new Map()
    for (const { seq, number } of records) {
      const member = Math.floor(number / MEMBER)
      if (there.has(number)) problems.push(`record ${name(number)} is there twice: at ${there.get(number)} and ${seq}`)
      else if (number <= (last.get(member) ?? 0)) problems.push(`record ${name(number)} is at ${seq}, behind ${name(last.get(member))}`)
      there.set(number, seq)
      last.set(member, number)
      if (this.deleted.has(number)) problems.push(`record ${name(number)} was deleted, and is at ${seq}`)
    }
    for (const number of there.keys()) if (this.failed.has(number)) this.checkFailed(number, there)
    for (const [number, { seq, id }] of this.acknowledged) {
      const at = there.get(number)
      if (at === undefined && !this.isGone(number)) problems.push(`record ${name(number)} was acknowledged at ${seq}, and is missing`)
      else if (at !== undefined && seq !== null && id === logId && seq !== at) problems.push(`record ${name(number)} was acknowledged at ${seq}, and is at ${at}`)
    }
    for (const [number, how] of this.gone) if (!this.isGone(number)) problems.push(`record ${name(number)} was gone, though nobody has removed it: ${how}`)
    for (const { who, ranges } of this.seen) this.checkSeen(who, numbersOf(ranges), there)
    return problems
  }

  /**
   * @param {number} number
   * @param {Map<number, number>} firsts of each process: the first record that is there
   */
  mayBeTrimmed (number, firsts) {
    if (number >= (firsts.get(Math.floor(number / MEMBER)) ?? Infinity)) return false
    if (this.retains) return true
    const known = this.acknowledged.get(number)
    for (const other of this.trims) {
      const first = this.acknowledged.get(other)
      // those whose seqs cannot be compared
      if ((known?.seq ?? null) === null || (first?.seq ?? null) === null || known.id !== first.id) return true
      if (known.seq < first.seq) return true
    }
    return false
  }

  /** Of an array that failed, an owner may have stored the first records before it died. */
  checkFailed (number, there) {
    const { first, last, code, isAtomic } = this.failed.get(number)
    if (UNKNOWN.includes(code) || (!isAtomic && last > first && !there.has(last) && there.has(number === first ? first : number - 1))) return
    this.problems.push(`record ${name(number)} is at ${there.get(number)}, though the append of ${name(first)} to ${name(last)} failed with ${code}`)
  }

  checkSeen (who, seen, there) {
    for (const number of there.keys()) if (!seen.has(number)) this.problems.push(`${who} has not seen record ${name(number)} at ${there.get(number)}`)
    for (const number of seen) {
      if (!there.has(number) && !this.isGone(number)) this.problems.push(`${who} has seen record ${name(number)}, which is not there`)
    }
  }
}

module.exports = { History }
