'use strict'

// Stores one batch of messages at a time, and finds out whether it is stored.
//
// A batch is stored by the server as a whole, or not at all, and its messages get consecutive sequences. It is published on a subject on which
// nobody else publishes at the same time, and states the sequence of the last message. So nothing is stored twice or out of order, however
// often a batch is sent: while nobody knows whether one was stored (the connection broke, a server was killed), the last message on the
// subject tells.

const errors = require('../errors')
const { deleteAll } = require('./deletion')
const { Reader } = require('../read/reader')
const { sizeOf } = require('./size-of')

/** The server takes no larger batch, unless its configuration says otherwise. */
const MAX_RECORDS = 1000
/** Bytes after which a batch is full. */
const MAX_BYTES = 1024 * 1024

/** Code of the server: the batch has too many messages. */
const TOO_LARGE = 10199
/** Codes of the server: what the batch expects is not so, or not any more; a batch of which a part was lost; too many at once; a record with this key is being stored. */
const DOUBTFUL = new Set([10071, 10158, 10164, 10176, 10210])

/** The header that states the sequence of the stream's last message. */
const LAST_OF_STREAM = 'Nats-Expected-Last-Sequence'
/** The header with the key of a record. */
const KEY = 'Nats-Msg-Id'
/** @type {Terms} */
const NO_TERMS = { after: null, key: null }

/**
 * @typedef {import('@nats-io/transport-node').MsgHdrs} MsgHdrs
 * @typedef {number | Error} Outcome of a record: its sequence, or why it is not stored
 * @typedef {{ seq: number, duplicate?: boolean }} Answer of the server: a sequence, and whether it is that of an earlier record with the same key
 *
 * @typedef {object} Terms of a batch
 * @property {number | null} after the sequence that the stream's last message must have; -1: there must be none; null: there is no condition
 * @property {string | null} key of its only record, which is not stored if the stream has one with this key, within the duplicate window; null: none
 */

class BatchSender {
  /**
   * @param {import('../connection/connection').Connection} connection that is open
   * @param {string} subject
   * @param {{ writes: number }} counts of which `writes` counts how often a batch was sent
   * @param {string} expectation the header that states `last`
   */
  constructor (connection, subject, counts, expectation = 'Nats-Expected-Last-Subject-Sequence') {
    this.connection = connection
    this.subject = subject
    this.counts = counts
    this.expectation = expectation
    /** The subjects to which `last` applies, if they are not the subject. @type {string | null} */
    this.filter = null
    /** The sequence of the last message on the subject, or with another expectation, in the stream; 0: there is none. */
    this.last = 0
    /** The last record of this log object that is known to be stored, also if it was deleted since. */
    this.acknowledged = 0
    /** The sequence of the record that the stream already had with the key of the batch that was sent last; 0: it had none. */
    this.earlier = 0
    /** Whether records of the batch that was stored last were sent before, and may still arrive: if those that are stored are deleted, too. */
    this.wasSent = false
    /** Records that a batch may have. */
    this.maxRecords = MAX_RECORDS
    this.prefix = connection.transport.nuid.next()
    this.batches = 0
  }

  /**
   * Sends a batch until it is stored: `last` then is the sequence of its last record.
   * @param {Uint8Array[]} records at least one
   * @param {boolean} [wasSent] whether some of them were sent before, and may still arrive
   * @param {Terms} [terms]
   * @returns {Promise<Outcome[]>} of all of them, or of the first ones, if these were sent before, one by one. Rejects if the server refuses it, or there will
   *   be no connection; with flumelog:conflict if the condition is not met
   */
  async store (records, wasSent = false, { after, key } = NO_TERMS) {
    const { connection } = this
    this.wasSent = wasSent
    const addTerms = (/** @type {MsgHdrs} */ head, /** @type {number} */ index) => {
      if (index === 0 && after !== null) head.set(LAST_OF_STREAM, String(Math.max(after, 0)))
      if (key !== null) head.set(KEY, key)
    }
    await connection.connected()
    // what is on its way for long could be stored when the stream has grown up to there
    const early = after !== null && after > connection.identity.last ? await this.conflictWith(after) : null
    if (early !== null) throw early
    for (;;) {
      // less than before, if the last record was deleted
      const before = this.last
      const refusal = /** @type {any} */ (await this.tryToSend(records, () => this.send(records, addTerms)))
      if (this.earlier > 0) return [this.earlier]
      if (this.last > before) return this.acknowledge(records.map((_, i) => this.last - records.length + 1 + i))
      // first: what is on its way until then cannot be stored any more, since a stream only grows
      const conflict = after === null || refusal !== null ? null : await this.conflictWith(after)
      // a server that lags behind may have said that `last` is less
      const stored = await this.findStored(Math.max(before, this.acknowledged), records, key)
      // a server without replicas that has no space left leaves a part of the batch
      if (refusal !== null && stored.length < records.length) await this.withdraw(stored)
      else if (stored.length > 0) return this.acknowledge(stored)
      // one that was sent before could be stored after this refusal
      if (refusal !== null) throw this.wasSent && refusal.cause?.code !== TOO_LARGE ? errors.appendsUnknown(connection.label, refusal) : refusal
      if (conflict !== null && !await this.mayBeStored(Math.max(Number(after), 0) + 1, records[0])) throw conflict
      this.wasSent = true
      await connection.pause().catch(() => { throw this.unknown() })
    }
  }

  /** @param {Outcome[]} outcomes */
  acknowledge (outcomes) {
    this.acknowledged = this.last
    return outcomes
  }

  /**
   * A server that still takes itself for the leader, and lags behind, may have said that a conditional batch is not stored.
   * @param {number} seq that its first record would have
   * @param {Uint8Array} record
   * @returns {Promise<boolean>} false: it is not stored
   */
  async mayBeStored (seq, record) {
    const { connection, connection: { identity, manager, settings: { stream } }, subject } = this
    if (!identity.isReplicated) return false
    const message = await this.ask(() => manager.streams.getMessage(stream, { seq }))
    if (message !== null) return seq > this.acknowledged && message.subject === subject && Buffer.compare(message.data, record) === 0
    return this.ask(() => connection.hasMessage(seq))
  }

  /**
   * @param {number} after see `store`
   * @returns {Promise<Error | null>} null: it can be stored now
   */
  async conflictWith (after) {
    const { state: { last_seq: last } } = await this.ask(() => this.connection.streamInfo())
    return last === Math.max(after, 0) ? null : errors.conflict(this.connection.label, after, last === 0 ? -1 : last)
  }

  /**
   * The server may take fewer records at a time than is usual, and says so when it gets more.
   * @param {any} refusal
   * @param {number} count of records that were sent
   * @returns {boolean} whether this is why it has stored nothing; `maxRecords` is less then
   */
  learnLimit ({ cause }, count) {
    if (cause?.code !== TOO_LARGE || count < 2) return false
    const [limit = count] = /\d+$/.exec(cause.message) ?? []
    this.maxRecords = Math.min(Math.max(1, Number(limit)), count - 1)
    return true
  }

  /**
   * Deletes records of which the call gets an error.
   * @param {Outcome[]} outcomes of them
   */
  async withdraw (outcomes) {
    const seqs = outcomes.filter(outcome => typeof outcome === 'number')
    if (seqs.length === 0) return
    await deleteAll(new Reader(this.connection), seqs, false).catch(() => { throw this.unknown() })
    await this.findLast()
  }

  /**
   * @param {Error} [cause] why that cannot be found out
   * @returns {Error} for a batch that was sent, and of which there will be no news
   */
  unknown (cause) {
    const { failure, label } = this.connection
    return /** @type {any} */ (failure)?.code === 'flumelog:replaced' ? /** @type {Error} */ (failure) : errors.appendsUnknown(label, cause)
  }

  /**
   * Sends records, and waits for the answer: `last`, or `earlier`, then says whether they are stored, if that is known.
   * @param {Uint8Array[]} records
   * @param {() => Promise<Answer>} send
   * @returns {Promise<Error | null>} why the server does not store them
   */
  async tryToSend (records, send) {
    const { connection, connection: { identity }, subject } = this
    const { last } = identity
    this.earlier = 0
    try {
      this.counts.writes++
      const { seq, duplicate } = await connection.attemptSending(sizeOf(records), send)
      if (duplicate) return this.noteEarlier(seq)
      identity.noteStored(seq, subject, last)
      this.last = seq
    } catch (err) {
      if (connection.failure === null && !this.isDoubtful(err)) return connection.refused(err)
    }
    return null
  }

  /**
   * Nothing was stored, since the stream has a record with this key. It may be one of another log object.
   * @param {number} seq of it
   */
  noteEarlier (seq) {
    this.connection.identity.note({ seq, time: null, subject: null })
    this.earlier = seq
    return null
  }

  /**
   * @param {any} err
   * @returns {boolean} whether the batch may be stored all the same, or could be if it is sent again
   */
  isDoubtful (err) {
    return DOUBTFUL.has(err?.code) || this.connection.isTransient(err)
  }

  /**
   * Finds out what became of records that were sent: `last` then is the sequence of the last message on the subject.
   * @param {number} before that sequence when they were sent
   * @param {Uint8Array[]} records
   * @param {string | null} [key] of the only one
   * @returns {Promise<Outcome[]>} of those that are stored, from the first on. Rejects if there will be no connection
   */
  async findStored (before, records, key = null) {
    const { connection, connection: { manager, settings: { stream } }, subject } = this
    await this.findLast()
    for (let from = before + 1; from <= this.last;) {
      const query = /** @type {any} */ ({ seq: from, next_by_subj: subject })
      const message = await this.ask(() => manager.streams.getMessage(stream, query))
      if (message === null) {
        // deleted meanwhile; or a server has answered that still takes itself for the leader, and lacks it
        await connection.pause().catch(() => { throw this.unknown() })
        await this.findLast()
        continue
      }
      if (Buffer.compare(message.data, records[0]) === 0 && keyOf(message.header) === key) {
        // consecutive. Without replicas, a part of them may be there; otherwise, the server may not have stored all of them yet
        const length = connection.identity.isReplicated ? records.length : this.last - message.seq + 1
        this.last = Math.max(this.last, message.seq + length - 1)
        return Array.from({ length }, (_, i) => message.seq + i)
      }
      // one that was given up, and arrived late
      from = message.seq + 1
    }
    return []
  }

  /** `last` may be less than before, if that message was deleted. */
  async findLast () {
    const { connection: { manager, settings: { stream } }, subject, filter } = this
    this.last = await this.ask(async () => (await manager.streams.getMessage(stream, { last_by_subj: filter ?? subject }))?.seq ?? 0)
  }

  /**
   * Asks the leader, for as long as it takes, when the stream is known to be the same.
   * @template T
   * @param {() => Promise<T>} start of a request
   * @returns {Promise<T>}
   */
  async ask (start) {
    const { connection } = this
    try {
      return await connection.ask(async () => {
        await connection.identity.verify()
        return start()
      }, true)
    } catch (err) {
      throw this.unknown(connection.failure === null ? /** @type {Error} */ (err) : undefined)
    }
  }

  /**
   * @param {Uint8Array[]} records
   * @param {(head: MsgHdrs, index: number) => void} [addHeaders] called for each record
   * @returns {Promise<Answer>} of the last one
   */
  async send (records, addHeaders) {
    const { connection: { nats, transport: { headers } }, subject, expectation, filter } = this
    const id = `${this.prefix}${(++this.batches).toString(36)}`
    const last = records.length - 1
    for (let i = 0; ; i++) {
      const head = headers()
      addHeaders?.(head, i)
      if (i === 0) head.set(expectation, String(this.last))
      if (i === 0 && filter !== null) head.set('Nats-Expected-Last-Subject-Sequence-Subject', filter)
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
   * @returns {Promise<Answer>}
   */
  async request (record, head) {
    const { connection: { nats, requestTimeout, jetstream: { JetStreamApiError } }, subject } = this
    const message = await nats.request(subject, record, { headers: head, timeout: requestTimeout })
    /** @type {any} */
    const answer = message.json()
    if (answer.error !== undefined) throw new JetStreamApiError(answer.error)
    return answer
  }
}

/** @param {MsgHdrs | undefined} headers of a message @returns {string | null} */
function keyOf (headers) {
  return headers?.get(KEY) || null
}

module.exports = { BatchSender, MAX_RECORDS, MAX_BYTES, LAST_OF_STREAM, NO_TERMS, keyOf }
