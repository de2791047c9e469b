'use strict'

// The stream into which a log is mirrored. Each message says in its headers which record it is.

const errors = require('../errors')
const { BatchSender, LAST_OF_STREAM } = require('../write/batch-sender')
const { Reader } = require('../read/reader')
const { firstOf } = require('../read/search')
const { openStream, maxRecordSize } = require('../connection/stream-config')

/** Headers: which log it is, the record's seq there, and `log.id`, which changes with each compaction, when it was mirrored. */
const LOG = 'Flumelog-Log'
const SEQ = 'Flumelog-Seq'
const ID = 'Flumelog-Id'
/** Sequences that are read at a time. */
const WINDOW = 1024

/**
 * @typedef {object} Mirrored a message
 * @property {number} sequence in the stream
 * @property {string} id of the log when it was mirrored
 * @property {number} seq in that log
 * @property {Buffer} data
 *
 * @typedef {object} Tail
 * @property {number} sequence that the next message expects before it
 * @property {number} messages in the stream
 * @property {Mirrored | null} message the last one
 */

class MirrorTarget {
  /** @param {import('../connection/connection').Connection} connection */
  constructor (connection) {
    this.connection = connection
    this.label = connection.label
    this.reader = new Reader(connection)
    this.sender = /** @type {BatchSender} */ (/** @type {unknown} */ (null))
    this.maxRecord = Infinity
    /** Of the log. */
    this.identity = ''
  }

  async open () {
    const { connection, connection: { settings } } = this
    await connection.open()
    const info = await openStream(connection)
    connection.identity.isReplicated = info.config.num_replicas > 1
    this.maxRecord = maxRecordSize(info, connection.nats.info?.max_payload ?? Infinity)
    // what any other client publishes makes it fail
    this.sender = new BatchSender(connection, `${settings.subject}.mirror`, { writes: 0 }, LAST_OF_STREAM)
    // from now on it waits for a server for as long as it takes
    connection.settings = { ...settings, timeout: Infinity }
  }

  /** @returns {Promise<Tail>} as the leader knows it */
  async tail () {
    const { reader } = this
    const { first_seq: first, last_seq: sequence, messages } = await reader.refresh(true)
    // the server may have miscounted them
    const isEmpty = messages === 0 && (sequence === 0 || first > sequence)
    // by sequence: that there is none is not believed of a server that lags behind
    const last = isEmpty ? null : await reader.get(sequence, sequence) ?? await reader.previous(sequence)
    return { sequence, messages, message: last && this.mirrored(last) }
  }

  /** @param {string} problem */
  notMirrored (problem) {
    return errors.cannotMirror(this.label, `${problem}; mirror each log into a stream of its own`)
  }

  /**
   * @param {Pick<import('../read/direct-get').Message, 'seq' | 'data' | 'headers'>} message
   * @returns {Mirrored}
   * @throws flumelog:invalid if it is none
   */
  mirrored ({ seq: sequence, data, headers }) {
    const seq = headers?.get(SEQ)
    const id = headers?.get(ID)
    if (!seq || !id) throw this.notMirrored(`message ${sequence} is not from a mirror`)
    const log = headers?.get(LOG)
    if (log !== this.identity) throw this.notMirrored(`message ${sequence} is one of another log: its ${LOG} is ${log}, and that of this log, in FILE.mirror-id, is ${this.identity}`)
    return { sequence, id, seq: Number(seq), data }
  }

  /**
   * Sends a batch: `sender.last` then says whether it is stored, if that is known.
   * @param {import('./mirror-source').LogRecord[]} records
   * @param {string} id of the log
   * @returns {Promise<Error | null>} why the server does not store it
   */
  send (records, id) {
    const { sender, identity } = this
    const data = records.map(({ data }) => data)
    return sender.tryToSend(data, () => sender.send(data, (head, i) => {
      head.set(LOG, identity)
      head.set(SEQ, String(records[i].seq))
      head.set(ID, id)
    }))
  }

  /**
   * @param {number} from sequence
   * @param {number} last sequence that is known
   * @returns {AsyncGenerator<Mirrored[], void, void>} all messages from there on, in order
   */
  async * windows (from, last) {
    while (from <= last) {
      const { records, next } = await this.reader.range(from, Math.min(last, from + WINDOW - 1), true)
      yield records.map(message => this.mirrored(message))
      from = next
    }
  }

  /**
   * @param {(message: Mirrored) => boolean} isAfter true for all messages after one for which it is
   * @param {number} last sequence that is known
   * @returns {Promise<Mirrored | null>} the first message for which it is true
   */
  async first (isAfter, last) {
    const { first_seq: first } = await this.reader.refresh(true)
    const message = await firstOf(this.reader, message => isAfter(this.mirrored(message)), first, last)
    return message && this.mirrored(message)
  }

  /**
   * Removes all messages before one: their files are deleted, as those of a trimmed log are.
   * @param {number} sequence
   * @returns {Promise<number>} how many they were
   */
  async purge (sequence) {
    const { connection, connection: { manager, settings: { stream } } } = this
    const { purged } = await connection.ask(() => manager.streams.purge(stream, { seq: sequence }), true)
    return purged
  }
}

module.exports = { MirrorTarget, LOG }
