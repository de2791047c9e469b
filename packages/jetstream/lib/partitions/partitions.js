'use strict'

// How records are spread over the streams of a log with partitions. The seq of a record is SEQUENCE * PARTITIONS + PARTITION, so it says
// in which stream it is. A position is an array with a seq for each partition, -1 for none: all records up to these.

const { crc32, format } = require('flumelog-random-access-file/blocks')
const errors = require('../errors')

class Partitions {
  /**
   * @param {number} count
   * @param {(value: any) => string} key
   */
  constructor (count, key) {
    this.count = count
    this.key = key
  }

  /**
   * @param {any} value
   * @returns {number} the partition of a value, which other programs can compute, too
   * @throws flumelog:invalid
   */
  of (value) {
    const key = this.key(value)
    if (typeof key !== 'string') throw errors.invalid(`key must return a string; it returned ${format(key)}`)
    return crc32(Buffer.from(key)) % this.count
  }

  /**
   * @param {unknown} seq
   * @returns {{ partition: number, sequence: number }} where that record is
   * @throws flumelog:invalid
   */
  find (seq) {
    if (!Number.isSafeInteger(seq) || Number(seq) < 0) throw errors.invalid(`seq must be that of a record, an integer of 0 or more; it is ${format(seq)}`)
    return { partition: Number(seq) % this.count, sequence: Math.floor(Number(seq) / this.count) }
  }

  /**
   * @param {number} sequence -1: none
   * @param {number} partition
   */
  seqOf (sequence, partition) {
    return sequence === -1 ? -1 : sequence * this.count + partition
  }

  /**
   * @param {string} name of the option
   * @param {unknown} position
   * @returns {number[]} the sequence in each partition
   * @throws flumelog:invalid
   */
  sequences (name, position) {
    const isPosition = Array.isArray(position) && position.length === this.count &&
      position.every((seq, i) => seq === -1 || (Number.isSafeInteger(seq) && seq >= 0 && seq % this.count === i))
    if (!isPosition) throw errors.invalid(`${name} must be a position, an array of ${this.count} seqs, one for each partition, or -1; it is ${format(position)}`)
    return position.map((/** @type {number} */ seq) => seq === -1 ? -1 : this.find(seq).sequence)
  }
}

module.exports = { Partitions }
