'use strict'

// A log that is written while others read it, as an array of records with the times at which things happened to them: what readers
// may be given, whatever they have heard by then, and what they must be.

const layout = require('../../lib/format/layout')

/** Bytes of a record's number. */
const NUMBER_SIZE = 4

/**
 * @typedef {object} Record
 * @property {number} number
 * @property {Buffer} value
 * @property {number[]} seqs that it has had
 * @property {number} goingAt when it was begun to be deleted or trimmed
 * @property {number} goneAt when that was acknowledged
 * @property {boolean} isTrimmed it may have been trimmed
 */

class FollowedLog {
  constructor () {
    /** @type {Record[]} */
    this.records = []
    /** @type {Map<number, Record>} */
    this.bySeq = new Map()
    /** Counts what happens. */
    this.now = 0
    /** When a trim or a compaction was begun, or the log was closed to be opened again. @type {Array<{ what: 'trim' | 'compaction' | 'opening', at: number }>} */
    this.moves = []
    /** What the log was called since each compaction, and where it started then. @type {Array<{ id: string, base: number }>} */
    this.generations = []
  }

  /** @param {number} size */
  make (size) {
    const number = this.records.length
    const value = Buffer.alloc(Math.max(size, NUMBER_SIZE), number % 251 + 1)
    value.writeUInt32LE(number + 1)
    this.records.push({ number, value, seqs: [], goingAt: Infinity, goneAt: Infinity, isTrimmed: false })
    return value
  }

  tick () {
    return ++this.now
  }

  get alive () {
    return this.records.filter(({ goingAt, seqs }) => goingAt === Infinity && seqs.length > 0)
  }

  /**
   * @param {Record} record
   * @param {number} seq where it is now
   */
  place (record, seq) {
    record.seqs.push(seq)
    this.bySeq.set(seq, record)
  }

  /** @param {Record[]} records */
  going (records) {
    const at = this.tick()
    for (const record of records) record.goingAt = Math.min(record.goingAt, at)
  }

  gone (records) {
    const at = this.tick()
    for (const record of records) record.goneAt = Math.min(record.goneAt, at)
  }

  /**
   * @param {number} since what a reader says
   * @returns {number} the number of the last record that it knows of, at least
   */
  knownBy (since) {
    const { base } = this.generations.findLast(({ base }) => base <= since) ?? { base: 0 }
    let last = -1
    for (const { number, seqs } of this.records) if (seqs.some(seq => seq >= base && seq <= since)) last = number
    return last
  }

  /**
   * @param {number} seq that a record has had
   * @returns {Record}
   */
  at (seq) {
    return /** @type {Record} */ (this.bySeq.get(seq))
  }

  /**
   * @param {number} seq
   * @param {string} id of the log
   */
  isOf (seq, id) {
    const index = this.generations.findIndex(generation => generation.id === id)
    return index !== -1 && seq >= this.generations[index].base && seq < (this.generations[index + 1]?.base ?? Infinity)
  }

  /**
   * @param {Buffer} value
   * @returns {Record | null}
   */
  recordOf (value) {
    const record = value.length < NUMBER_SIZE ? undefined : this.records[value.readUInt32LE(0) - 1]
    return record !== undefined && record.value.equals(value) ? record : null
  }

  /**
   * @param {'trim' | 'compaction' | 'opening'} what
   * @param {number} from
   * @param {number} to
   */
  count (what, from, to) {
    return this.moves.filter(move => move.what === what && move.at > from && move.at <= to).length
  }
}

module.exports = { FollowedLog, maxSize: (blockSize, checksum) => layout.maxRecordSize(blockSize, checksum) }
