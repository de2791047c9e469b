'use strict'

// What a fuzzed log should hold: the records in the order in which they were appended,
// each with what its callers were told of it.

/**
 * @typedef {object} Record
 * @property {number} number from 1, in the order of the calls
 * @property {any} value
 * @property {Buffer} data
 * @property {number | undefined} seq once it is known
 * @property {Batch} batch
 * @property {number} acknowledgedAt the moment; Infinity: it is not
 * @property {boolean} isFailed its append got an error
 * @property {boolean} isDurable a power cut must not take it
 * @property {number} deletingAt the moment when its deletion was asked for, Infinity if it was not
 * @property {number} deletedAt the moment when that was acknowledged
 * @property {boolean} isShown a reader has been given it
 *
 * @typedef {{ isAtomic: boolean, hasCallback: boolean, madeAt: number, mayBeRefused: boolean }} Batch
 */

class Model {
  /**
   * @param {ReturnType<import('./values').objects>} values
   * @param {(message: string) => void} violate
   */
  constructor (values, violate) {
    this.values = values
    this.violate = violate
    this.made = 0
    /** @type {Record[]} */
    this.records = []
    /** @type {Map<number, Record>} */
    this.byNumber = new Map()
    /** Those of which the seq is known. @type {Map<number, Record>} */
    this.bySeq = new Map()
    this.lastSeq = -1
    /** Records before this offset may have been trimmed. */
    this.trimmingTo = 0
    /** Blocks before this one have been. */
    this.trimmedTo = 0
    /** The seq of a large record of which the first parts were trimmed. */
    this.cutOff = -1
    /** What the log trims by itself; null: nothing. @type {{ bytes: number } | null} */
    this.retain = null
    /** Moments at which onDrain, sync or close told of an error, each with the moment of its call. */
    this.reports = []
    /** Those that were called back without one. */
    this.successes = []
  }

  /**
   * @param {number} size
   * @param {Batch} batch
   * @returns {Record} the next one
   */
  make (size, batch) {
    const number = ++this.made
    const value = this.values.make(number, size)
    return {
      number,
      value,
      data: this.values.encode(value),
      seq: undefined,
      batch,
      acknowledgedAt: Infinity,
      isFailed: false,
      isDurable: false,
      deletingAt: Infinity,
      deletedAt: Infinity,
      isShown: false
    }
  }

  /** @param {Record} record its append was called */
  add (record) {
    this.records.push(record)
    this.byNumber.set(record.number, record)
  }

  /**
   * @param {Record[]} records of one append, in order
   * @param {Array<number | undefined>} seqs
   * @param {number} moment
   */
  acknowledge (records, seqs, moment) {
    records.forEach((record, index) => {
      record.acknowledgedAt = Math.min(record.acknowledgedAt, moment)
      if (record.isFailed) this.violate(`record ${record.number} is acknowledged, and its append got an error`)
      if (seqs[index] !== undefined) this.learnSeq(record, seqs[index])
    })
    const last = records.at(-1)
    if (last === undefined) return
    if (!(last.seq > this.lastSeq)) this.violate(`record ${last.number} is acknowledged at ${last.seq}, after one at ${this.lastSeq}`)
    this.lastSeq = last.seq
  }

  /** @param {number} end up to which the log has been acknowledged: it may have trimmed what it is not to retain */
  reached (end) {
    if (this.retain === null) return
    this.trimmingTo = Math.max(this.trimmingTo, end - this.retain.bytes)
  }

  /** @param {Record} record */
  mayBeTrimmed ({ seq }) {
    return seq !== undefined && seq < this.trimmingTo
  }

  /**
   * @param {Record} record
   * @param {number} seq
   */
  learnSeq (record, seq) {
    if (record.seq !== undefined && record.seq !== seq) this.violate(`record ${record.number} is at ${record.seq}, and at ${seq}`)
    const other = this.bySeq.get(seq)
    if (other !== undefined && other !== record && !other.isFailed) this.violate(`records ${other.number} and ${record.number} are both at ${seq}`)
    record.seq = seq
    this.bySeq.set(seq, record)
  }

  /** @param {Record[]} records whose append got an error */
  fail (records) {
    for (const record of records) {
      record.isFailed = true
      if (record.acknowledgedAt < Infinity) this.violate(`record ${record.number} was acknowledged, and its append got an error`)
      if (record.isShown) this.violate(`record ${record.number} was shown, and its append got an error`)
    }
  }

  /**
   * A reader was given this.
   * @param {number} seq
   * @param {any} value
   * @param {number} startedAt when the reader started
   * @returns {Record | null}
   */
  show (seq, value, startedAt) {
    const record = this.byNumber.get(this.values.numberOf(value) ?? -1)
    if (record === undefined) return this.wrong(`what is at ${seq} was never appended`)
    if (record.isFailed) return this.wrong(`record ${record.number} is shown, and its append got an error`)
    if (record.deletedAt < startedAt) return this.wrong(`record ${record.number} is shown, and was deleted`)
    record.isShown = true
    this.learnSeq(record, seq)
    return record
  }

  wrong (message) {
    this.violate(message)
    return null
  }

  /**
   * A reader was given these and no others between them.
   * @param {Record[]} shown in ascending order
   * @param {{ min: number, max: number }} range of seqs
   * @param {number} before the moment up to which what was acknowledged has to be among them, wherever it is
   */
  checkGaps (shown, { min, max }, before) {
    const numbers = new Set(shown.map(({ number }) => number))
    const first = shown[0]?.number ?? Infinity
    const last = shown.at(-1)?.number ?? -Infinity
    for (let i = 1; i < shown.length; i++) {
      if (shown[i].seq <= shown[i - 1].seq || shown[i].number <= shown[i - 1].number) return this.violate(`record ${shown[i].number} is shown after record ${shown[i - 1].number}`)
    }
    for (const record of this.records) {
      if (record.seq === undefined || record.seq < min || record.seq > max || record.deletingAt < Infinity || this.mayBeTrimmed(record)) continue
      const isBetween = record.acknowledgedAt < Infinity && record.number > first && record.number < last
      if ((isBetween || record.acknowledgedAt < before) && !numbers.has(record.number)) {
        return this.violate(`record ${record.number} at ${record.seq} was acknowledged, and is not shown`)
      }
    }
  }

  /** @returns {Record[]} acknowledged, with a seq, and never asked to be deleted */
  get kept () {
    return this.records.filter(record => record.acknowledgedAt < Infinity && record.seq !== undefined && record.deletingAt === Infinity && !this.mayBeTrimmed(record))
  }

  /**
   * onDrain, sync or close was called back.
   * @param {number} madeAt the moment of the call
   * @param {number} moment
   * @param {Error | null | undefined} err
   */
  told (madeAt, moment, err) {
    (err ? this.reports : this.successes).push({ madeAt, moment })
  }

  /**
   * @param {Record} record that is not in the file, whose append had no callback
   * @returns {boolean} whether its loss was kept from everybody who asked
   */
  isSilentlyLost ({ batch }) {
    if (batch.mayBeRefused) return false
    return this.successes.some(success => success.madeAt > batch.madeAt &&
      // the first to ask is told, though its answer may come later
      !this.reports.some(report => report.moment > batch.madeAt && (report.moment <= success.moment || report.madeAt < success.madeAt)))
  }
}

module.exports = { Model }
