'use strict'

// Stores what a log object appends: as a batch, or record by record without waiting for each other, whichever takes less time.
//
// A batch has a fixed cost, since a server without replicas stages it on disk, and then one fsync. Records that are sent one by one have no such
// cost, but an fsync each, if the server syncs always.
//
// A batch, and the first record over a connection, is sent when all before it are stored, and states the last message of this log object: it is a
// head. Records that are sent one by one state the last head, and a connection keeps their order: so they are stored in order, or refused, as long as
// this head is the last one. If it is not known what became of some (the connection broke, there was no answer), the stream tells which of them are
// stored, and the next ones are sent as another head. Once that is stored, those that arrive late are refused; and if one of them arrives before,
// the head is refused, since it states the last message of this log object.
//
// This needs a stream without replicas, over a connection to the server that has it: another server may lose some of what it passes on, and a
// replicated stream takes one message with an expectation at a time, and has no fixed cost of batches, either.

const { AccountSpace } = require('./account-space')
const { BatchSender, MAX_BYTES, keyOf } = require('./batch-sender')
const { directGet } = require('../read/direct-get')
const errors = require('../errors')
const { sizeOf } = require('./size-of')

/** Records that are sent one by one to find out how long that takes. */
const SAMPLE = 16
/** The most batches between samples. */
const MAX_BATCHES = 128
/** Milliseconds that a batch is supposed to take longer than a record, until that is known. */
const FIRST_GUESS = 20
/** How many times as long as a batch records that are sent one by one may take: before a batch, all that were sent have to be answered. */
const GAIN = 1.25
/** Bytes of the first batch. One that is full and takes less than `SHORT` is followed by one of twice as many bytes; after one that takes more than `LONG`, they are half as many. */
const FIRST_BYTES = 64 * 1024
const LEAST_BYTES = 16 * 1024
const SHORT = 500
const LONG = 1000
/** Records that are sent one by one and not answered yet. */
const MAX_FLYING = 1024
/** Of a new measurement, in an average. */
const WEIGHT = 0.25

/**
 * @typedef {import('./batch-sender').Outcome} Outcome
 *
 * @typedef {object} Flight records that were sent one by one
 * @property {Array<Outcome | null>} outcomes null: not known
 * @property {number} left outcomes that are not known
 * @property {() => void} end called when all are
 */

class AppendSender extends BatchSender {
  /**
   * @param {import('../connection/connection').Connection} connection that is open
   * @param {string} own what the subjects of this log object start with
   * @param {{ writes: number, inFlight: { records: number } }} counts
   * @param {string | null} server that has the stream; null: several, or it does not take the subjects that records sent one by one need
   */
  constructor (connection, own, counts, server) {
    super(connection, server === null ? own : `${own}.head`, counts)
    this.counts = counts
    this.server = server
    this.bodies = `${own}.body`
    this.space = new AccountSpace(connection)
    if (server !== null) this.filter = `${own}.*`
    /** The sequence of the last head; 0: the next records are one. */
    this.head = 0
    /** Milliseconds until a record that is sent one by one is answered, for each that waits then; 0: not known. */
    this.perRecord = 0
    /** Milliseconds that a batch takes; 0: nothing was stored yet. */
    this.perBatch = 0
    this.batchesUntilSample = 0
    /** More with each sample that takes longer than batches: the first ones also measure what other writers do. */
    this.batchesBetweenSamples = 1
    /** Bytes after which a batch is full: as many as the line carries in about a second. */
    this.maxBytes = FIRST_BYTES
    /** Records that were sent one by one and are not answered. */
    this.flying = 0
    /** By the last token of the subject of their answers. @type {Map<string, { flight: Flight, index: number }>} */
    this.flights = new Map()
    this.inbox = ''
    this.sent = 0
  }

  // Together

  /**
   * @param {Uint8Array[]} records
   * @param {boolean} [wasSent]
   * @param {import('./batch-sender').Terms} [terms]
   * @returns {Promise<Outcome[]>}
   */
  async store (records, wasSent, terms) {
    const begin = performance.now()
    const outcomes = await super.store(records, wasSent, terms)
    const took = performance.now() - begin
    if (typeof outcomes.at(-1) === 'number' && this.earlier === 0) this.head = this.last
    this.adaptTo(took, sizeOf(records))
    if (this.perBatch === 0) this.perBatch = took + (records.length > 1 ? 0 : FIRST_GUESS)
    else if (records.length > 1) {
      this.perBatch = average(this.perBatch, took)
      if (this.batchesUntilSample > 0) this.batchesUntilSample--
    }
    return outcomes
  }

  /**
   * @param {number} took in ms
   * @param {number} bytes that were on their way
   */
  adaptTo (took, bytes) {
    if (took > LONG) this.maxBytes = Math.max(this.maxBytes / 2, LEAST_BYTES)
    else if (took < SHORT && bytes >= this.maxBytes) this.maxBytes = Math.min(this.maxBytes * 2, MAX_BYTES)
  }

  /**
   * A replicated stream stores a batch as a whole.
   * @param {Uint8Array[]} records
   * @param {() => Promise<import('./batch-sender').Answer>} send
   * @returns {Promise<Error | null>}
   */
  async tryToSend (records, send) {
    const { connection: { identity, label }, subject } = this
    this.earlier = 0
    const isWhole = records.length === 1 || identity.isReplicated
    if (!isWhole && !await this.space.isThereFor(records, subject)) return errors.serverFull(label, new Error('the storage of the account does not suffice'))
    return super.tryToSend(records, send)
  }

  /**
   * What was sent one by one, and the head after it, may be between messages of others.
   * @param {number} before
   * @param {Uint8Array[]} records
   * @param {string | null} [key]
   * @returns {Promise<Outcome[]>}
   */
  async findStored (before, records, key) {
    if (this.server === null) return super.findStored(before, records, key)
    this.head = 0
    const outcomes = records.map(() => null)
    return this.settle(before, records, outcomes, key)
  }

  // One by one

  /** Whether records can be sent one by one. */
  get isDirect () {
    return this.server !== null && this.head > 0 && this.connection.isConnected && this.connection.nats.info?.server_name === this.server
  }

  /**
   * @param {number} waiting records that are not answered, sent or not
   * @returns {number} how many records may be sent one by one now
   */
  countAlone (waiting) {
    if (!this.isDirect || this.connection.sending >= this.maxBytes) return 0
    if (this.perRecord === 0) return this.flying === 0 ? SAMPLE : 0
    if (this.costAlone(waiting) <= GAIN) return MAX_FLYING - this.flying
    return this.batchesUntilSample === 0 && this.flying === 0 ? SAMPLE : 0
  }

  /**
   * @param {number} waiting records that are not answered, sent or not
   * @returns {number} how many times as long as a batch they take one by one
   */
  costAlone (waiting) {
    return waiting === 1 ? 0 : waiting * this.perRecord / this.perBatch
  }

  /**
   * Sends records once, without waiting for each other.
   * @param {Uint8Array[]} records
   * @returns {Promise<Array<Outcome | null>>} what became of them; null: that is not known
   */
  async fly (records) {
    const { connection, connection: { identity } } = this
    const { last } = identity
    /** @type {Flight} */
    const flight = { outcomes: new Array(records.length).fill(null), left: records.length, end: () => {} }
    const first = this.sent + 1
    this.flying += records.length
    const { flying } = this
    const begin = performance.now()
    try {
      this.counts.writes++
      await connection.attemptSending(sizeOf(records), () => new Promise((resolve) => {
        flight.end = () => resolve(undefined)
        this.sendAlone(records, flight)
      }))
      const took = performance.now() - begin
      for (const seq of flight.outcomes) if (typeof seq === 'number') identity.noteStored(seq, this.bodies, last)
      const isSample = this.batchesUntilSample === 0
      this.perRecord = isSample ? took / flying : average(this.perRecord, took / flying)
      const cost = this.costAlone(this.counts.inFlight.records)
      if (cost <= GAIN) this.batchesUntilSample = this.batchesBetweenSamples = 1
      else if (isSample) this.batchesUntilSample = this.batchesBetweenSamples = Math.min(Math.ceil(this.batchesBetweenSamples * cost), MAX_BATCHES)
      this.adaptTo(took, connection.sending + sizeOf(records))
    } catch {
      // the stream tells
    }
    for (let i = 0; i < records.length; i++) this.flights.delete(String(first + i))
    this.flying -= records.length
    return flight.outcomes
  }

  /**
   * @param {Uint8Array[]} records
   * @param {Flight} flight
   */
  sendAlone (records, flight) {
    const { connection: { nats, transport: { headers } }, bodies, flights } = this
    this.listen()
    const head = headers()
    head.set('Nats-Expected-Last-Subject-Sequence', String(this.head))
    head.set('Nats-Expected-Last-Subject-Sequence-Subject', this.subject)
    for (let index = 0; index < records.length; index++) {
      const number = String(++this.sent)
      flights.set(number, { flight, index })
      nats.publish(bodies, records[index], { headers: head, reply: `${this.inbox}.${number}` })
    }
  }

  /** For answers, over this connection. */
  listen () {
    const { connection } = this
    if (this.inbox !== '') return
    this.inbox = connection.createInbox()
    connection.subscribe(`${this.inbox}.*`, message => this.onanswer(message))
  }

  /** @param {import('@nats-io/transport-node').Msg} message */
  onanswer (message) {
    const number = message.subject.slice(this.inbox.length + 1)
    const found = this.flights.get(number)
    if (found === undefined) return
    const { flight, index } = found
    this.flights.delete(number)
    flight.outcomes[index] = this.outcomeOf(message)
    if (--flight.left === 0) flight.end()
  }

  /**
   * @param {import('@nats-io/transport-node').Msg} message an answer
   * @returns {Outcome | null} null: it is in doubt
   */
  outcomeOf (message) {
    const { connection, connection: { jetstream: { JetStreamApiError } } } = this
    if (message.data.length === 0) return null
    /** @type {any} */
    const { error, seq } = message.json()
    if (error === undefined) return seq
    const err = new JetStreamApiError(error)
    return this.isDoubtful(err) ? null : connection.refused(err)
  }

  /**
   * Finds out what became of records that were sent one by one. Until the next head is stored, more of them may arrive.
   * @param {number} before sequence of the last message that was stored before them
   * @param {Uint8Array[]} records
   * @param {Array<Outcome | null>} outcomes of them, as far as that is known
   * @param {string | null} [key] of the only one
   * @returns {Promise<Outcome[]>} what became of those up to the last one that is stored
   */
  async settle (before, records, outcomes, key = null) {
    this.head = 0
    // first: one that arrives now is among the messages, or has the next head refused
    await this.findLast()
    const stored = this.last > before ? await this.ask(() => this.messagesAfter(before, records.length)) : []
    let count = 0
    for (const { seq, data, headers } of stored) {
      let index = count
      const isSame = (/** @type {number} */ i) => outcomes[i] === null ? data.equals(records[i]) && keyOf(headers) === key : outcomes[i] === seq
      while (index < records.length && !isSame(index)) index++
      // of another program
      if (index === records.length) continue
      outcomes[index] = seq
      count = index + 1
    }
    if (stored.length > 0) this.last = stored[stored.length - 1].seq
    count = Math.max(count, outcomes.findLastIndex(outcome => outcome !== null) + 1)
    // between those that are stored: refused, or deleted already
    return outcomes.slice(0, count).map(outcome => outcome ?? errors.appendsUnknown(this.connection.label))
  }

  /**
   * @param {number} before sequence
   * @param {number} most
   * @returns {Promise<import('../read/direct-get').Message[]>} messages of this log object after it
   */
  async messagesAfter (before, most) {
    /** @type {import('../read/direct-get').Message[]} */
    const all = []
    for (;;) {
      const query = { seq: (all.at(-1)?.seq ?? before) + 1, next_by_subj: this.filter, batch: most }
      const messages = await directGet(this.connection, query)
      if (messages.length === 0) return all
      all.push(...messages)
    }
  }
}

/** @param {number} old 0: none @param {number} latest */
function average (old, latest) {
  return old === 0 ? latest : old + WEIGHT * (latest - old)
}

module.exports = { AppendSender }
