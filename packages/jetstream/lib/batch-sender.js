'use strict'

// Stores one batch of messages at a time, and finds out whether it is stored.
//
// A batch is stored by the server as a whole, or not at all, and its messages get consecutive sequences. It is published on a subject on which
// nobody else publishes at the same time, and states the sequence of the last message. So nothing is stored twice or out of order, however
// often a batch is sent: while nobody knows whether one was stored (the connection broke, a server was killed), the last message on the
// subject tells.

const errors = require('./errors')
const { REQUEST_TIMEOUT } = require('./connection')

/** The server takes no larger batch. */
const MAX_RECORDS = 1000
/** Bytes after which a batch is full. */
const MAX_BYTES = 1024 * 1024

/** Codes of the server: what the batch expects is not so, or not any more; a batch of which a part was lost; too many at once. */
const DOUBTFUL = new Set([10071, 10164, 10176, 10210])

/** @typedef {import('@nats-io/transport-node').MsgHdrs} MsgHdrs */

class BatchSender {
  /**
   * @param {import('./connection').Connection} connection that is open
   * @param {string} subject
   * @param {{ writes: number }} counts of which `writes` counts how often a batch was sent
   * @param {string} expectation the header that states `last`
   */
  constructor (connection, subject, counts, expectation = 'Nats-Expected-Last-Subject-Sequence') {
    this.connection = connection
    this.subject = subject
    this.counts = counts
    this.expectation = expectation
    /** The sequence of the last message on the subject, or with another expectation, in the stream; 0: there is none. */
    this.last = 0
    this.prefix = connection.transport.nuid.next()
    this.batches = 0
  }

  /**
   * Sends a batch until it is stored.
   * @param {Uint8Array[]} records at least one
   * @returns {Promise<number>} the sequence of its last record. Rejects if the server refuses it, or there will be no connection
   */
  async store (records) {
    const { connection } = this
    await connection.connected()
    for (;;) {
      const before = this.last
      const refusal = await this.tryToSend(() => this.send(records))
      if (this.last > before) return this.last
      this.last = await this.lastKnown()
      if (this.last > before) return this.last
      if (refusal !== null) throw refusal
      await connection.pause().catch(() => { throw this.unknown() })
    }
  }

  /** @returns {Error} for a batch that was sent, and of which there will be no news */
  unknown () {
    return errors.appendsUnknown(this.connection.label)
  }

  /**
   * Sends records, and waits for the answer: `last` then says whether they are stored, if that is known.
   * @param {() => Promise<number>} send
   * @returns {Promise<Error | null>} why the server does not store them
   */
  async tryToSend (send) {
    const { connection } = this
    try {
      this.counts.writes++
      this.last = await connection.attempt(send)
    } catch (err) {
      if (err instanceof connection.transport.TimeoutError) connection.checkServer()
      if (connection.failure === null && !this.isDoubtful(err)) return connection.refused(err)
    }
    return null
  }

  /**
   * @param {any} err
   * @returns {boolean} whether the batch may be stored all the same, or could be if it is sent again
   */
  isDoubtful (err) {
    return DOUBTFUL.has(err?.code) || this.connection.isTransient(err)
  }

  /** @returns {Promise<number>} the sequence of the last message on the subject. Rejects if there will be no connection */
  async lastKnown () {
    const { connection } = this
    if (connection.failure !== null) throw this.unknown()
    return this.lastStored().catch((err) => { throw connection.failure === null ? err : this.unknown() })
  }

  /** @returns {Promise<number>} the same, as the leader knows it; 0 if there is none */
  async lastStored () {
    const { connection, connection: { manager, settings } } = this
    const message = await connection.ask(() => manager.streams.getMessage(settings.stream, { last_by_subj: this.subject }), true)
    return message?.seq ?? 0
  }

  /**
   * @param {Uint8Array[]} records
   * @param {(head: MsgHdrs, index: number) => void} [addHeaders] called for each record
   * @returns {Promise<number>} the sequence of the last one
   */
  async send (records, addHeaders) {
    const { connection: { nats, transport: { headers } }, subject, expectation } = this
    const id = `${this.prefix}${(++this.batches).toString(36)}`
    const last = records.length - 1
    for (let i = 0; ; i++) {
      const head = headers()
      addHeaders?.(head, i)
      if (i === 0) head.set(expectation, String(this.last))
      if (last > 0) {
        head.set('Nats-Batch-Id', id)
        head.set('Nats-Batch-Sequence', String(i + 1))
        if (i === last) head.set('Nats-Batch-Commit', '1')
      }
      // the server answers the last one, for all of them
      if (i === last) return this.request(records[i], head)
      nats.publish(subject, records[i], { headers: head })
    }
  }

  /**
   * @param {Uint8Array} record
   * @param {import('@nats-io/transport-node').MsgHdrs} head
   * @returns {Promise<number>} its sequence
   */
  async request (record, head) {
    const { connection: { nats, jetstream: { JetStreamApiError } }, subject } = this
    const message = await nats.request(subject, record, { headers: head, timeout: REQUEST_TIMEOUT })
    /** @type {any} */
    const answer = message.json()
    if (answer.error !== undefined) throw new JetStreamApiError(answer.error)
    return answer.seq
  }
}

module.exports = { BatchSender, MAX_RECORDS, MAX_BYTES }
