'use strict'

// Stores what a log object appends: as a batch, or record by record, whichever takes less time.
//
// A batch has a fixed cost, since the server stages it on disk, and then one fsync. Records that are sent one by one have no such cost, but an
// fsync each, if the server syncs always. They are sent without waiting for each other, so each states which message is the last one of the
// stream, and of its subject: the record before it. So it is stored right after that one, or not at all; and one that arrives late, after it
// was sent again, is not stored, since the stream has gone on. This needs a stream without replicas: another one takes one message with such
// an expectation at a time, and has no fixed cost of batches, either.

const { BatchSender } = require('./batch-sender')

/** Records that are sent to find out how long one takes; and after how many batches that is found out again. */
const SAMPLE = 16
const BATCHES_UNTIL_SAMPLE = 64
/** Batches that are sent after another writer was in between. */
const BATCHES_WHEN_SHARED = 16
/** Milliseconds that a batch is supposed to take, until that is known. */
const FIRST_GUESS = 20
/** Of a new measurement, in an average. */
const WEIGHT = 0.25

class AppendSender extends BatchSender {
  /**
   * @param {import('./connection').Connection} connection that is open
   * @param {string} subject
   * @param {{ writes: number }} counts
   * @param {boolean} isReplicated whether the stream has replicas
   */
  constructor (connection, subject, counts, isReplicated) {
    super(connection, subject, counts)
    this.isReplicated = isReplicated
    /** Milliseconds that a record takes, if it is sent alone; 0: not known. */
    this.perRecord = 0
    /** Milliseconds that a batch takes. */
    this.perBatch = FIRST_GUESS
    /** Batches to send before records are sent alone again. */
    this.batchesLeft = 0
    this.batchesUntilSample = 0
  }

  /**
   * Sends records until at least the first one is stored.
   * @param {Uint8Array[]} records at least one
   * @param {boolean} mayDivide whether others may store records in between
   * @returns {Promise<number>} how many are stored, from the first on; `last` is the sequence of the last of them. Rejects if the server refuses
   *   the first one, or there will be no connection
   */
  async storeSome (records, mayDivide) {
    const before = this.last
    const alone = mayDivide ? this.countAlone(records.length) : 0
    if (alone > 0) await this.storeAlone(alone === records.length ? records : records.slice(0, alone))
    if (this.last <= before) await this.storeTogether(records)
    // a part of those that were sent alone may have been stored meanwhile: they are next to each other, from `before` on
    return Math.min(this.last - before, records.length)
  }

  /**
   * @param {number} count of records
   * @returns {number} how many of them are sent alone
   */
  countAlone (count) {
    // what others have stored is not known before the first record
    if (this.isReplicated || count === 1 || this.last === 0) return 0
    if (this.batchesLeft > 0) return 0
    if (this.batchesUntilSample === 0) return Math.min(count, SAMPLE)
    return count * this.perRecord <= this.perBatch ? count : 0
  }

  /**
   * Sends records once, without waiting for each other: `last` then says how many of them are stored.
   * @param {Uint8Array[]} records
   */
  async storeAlone (records) {
    const { connection, last: before } = this
    await connection.connected()
    const begin = performance.now()
    const refusal = await this.tryToSend(() => this.sendAlone(records))
    if (this.last === before + records.length) {
      const took = (performance.now() - begin) / records.length
      this.perRecord = this.perRecord === 0 ? took : average(this.perRecord, took)
      if (records.length >= SAMPLE) this.batchesUntilSample = BATCHES_UNTIL_SAMPLE
      return
    }
    this.last = await this.lastKnown()
    if (this.last > before) return
    if (refusal !== null) throw refusal
    this.batchesLeft = BATCHES_WHEN_SHARED
  }

  /** @param {Uint8Array[]} records */
  async storeTogether (records) {
    const begin = performance.now()
    await this.store(records)
    if (records.length === 1) return
    this.perBatch = average(this.perBatch, performance.now() - begin)
    if (this.batchesLeft > 0) this.batchesLeft--
    if (this.batchesUntilSample > 0) this.batchesUntilSample--
  }

  /**
   * @param {Uint8Array[]} records
   * @returns {Promise<number>} the sequence of the last one
   */
  async sendAlone (records) {
    const { connection: { nats, transport: { headers } }, subject, last } = this
    const most = records.length - 1
    for (let i = 0; ; i++) {
      const head = headers()
      const expected = String(last + i)
      head.set('Nats-Expected-Last-Sequence', expected)
      head.set('Nats-Expected-Last-Subject-Sequence', expected)
      if (i === most) return this.request(records[i], head)
      nats.publish(subject, records[i], { headers: head })
    }
  }
}

/** @param {number} old @param {number} latest */
function average (old, latest) {
  return old + WEIGHT * (latest - old)
}

module.exports = { AppendSender }
